//! What a record and the kernel files say of the code: instructions, resources, and what changes from variant to
//! variant.

use labs_record::record::{Kernel, Record};
use labs_record::units;
use similar::{ChangeTag, TextDiff};

use super::figures::bytes;
use super::tables::breakable;
use crate::arguments::Arguments;
use crate::html;
use crate::kernel_text::anchor;
use crate::page::{Page, missing_block};

/// `instructions(variant=..)`: the atomic instructions of a variant, or of all, with their lines.
pub(super) fn instructions(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let variant = arguments.text("variant")?;
    let caption = arguments.text("caption")?;
    if let Some(variant) = &variant {
        known_variant(page, &lab, variant)?;
    }
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let source = page.tree.kernel(&lab).map_err(|error| format!("{error:#}"))?;
    let lines: Vec<&str> = source.lines().collect();
    let mut rows = Vec::new();
    for (name, kernel) in kernels(&filed.record, variant.as_deref()) {
        let shown =
            format!("<code>{}</code>", breakable(if name == kernel.name { name } else { &kernel.name }));
        if kernel.instructions.is_empty() {
            rows.push(vec![shown.clone(), "none".to_owned(), String::new()]);
        }
        for instruction in &kernel.instructions {
            let opcode = format!("<code>{}</code>", html::escape(&instruction.opcode).replace('.', ".<wbr>"));
            let line = instruction.line.map_or(String::new(), |line| line_text(&lines, line));
            rows.push(vec![shown.clone(), opcode, line]);
        }
    }
    let caption = caption.unwrap_or_else(|| "Instructions that bear on contention".to_owned());
    let columns = ["kernel", "instruction (SASS)", "line of the kernel file"].map(str::to_owned);
    let note = super::tables::note(page, filed, &labs_record::At::new());
    Ok(format!(
        "<div class=\"words\">{}</div>",
        html::table(&html::with_code(&caption), &note, &columns, &rows)
    ))
}

/// A line's number and, where it still holds an atomic, its text. (The number is that of the measured file; a
/// comment edited since moves lines, so a line without an atomic is not shown as the instruction's source.)
fn line_text(lines: &[&str], line: u32) -> String {
    match lines.get((line as usize).wrapping_sub(1)).map(|text| text.trim()) {
        Some(text) if text.contains("atomic") => format!("{line}: <code>{}</code>", html::escape(text)),
        _ => line.to_string(),
    }
}

fn kernels<'a>(record: &'a Record, variant: Option<&'a str>) -> impl Iterator<Item = (&'a str, &'a Kernel)> {
    let chosen = move |name: &str| variant.is_none_or(|wanted| wanted == name);
    record
        .variants
        .iter()
        .filter(move |variant| chosen(&variant.name))
        .flat_map(|variant| variant.kernels.iter().map(|kernel| (variant.name.as_str(), kernel)))
}

/// `resources()`: what each kernel takes of an SM.
pub(super) fn resources(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let caption = arguments.text("caption")?.unwrap_or_else(|| "What each kernel takes of an SM".to_owned());
    let filed = match page.record(&lab) {
        Ok(filed) => filed,
        Err(why) => return Ok(missing_block(&why)),
    };
    let rows: Vec<Vec<String>> = kernels(&filed.record, None)
        .map(|(_, kernel)| {
            vec![
                format!("<code>{}</code>", breakable(&kernel.name)),
                kernel.registers.to_string(),
                html::escape(&bytes(u64::from(kernel.shared_bytes))),
                html::escape(&bytes(u64::from(kernel.local_bytes))),
                kernel.block_threads.to_string(),
                kernel.blocks_per_sm.to_string(),
                html::escape(&units::percent(kernel.occupancy).unwrap_or_default()),
            ]
        })
        .collect();
    let columns = [
        "kernel",
        "registers a thread",
        "shared a block",
        "local a thread",
        "threads a block",
        "blocks an SM",
        "occupancy",
    ]
    .map(str::to_owned);
    let note = super::tables::note(page, filed, &labs_record::At::new());
    Ok(html::table(&html::with_code(&caption), &note, &columns, &rows))
}

/// `variants()`: the lab's variants and what each does.
pub(super) fn variants(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let caption = arguments
        .text("caption")?
        .unwrap_or_else(|| "The variants, each a change of the one before".to_owned());
    let rows: Vec<Vec<String>> = page
        .lab_entry(&lab)?
        .variants
        .iter()
        .map(|entry| vec![format!("<code>{}</code>", breakable(&entry.name)), html::with_code(&entry.idea)])
        .collect();
    let columns = ["variant", "what it does"].map(str::to_owned);
    Ok(format!("<div class=\"words\">{}</div>", html::table(&html::with_code(&caption), "", &columns, &rows)))
}

/// `variant_diff(from=.., to=..)`: what changes between two variants' ANCHORs.
pub(super) fn variant_diff(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let (from, to) = (arguments.need("from")?, arguments.need("to")?);
    let source = page.tree.kernel(&lab).map_err(|error| format!("{error:#}"))?;
    let old = anchor(&source, &from).map_err(|error| format!("kernels/{lab}.cu: {error}"))?;
    let new = anchor(&source, &to).map_err(|error| format!("kernels/{lab}.cu: {error}"))?;
    let mut lines = Vec::new();
    for change in TextDiff::from_lines(old.as_str(), new.as_str()).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        lines.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
    }
    let block = html::code_block("diff", &lines.join("\n"));
    Ok(format!(
        "<div class=\"variant-diff\"><p class=\"note\">From <code>{}</code> to <code>{}</code></p>{block}</div>",
        html::escape(&from),
        html::escape(&to)
    ))
}

fn known_variant(page: &Page, lab: &str, variant: &str) -> Result<(), String> {
    let names: Vec<&str> = page.lab_entry(lab)?.variants.iter().map(|entry| entry.name.as_str()).collect();
    match names.contains(&variant) {
        true => Ok(()),
        false => Err(format!("the lab has no variant `{variant}`; it has: {}", names.join(", "))),
    }
}
