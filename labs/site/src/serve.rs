//! The book on this machine's own address, built anew when a source changes. Open pages reload themselves.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use tiny_http::{Header, Request, Response, Server};

use crate::book::{Options, build};

/// What pages are made of.
const SOURCES: [&str; 5] = ["book/book.toml", "book/src", "book/theme", "kernels", "verification"];

/// Asked by every open page; answers with the number of the build that is shown.
const BUILD_NUMBER: &str = "/build-number";

const RELOAD: &str = "<script>(async () => { const read = async () => (await fetch('/build-number')).text(); const shown = await read(); \
    setInterval(async () => { try { if (await read() !== shown) location.reload(); } catch {} }, 700); })();</script>";

/// Serves the book until the program is ended. Drafts are shown, marked.
///
/// # Errors
/// The address is taken, or the sources can't be watched.
pub fn serve(root: &Path, gpu: Option<String>, port: u16) -> Result<()> {
    let options = Options { gpu, draft: true };
    let builds = Arc::new(AtomicUsize::new(0));
    rebuild(root, &options, &builds);
    let server = Server::http(("127.0.0.1", port))
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(|| format!("cannot serve on port {port}; choose another with `--port`"))?;
    println!("http://127.0.0.1:{port}/ shows the book, drafts included; Ctrl-C ends it");
    let folder = root.join("book/book");
    let shown = builds.clone();
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            answer(request, &folder, &shown);
        }
    });
    watch(root, &options, &builds)
}

/// Looks at the sources a few times a second: they are few, and this works on every system and file share.
fn watch(root: &Path, options: &Options, builds: &AtomicUsize) -> Result<()> {
    let mut seen = state(root)?;
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = state(root)?;
        if now != seen {
            seen = now;
            rebuild(root, options, builds);
        }
    }
}

/// Every source with its size and the time of its last change.
fn state(root: &Path) -> Result<Vec<(PathBuf, u64, SystemTime)>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = SOURCES.iter().map(|source| root.join(source)).collect();
    while let Some(path) = folders.pop() {
        // What vanishes meanwhile is seen as gone the next time.
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.is_dir() {
            let entries = fs::read_dir(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            folders.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        } else {
            found.push((path, meta.len(), meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)));
        }
    }
    found.sort();
    Ok(found)
}

/// A failed build is reported, and the pages of the last good one stay.
fn rebuild(root: &Path, options: &Options, builds: &AtomicUsize) {
    match build(root, options) {
        Ok(built) => {
            builds.fetch_add(1, Ordering::Relaxed);
            println!("built for {}", built.gpu);
        }
        Err(error) => eprintln!("error: {error:#}"),
    }
}

fn answer(request: Request, folder: &Path, builds: &AtomicUsize) {
    let url = request.url().split(['?', '#']).next().unwrap_or("/").to_owned();
    // A browser that went away is no trouble of ours.
    let _ = if url == BUILD_NUMBER {
        request.respond(Response::from_string(builds.load(Ordering::Relaxed).to_string()))
    } else {
        match page(folder, &url) {
            Some((bytes, kind)) => match Header::from_bytes("Content-Type", kind) {
                Ok(header) => request.respond(Response::from_data(bytes).with_header(header)),
                Err(()) => request.respond(Response::from_data(bytes)),
            },
            None => request.respond(Response::from_string("not found").with_status_code(404)),
        }
    };
}

/// The file an address names, with its type; nothing outside the folder.
fn page(folder: &Path, url: &str) -> Option<(Vec<u8>, &'static str)> {
    let wanted = PathBuf::from(url.trim_start_matches('/'));
    if wanted.components().any(|part| !matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut path = folder.join(wanted);
    if path.is_dir() {
        path = path.join("index.html");
    }
    let bytes = fs::read(&path).ok()?;
    let kind = kind(&path);
    if kind.starts_with("text/html") {
        let text = String::from_utf8_lossy(&bytes).replace("</body>", &format!("{RELOAD}</body>"));
        return Some((text.into_bytes(), kind));
    }
    Some((bytes, kind))
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "yaml" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_source_is_seen_and_a_build_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("book/src")).unwrap();
        fs::write(folder.path().join("book/src/a.md"), "a").unwrap();
        let before = state(folder.path()).unwrap();
        fs::create_dir(folder.path().join("book/book")).unwrap();
        fs::write(folder.path().join("book/book/a.html"), "a").unwrap();
        assert_eq!(state(folder.path()).unwrap(), before);
        fs::write(folder.path().join("book/src/a.md"), "ab").unwrap();
        assert_ne!(state(folder.path()).unwrap(), before);
    }

    #[test]
    fn only_the_book_is_served() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("book")).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        fs::write(folder.path().join("book/index.html"), "<body></body>").unwrap();
        let book = folder.path().join("book");
        let (bytes, kind) = page(&book, "/").unwrap();
        assert!(kind.starts_with("text/html") && String::from_utf8(bytes).unwrap().contains("build-number"));
        assert!(page(&book, "/../secret").is_none());
        assert!(page(&book, "/nothing").is_none());
    }
}
