//! Bits moved and found.

use super::{extend, truncate};
use crate::types::Ty;

pub(super) fn bfind(ty: Ty, a: u64, shift: bool) -> u64 {
    let value = extend(ty, a);
    let value = truncate(ty, if value < 0 { !value } else { value } as u64);
    if value == 0 {
        return 0xffff_ffff;
    }
    let position = 63 - value.leading_zeros();
    u64::from(if shift { ty.bits() - 1 - position } else { position })
}

pub(super) fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    (0..4).fold(0, |result, index| {
        let pick = selector >> (index * 4);
        let byte = (bytes >> ((pick & 7) * 8)) as u8;
        let byte = if pick & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result | u32::from(byte) << (index * 8)
    })
}

/// Bit field extract (PTX ISA, `bfe`): the sign bit fills when the type is signed.
pub(super) fn bfe(ty: Ty, a: u64, position: u64, length: u64) -> u64 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    let msb = ty.bits() - 1;
    if length == 0 {
        return 0;
    }
    let sign = ty.signed() && (a >> (position + length - 1).min(msb)) & 1 == 1;
    let field = a.checked_shr(position).unwrap_or(0);
    let taken = length.min((msb + 1).saturating_sub(position));
    let mask = if taken >= 64 { u64::MAX } else { (1 << taken) - 1 };
    truncate(ty, (field & mask) | if sign { !mask } else { 0 })
}

/// Bit field insert (PTX ISA, `bfi`): the low `length` bits of `a` into `b` at `position`.
pub(crate) fn bfi(ty: Ty, a: u64, b: u64, position: u64, length: u64) -> u64 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    if position >= ty.bits() || length == 0 {
        return b;
    }
    let mask = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    truncate(ty, (b & !(mask << position)) | ((a & mask) << position))
}
