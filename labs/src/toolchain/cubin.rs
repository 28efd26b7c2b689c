//! What a cubin holds: an ELF image with one section `.text.<kernel>` for each kernel.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};
use sha2::{Digest as _, Sha256};

use crate::sources::hexadecimal;

const TEXT: &str = ".text.";

/// The SHA-256, in hexadecimal, of each function's machine code, by the function's name. Comments, line
/// tables and the other kernels of the file do not change it. Functions that the compiler did not inline
/// are listed beside the kernels.
///
/// # Errors
/// When `cubin` is no 64-bit ELF image, or holds no code.
pub fn code_hashes(cubin: &[u8]) -> Result<BTreeMap<String, String>> {
    let elf: ElfFile64<'_> = ElfFile64::parse(cubin).context("the machine code is no 64-bit ELF image")?;
    let mut hashes = BTreeMap::new();
    for section in elf.sections() {
        let name = section.name().context("a section of the machine code has no name")?;
        if let Some(function) = name.strip_prefix(TEXT) {
            let code = section.data().with_context(|| format!("section {name} is cut short"))?;
            hashes.insert(function.to_owned(), hexadecimal(&Sha256::digest(code)));
        }
    }
    if hashes.is_empty() {
        bail!("the machine code holds no section {TEXT}*: no kernel was compiled into it");
    }
    Ok(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_an_error() {
        assert!(code_hashes(b"").is_err());
        assert!(code_hashes(b"\x7fELF\x02\x01\x01 cut").is_err());
        assert!(code_hashes(&[0xff; 4096]).is_err());
    }
}
