//! Hands the program the hash of the sources that it is built from, as `HOT_ADDRESSES_SOURCES`.

#[path = "src/sources.rs"]
#[allow(dead_code, unreachable_pub, reason = "a public module of the library; building uses part of it")]
mod sources;

fn main() -> std::io::Result<()> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| std::io::Error::other("run by cargo only"))?;
    let package = std::path::PathBuf::from(package);
    let root = package
        .parent()
        .ok_or_else(|| std::io::Error::other("the package lies in the repository's folder labs"))?;
    // Folders too: cargo looks into them for files that are new. A new kernel shows by its PTX.
    let folders = sources::FOLDERS.iter().map(|&folder| folder.to_owned());
    for place in folders.chain(sources::files(root)?) {
        println!("cargo::rerun-if-changed={}", root.join(place).display());
    }
    println!("cargo::rustc-env=HOT_ADDRESSES_SOURCES={}", sources::hash(root)?);
    Ok(())
}
