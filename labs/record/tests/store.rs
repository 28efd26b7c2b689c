//! Files are written whole or not at all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;

use labs_record::store;

#[test]
fn a_file_is_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/out.txt");
    store::write_text(&file, "a long first text").unwrap();
    store::write_text(&file, "short").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "short");
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("taken");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("inside"), "kept").unwrap();
    store::write_text(&place, "text").unwrap_err();
    let error = store::can_write(&place).unwrap_err().to_string();
    assert!(error.ends_with("it is a folder"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(place.join("inside")).unwrap(), "kept");

    let error = store::can_write(&folder.path().join("missing/out")).unwrap_err().to_string();
    assert!(error.contains("there is no folder"), "{error}");
    store::can_write(&folder.path().join("out")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "looking leaves nothing behind");
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_devices_stay_devices() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    store::write_text(&link, "new").unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");

    let device = std::path::Path::new("/dev/null");
    store::can_write(device).unwrap();
    store::write_text(device, "gone").unwrap();
    assert!(!device.is_file(), "the device was not replaced by a file");
}
