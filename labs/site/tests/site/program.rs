//! The program itself: mdBook's preprocessor protocol, exit codes, the README.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::course::{Course, ONE};
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use mdbook_preprocessor::PreprocessorContext;

fn site(course: &Course, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_site"))
        .args(arguments)
        .current_dir(course.path("book/src"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input closes it early.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What stock mdBook sends.
fn protocol_input(course: &Course) -> String {
    let folder = course.path("book");
    let config = Config::from_disk(folder.join("book.toml")).unwrap();
    let book = MDBook::load(&folder).unwrap().book;
    let context = PreprocessorContext::new(folder, config, "html".to_owned());
    serde_json::to_string(&(context, book)).unwrap()
}

#[test]
fn mdbooks_protocol() {
    let course = Course::new();
    let output = site(&course, &["preprocess"], &protocol_input(&course));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let book: mdbook_preprocessor::book::Book = serde_json::from_slice(&output.stdout).unwrap();
    let chapter = book.chapters().find(|chapter| chapter.name == "Pair").unwrap();
    assert!(
        chapter.content.contains("4.00&#160;µs") && !chapter.content.contains("<%"),
        "{}",
        chapter.content
    );
    assert!(chapter.content.contains("{{#include"), "includes are left to mdBook");
    assert!(
        !chapter.content.contains("href=\"records/"),
        "stock mdBook copies no records, so nothing links to them"
    );
}

#[test]
fn the_protocol_fails_loudly() {
    let course = Course::new();
    course.chapter("# Pair\n\n3 ms\n");
    let output = site(&course, &["preprocess"], &protocol_input(&course));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the figure `3 ms` is typed"));
    assert!(output.stdout.is_empty());
    let output = site(&course, &["preprocess"], "[1");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not what mdBook sends"));
}

#[test]
fn supported_renderers() {
    let course = Course::new();
    assert!(site(&course, &["preprocess", "supports", "html"], "").status.success());
    assert_eq!(site(&course, &["preprocess", "supports", "epub"], "").status.code(), Some(1));
}

#[test]
fn build_from_any_folder_of_the_checkout() {
    let course = Course::new();
    let output = site(&course, &["build"], "");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("built "));
    let output = site(&course, &["build", "--gpu", "nobody"], "");
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("there is no record on nobody"));
}

#[test]
fn exit_codes() {
    let course = Course::new();
    course.edit_record(ONE, |record| record.protocol = "old".to_owned());
    let output = site(&course, &["build"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is stale"));
    assert!(site(&course, &["build", "--draft"], "").status.success());
    assert_eq!(site(&course, &["bild"], "").status.code(), Some(2));
}

#[test]
fn the_readmes_table() {
    let course = Course::new();
    let path = course.path("README.md");
    fs::write(
        &path,
        "# Head\n\n<!-- labs: made by `cargo site readme`, not for editing -->\n<!-- labs end -->\n\nFoot\n",
    )
    .unwrap();
    let stale = site(&course, &["readme", "--check"], "");
    assert_eq!(stale.status.code(), Some(1));
    assert!(text(&stale.stderr).contains("run `cargo site readme`"));
    assert!(site(&course, &["readme"], "").status.success());
    assert!(site(&course, &["readme", "--check"], "").status.success());
    let readme = fs::read_to_string(&path).unwrap();
    assert!(
        readme.contains("| [Pair](book/src/day99_pair.md) | `cargo labs day99` | [day99_pair.cu](kernels/day99_pair.cu) | [Made-up GPU"),
        "{readme}"
    );
    assert!(readme.starts_with("# Head\n") && readme.ends_with("\nFoot\n"));
    fs::write(&path, "no markers").unwrap();
    assert!(text(&site(&course, &["readme"], "").stderr).contains("README.md lacks the lines"));
}
