//! Device memory: each allocation in an address range of its own, so that no
//! overrun reaches a neighbour.

use crate::types::ALLOCATION_BITS;

/// Ranges there are; ids are not reused, so that a freed address stays wrong.
const ALLOCATIONS_MAX: usize = 1 << 27;

#[derive(Debug, Default)]
struct Allocation {
    bytes: Vec<u8>,
    live: bool,
}

/// All allocations. Id 0 holds the windows of the other state spaces.
#[derive(Debug)]
pub(crate) struct Memory {
    allocations: Vec<Allocation>,
}

pub(crate) const OFFSET_MASK: u64 = (1 << ALLOCATION_BITS) - 1;

impl Memory {
    pub(crate) fn new() -> Memory {
        Memory { allocations: vec![Allocation::default()] }
    }

    pub(crate) fn alloc(&mut self, bytes: usize) -> Result<u64, String> {
        if self.allocations.len() >= ALLOCATIONS_MAX || bytes as u64 > OFFSET_MASK {
            return Err(format!("no room for an allocation of {bytes} bytes"));
        }
        let mut space = Vec::new();
        space.try_reserve_exact(bytes).map_err(|_| format!("this computer has no room for {bytes} bytes"))?;
        space.resize(bytes, 0);
        self.allocations.push(Allocation { bytes: space, live: true });
        Ok((self.allocations.len() as u64 - 1) << ALLOCATION_BITS)
    }

    pub(crate) fn free(&mut self, address: u64) -> Result<(), String> {
        let id = (address >> ALLOCATION_BITS) as usize;
        match self.allocations.get_mut(id) {
            Some(found) if found.live && address & OFFSET_MASK == 0 => {
                *found = Allocation::default();
                Ok(())
            }
            _ => Err(format!("{address:#x} is not the start of an allocation")),
        }
    }

    /// The allocation that holds `address`, and the address of its first byte. Empty where there is none.
    #[inline]
    pub(crate) fn around(&self, address: u64) -> (&[u8], u64) {
        let id = address >> ALLOCATION_BITS;
        let bytes = self.allocations.get(id as usize).map_or(&[][..], |a| &a.bytes);
        (bytes, id << ALLOCATION_BITS)
    }

    #[inline]
    pub(crate) fn around_mut(&mut self, address: u64) -> (&mut [u8], u64) {
        let id = address >> ALLOCATION_BITS;
        let bytes = self.allocations.get_mut(id as usize).map_or(&mut [][..], |a| &mut a.bytes);
        (bytes, id << ALLOCATION_BITS)
    }

    /// Why `bytes` bytes at `address` cannot be accessed.
    pub(crate) fn complaint(&self, address: u64, bytes: u64) -> String {
        let id = (address >> ALLOCATION_BITS) as usize;
        let offset = address & OFFSET_MASK;
        if !address.is_multiple_of(bytes.max(1)) {
            return format!("misaligned: an access of {bytes} bytes needs an address divisible by {bytes}");
        }
        match self.allocations.get(id) {
            _ if address < 1 << 32 => "a null or nearly null pointer".to_owned(),
            Some(a) if a.live => format!("byte {offset} of an allocation of {} bytes", a.bytes.len()),
            Some(_) if id > 0 => format!("byte {offset} of an allocation that was freed"),
            _ => "no allocation is here".to_owned(),
        }
    }

    pub(crate) fn slice(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        let (all, start) = self.around(address);
        let offset = (address - start) as usize;
        all.get(offset..offset.saturating_add(bytes)).ok_or_else(|| self.complaint(address, 1))
    }

    pub(crate) fn slice_mut(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], String> {
        let complaint = self.slice(address, bytes).err();
        let (all, start) = self.around_mut(address);
        let offset = (address - start) as usize;
        all.get_mut(offset..offset.saturating_add(bytes)).ok_or_else(|| complaint.unwrap_or_default())
    }
}

/// A little-endian number of `size` bytes at `offset`.
#[inline(always)]
pub(crate) fn read(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let found = bytes.get(offset..offset.checked_add(size)?)?;
    Some(match size {
        4 => u64::from(u32::from_le_bytes(found.try_into().ok()?)),
        8 => u64::from_le_bytes(found.try_into().ok()?),
        2 => u64::from(u16::from_le_bytes(found.try_into().ok()?)),
        _ => u64::from(*found.first()?),
    })
}

/// Writes a number; says whether the bytes changed.
#[inline(always)]
pub(crate) fn write(bytes: &mut [u8], offset: usize, size: usize, value: u64) -> Option<bool> {
    let before = read(bytes, offset, size)?;
    let place = bytes.get_mut(offset..offset + size)?;
    match size {
        4 => place.copy_from_slice(&(value as u32).to_le_bytes()),
        8 => place.copy_from_slice(&value.to_le_bytes()),
        2 => place.copy_from_slice(&(value as u16).to_le_bytes()),
        _ => *place.first_mut()? = value as u8,
    }
    Some(before != value)
}
