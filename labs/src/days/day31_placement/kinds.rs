//! Memories and types, and what a sum of steps looks like in each type.

/// Where a target lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Device memory.
    Device,
    /// The block's own shared memory.
    Shared,
    /// The shared memory of another block of the cluster.
    Cluster,
    /// Page-locked memory of the host.
    Host,
}

impl Memory {
    const ALL: [Memory; 4] = [Memory::Device, Memory::Shared, Memory::Cluster, Memory::Host];

    /// As variants spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Memory::Device => "global",
            Memory::Shared => "shared",
            Memory::Cluster => "cluster",
            Memory::Host => "host",
        }
    }

    /// Whether words are side by side in a block, and a block's result is copied out.
    pub(super) fn in_block(self) -> bool {
        matches!(self, Memory::Shared | Memory::Cluster)
    }
}

/// What is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    U32,
    U64,
    F32,
    F64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    Float2,
    Float4,
}

impl Type {
    const ALL: [Type; 10] = [
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        Type::F16,
        Type::Bf16,
        Type::F16x2,
        Type::Bf16x2,
        Type::Float2,
        Type::Float4,
    ];

    /// As variants spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::F16 => "f16",
            Type::Bf16 => "bf16",
            Type::F16x2 => "f16x2",
            Type::Bf16x2 => "bf16x2",
            Type::Float2 => "float2",
            Type::Float4 => "float4",
        }
    }

    /// Bytes of a value.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Type::F16 | Type::Bf16 => 2,
            Type::U32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 4,
            Type::U64 | Type::F64 | Type::Float2 => 8,
            Type::Float4 => 16,
        }
    }

    /// `count` steps: 1 each, and in vectors (1, -1), (1, 2), (1, 2, 3, 4). Exact for up to 256 either way.
    pub(super) fn steps(self, count: i32) -> Vec<u8> {
        let floats = |parts: &[f32]| -> Vec<u8> {
            parts.iter().flat_map(|part| (count as f32 * part).to_le_bytes()).collect()
        };
        // No sum of steps is a negative zero.
        let (up, down) = (count as f32, if count == 0 { 0.0 } else { -count as f32 });
        match self {
            Type::U32 => (count as u32).to_le_bytes().to_vec(),
            Type::U64 => (i64::from(count) as u64).to_le_bytes().to_vec(),
            Type::F32 => floats(&[1.0]),
            Type::F64 => f64::from(count).to_le_bytes().to_vec(),
            Type::F16 => half(up).to_le_bytes().to_vec(),
            Type::Bf16 => bfloat(up).to_le_bytes().to_vec(),
            Type::F16x2 => [half(up), half(down)].iter().flat_map(|part| part.to_le_bytes()).collect(),
            Type::Bf16x2 => [bfloat(up), bfloat(down)].iter().flat_map(|part| part.to_le_bytes()).collect(),
            Type::Float2 => floats(&[1.0, 2.0]),
            Type::Float4 => floats(&[1.0, 2.0, 3.0, 4.0]),
        }
    }
}

/// The memory and the type of a variant; the first of each for a name that is none, which no variant has.
pub(super) fn kind(variant: &str) -> (Memory, Type) {
    let (memory, ty) = variant.split_once('_').unwrap_or_default();
    (
        Memory::ALL.into_iter().find(|known| known.name() == memory).unwrap_or(Memory::Device),
        Type::ALL.into_iter().find(|known| known.name() == ty).unwrap_or(Type::U32),
    )
}

/// The bits of a whole number of at most 11 bits as IEEE binary16.
pub(super) fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    // 1 and more are normal in both: the exponent's bias goes from 127 to 15.
    let magnitude = (bits >> 13 & 0x3_ffff).saturating_sub((127 - 15) << 10);
    sign | magnitude as u16
}

/// The bits of a whole number of at most 8 bits as bfloat16: the upper half of the float.
fn bfloat(value: f32) -> u16 {
    (value.to_bits() >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_those_of_the_standard() {
        // IEEE 754-2019, binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
        let known: [(f32, u16); 7] = [
            (0.0, 0),
            (1.0, 0x3c00),
            (-1.0, 0xbc00),
            (2.0, 0x4000),
            (3.0, 0x4200),
            (192.0, 0x5a00),
            (-255.0, 0xdbf8),
        ];
        for (value, bits) in known {
            assert_eq!(half(value), bits, "{value}");
        }
        assert_eq!((bfloat(1.0), bfloat(-3.0), bfloat(192.0)), (0x3f80, 0xc040, 0x4340));
    }

    #[test]
    fn steps_are_as_wide_as_their_type() {
        for ty in Type::ALL {
            assert_eq!(ty.steps(7).len() as u64, ty.bytes());
            assert_eq!(ty.steps(0), vec![0; ty.bytes() as usize], "{ty:?}");
            assert_ne!(ty.steps(1), ty.steps(-1));
        }
        assert_eq!(Type::F16x2.steps(1), [0x00, 0x3c, 0x00, 0xbc]);
        assert_eq!(Type::U64.steps(-1), [0xff; 8]);
    }
}
