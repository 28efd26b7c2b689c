//! The foot of a chapter: under which conditions its numbers were made.

use std::collections::BTreeMap;

use labs_record::record::{Record, Sanitizer};
use labs_record::signing::{self, Standing};

use super::figures::{bytes, drivers, reading};
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};
use crate::tree::FiledRecord;

/// `record_foot()`: the conditions of the lab's record.
pub(super) fn record_foot(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let (gpu, record) = (&filed.record.gpu, &filed.record);
    let ecc = gpu.ecc.map_or("ECC not readable", |on| if on { "ECC on" } else { "ECC off" });
    let mut terms = vec![
        (
            "GPU",
            html::escape(&format!(
                "{}, compute capability {}, {} SMs, {} L2, {} memory, {ecc}",
                gpu.name,
                gpu.compute_capability,
                gpu.sms,
                bytes(gpu.l2_bytes),
                bytes(gpu.memory_bytes)
            )),
        ),
        ("Driver", html::escape(&drivers(filed))),
        (
            "Compiler",
            html::escape(&format!(
                "{} {} {}",
                record.compiler.name,
                record.compiler.version,
                record.compiler.options.join(" ")
            )),
        ),
        ("Measured", html::escape(&measured(filed))),
        ("SM clock", html::escape(&reading(filed, "MHz", |session| &session.sm_clock_mhz))),
        ("Memory clock", html::escape(&reading(filed, "MHz", |session| &session.memory_clock_mhz))),
        ("Power", html::escape(&reading(filed, "W", |session| &session.power_w))),
        ("Temperature", html::escape(&reading(filed, "°C", |session| &session.temperature_c))),
        ("Samples set aside", html::escape(&set_aside(record))),
        ("compute-sanitizer", html::escape(&sanitizer(record))),
    ];
    if !record.absent.is_empty() {
        let items: Vec<String> =
            record.absent.iter().map(|absent| format!("{}: {}", absent.what, absent.why)).collect();
        terms.push(("Not in the record", html::escape(&items.join("; "))));
    }
    for peer in &record.peers {
        terms.push(("Peer", html::escape(&format!("{}: {}", peer.name, peer.version))));
    }
    terms.push(("Sources, SHA-256", hash(&record.sources)));
    terms.push(("Protocol, SHA-256", hash(&record.protocol)));
    terms.push(("Record", record_link(page, filed)));
    terms.push(("Status", html::escape(&filed.status.to_string())));
    terms.push(("Signed", html::escape(&signed(page, record))));
    let title = page.id("record");
    Ok(format!(
        "<section class=\"record-foot\" aria-labelledby=\"{title}\"><p class=\"foot-title\" id=\"{title}\">Where these numbers come from</p>{}</section>",
        html::terms(&terms)
    ))
}

/// Who has signed the record; `unsigned` until an author and a different reviewer have.
fn signed(page: &Page, record: &Record) -> String {
    match signing::standing(&page.tree.root, record) {
        Standing::Signed { author, reviewer } => format!("author {author}, reviewer {reviewer}"),
        Standing::Unsigned(why) if why.is_empty() => "unsigned".to_owned(),
        Standing::Unsigned(why) => format!("unsigned: {why}"),
    }
}

/// The record's path; a link to its copy in the built book where there is one.
pub(super) fn record_link(page: &Page, filed: &FiledRecord) -> String {
    file_link(page, &filed.path)
}

/// The path of a file under `verification/` whose copy is in the built book; a link to it where there is one.
pub(super) fn file_link(page: &Page, path: &str) -> String {
    let shown = html::escape(path);
    match &page.edition.records {
        None => format!("<code>{shown}</code>"),
        Some(folder) => {
            let up = "../".repeat(page.path.matches('/').count());
            let file = path.trim_start_matches("verification/");
            format!("<a href=\"{up}{folder}/{}\"><code>{shown}</code></a>", html::escape(file))
        }
    }
}

fn hash(text: &str) -> String {
    format!("<code class=\"hash\">{}</code>", html::escape(text))
}

fn measured(filed: &FiledRecord) -> String {
    let count = |n: usize, thing: &str| format!("{n} {thing}{}", if n == 1 { "" } else { "s" });
    format!(
        "{}: {} in {}",
        filed.dates().join(", "),
        count(filed.record.sessions(), "session"),
        count(filed.record.sittings.len(), "sitting")
    )
}

fn set_aside(record: &Record) -> String {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in record.figures.iter().flat_map(|figure| &figure.set_aside) {
        *reasons.entry(&entry.reason).or_default() += entry.count;
    }
    match reasons.is_empty() {
        true => "none".to_owned(),
        false => reasons.iter().map(|(why, n)| format!("{n}: {why}")).collect::<Vec<_>>().join("; "),
    }
}

/// What the sanitizer said, the variants with the same word together.
fn sanitizer(record: &Record) -> String {
    let mut words: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for variant in &record.variants {
        let word = match &variant.sanitizer {
            Sanitizer::Clean(how) => format!("clean ({how})"),
            Sanitizer::Found(what) => format!("found: {what}"),
            Sanitizer::Absent(why) => format!("not run: {why}"),
        };
        words.entry(word).or_default().push(&variant.name);
    }
    match words.len() {
        1 => words.into_keys().collect(),
        _ => words
            .iter()
            .map(|(word, names)| format!("{}: {word}", names.join(", ")))
            .collect::<Vec<_>>()
            .join("; "),
    }
}
