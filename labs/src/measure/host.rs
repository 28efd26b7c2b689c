//! Memory of this machine whose amount the command line decides: where there is not as much, that is told.

use anyhow::Result;

use crate::backend::{Backend, Buffer};
use crate::failure::lacks;

/// An empty list with room for `count` values.
///
/// # Errors
/// A [`Failure`](crate::failure::Failure) of kind `Lacks` where there is not as much memory.
pub fn host_room<T>(count: u64) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let there = usize::try_from(count).is_ok_and(|count| room.try_reserve_exact(count).is_ok());
    if !there {
        let bytes = count.saturating_mul(size_of::<T>() as u64);
        return Err(lacks(format!(
            "not enough memory on this machine for {bytes} bytes; choose a smaller --size"
        )));
    }
    Ok(room)
}

/// Zeroed memory.
///
/// # Errors
/// As [`host_room`].
pub fn host_bytes(bytes: u64) -> Result<Vec<u8>> {
    let mut zeroed = host_room(bytes)?;
    // Fits, since there is room for as many.
    zeroed.resize(bytes as usize, 0);
    Ok(zeroed)
}

/// The first `count` words as a device holds them; zeros behind the last.
///
/// # Errors
/// As [`host_room`].
pub fn word_bytes(count: u64, words: impl IntoIterator<Item = u32>) -> Result<Vec<u8>> {
    let mut bytes = host_bytes(count.saturating_mul(4))?;
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    Ok(bytes)
}

/// The first `count` words of a buffer.
///
/// # Errors
/// As [`host_room`]; what the backend reports.
pub fn read_words(backend: &mut dyn Backend, buffer: Buffer, count: u64) -> Result<Vec<u32>> {
    let mut bytes = host_bytes(count.saturating_mul(4))?;
    backend.read(buffer, &mut bytes)?;
    let mut words = host_room(count)?;
    words.extend(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn what_no_machine_has_is_lacking() {
        for error in [
            host_room::<u64>(1 << 60).unwrap_err(),
            host_room::<u64>(u64::MAX).unwrap_err(),
            host_bytes(1 << 63).unwrap_err(),
            word_bytes(u64::MAX, []).unwrap_err(),
        ] {
            assert_eq!(kind_of(&error), Kind::Lacks);
            assert!(error.to_string().contains("choose a smaller --size"), "{error}");
        }
        assert_eq!(word_bytes(2, [1, 2, 3]).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
    }
}
