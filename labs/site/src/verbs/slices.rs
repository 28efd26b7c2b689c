//! How launches fell on the slices of the chosen GPU's L2, by its own counters.

use labs_record::agreement::place;
use labs_record::slices::{CountedLaunch, Slices};
use labs_record::table::{EMPTY, coordinate};
use labs_record::units;

use super::foot::file_link;
use crate::arguments::Arguments;
use crate::html;
use crate::page::{Page, missing_block};

/// Room for a row's name, height of a row, and width that stands for all slices.
const NAMES: f64 = 330.0;
const ROW: f64 = 22.0;
const ALL: f64 = 380.0;

/// `slices(figure=.., lab=..)`: the counters; `figure` is the one that tells how many classes of lines the lab found.
pub(super) fn slices(page: &Page, arguments: &mut Arguments) -> Result<String, String> {
    let lab = page.lab_name(arguments)?;
    let figure = arguments.need("figure")?;
    super::selection::known_figure(page.lab_entry(&lab)?, &figure)?;
    let gpu = &page.edition.gpu;
    let Some(filed) = page.tree.slices(gpu) else {
        return Ok(missing_block(&format!(
            "not measured: the counters of the slices of {gpu} were not read"
        )));
    };
    let counted = &filed.slices;
    let name = html::escape(&counted.gpu.name);
    let stale = counted.stale(&page.tree.manifest);
    let mark = match stale.is_empty() {
        true => String::new(),
        false => {
            format!("<p><strong class=\"draft-mark\">stale: {}</strong></p>", html::escape(&stale.join("; ")))
        }
    };
    let note = format!(
        "{}, driver {}, {} · record: {}",
        html::escape(&counted.profiler),
        html::escape(&counted.driver),
        html::escape(counted.started.split('T').next().unwrap_or_default()),
        file_link(page, &filed.path)
    );
    let caption = format!("How one launch falls on the slices of {name}, by the GPU’s own counters");
    Ok(format!(
        "{mark}<p>{}</p><figure class=\"chart\"><div class=\"chart-scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Slices at work\">{}</div>\
         <figcaption><span>Slices at work: input cycles of all atomic units over those of the busiest</span>\
         <span class=\"note\">{note}</span></figcaption></figure><div class=\"words\">{}</div>",
        sentence(counted, classes(page, &lab, &figure)),
        drawing(counted, &page.id("slices")),
        html::table(&caption, &note, &COLUMNS.map(str::to_owned), &rows(counted)),
    ))
}

const COLUMNS: [&str; 8] = [
    "kernel",
    "at",
    "requests of warps",
    "requests at slices",
    "at the busiest",
    "input cycles: busiest slice",
    "idlest",
    "all",
];

/// The fewest and the most classes that contention told apart; none without a record.
fn classes(page: &Page, lab: &str, figure: &str) -> Option<(u64, u64)> {
    let filed = page.record(lab).ok()?;
    let found = filed.figures.iter().filter(|known| known.name == figure);
    let counts: Vec<f64> =
        found.filter_map(|known| Some(known.summary()?.extremes)).flat_map(|(a, b)| [a, b]).collect();
    let least = counts.iter().copied().reduce(f64::min)?;
    Some((least as u64, counts.into_iter().fold(least, f64::max) as u64))
}

/// What the counters say, and how many classes contention found.
fn sentence(counted: &Slices, classes: Option<(u64, u64)>) -> String {
    let number = |n: u64| units::count(n as f64);
    let count = counted.count().unwrap_or(0);
    let alone = counted.launches.iter().filter(|launch| {
        launch.input().is_some_and(|input| input.all > 0 && input.busiest == input.all && input.idlest == 0)
    });
    let alone = alone.count();
    let even = counted.launches.iter().filter(|launch| {
        launch.input().is_some_and(|input| input.idlest > 0 && input.busiest == input.idlest)
    });
    let mut text = format!(
        "The counters tell {} slices. In {} of {} launches one slice took every input and the others none; in {} every slice \
         took as many as every other.",
        number(count),
        number(alone as u64),
        number(counted.launches.len() as u64),
        number(even.count() as u64)
    );
    text += &match classes {
        None => " How many classes contention tells apart was not measured.".to_owned(),
        Some((least, most)) if least == most && most == count => {
            format!(" Times told {} classes of lines apart: the same number.", number(most))
        }
        Some((least, most)) if least == most && most * 2 == count => {
            format!(" Times told {} classes of lines apart: half the number.", number(most))
        }
        Some((least, most)) if least == most => {
            format!(" Times told {} classes of lines apart: not the same number.", number(most))
        }
        Some((least, most)) => {
            format!(" Times told {} to {} classes of lines apart, by session.", number(least), number(most))
        }
    };
    text
}

fn name_of(launch: &CountedLaunch) -> String {
    let day = launch.lab.split('_').next().unwrap_or_default();
    format!("{day} {}", launch.kernel)
}

/// Only what tells launches of one kernel apart; where there is one, where it was.
fn short_place(launch: &CountedLaunch, all: &[CountedLaunch]) -> String {
    let mut at = launch.at.clone();
    let same = |other: &&CountedLaunch| other.kernel == launch.kernel && other.lab == launch.lab;
    at.retain(|axis, own| {
        all.iter().filter(same).any(|other| other.at.get(axis).is_some_and(|place| place != own))
    });
    // A size that follows from another axis tells nothing more.
    if at.len() > 1 {
        at.remove("size");
    }
    place(&at)
}

/// As [`short_place`], and the size where that says nothing.
fn table_place(launch: &CountedLaunch, all: &[CountedLaunch]) -> String {
    let short = short_place(launch, all);
    let size = launch.at.get("size").filter(|_| short.is_empty());
    size.map_or(short, |size| format!("size {}", coordinate(size)))
}

fn rows(counted: &Slices) -> Vec<Vec<String>> {
    let number = |n: Option<u64>| n.map_or(EMPTY.to_owned(), |n| units::count(n as f64));
    let row = |launch: &CountedLaunch| {
        let input = launch.input();
        vec![
            format!("<code>{}</code>", html::escape(&name_of(launch))),
            html::escape(&table_place(launch, &counted.launches)),
            number(launch.sent()),
            number(launch.arrived()),
            number(launch.arrived_at_busiest()),
            number(input.map(|input| input.busiest)),
            number(input.map(|input| input.idlest)),
            number(input.map(|input| input.all)),
        ]
    };
    counted.launches.iter().map(row).collect()
}

fn drawing(counted: &Slices, id: &str) -> String {
    let count = counted.count().unwrap_or(1).max(1) as f64;
    let (width, height) = (NAMES + ALL + 70.0, counted.launches.len() as f64 * ROW + 8.0);
    let (mut svg, mut words) = (String::new(), Vec::new());
    for (row, launch) in counted.launches.iter().enumerate() {
        let y = row as f64 * ROW;
        let worth = launch.input().and_then(|input| input.slices_worth());
        let name = [name_of(launch), short_place(launch, &counted.launches)].join(" ");
        let said = worth.map_or("no atomic".to_owned(), |worth| format!("{worth:.1}"));
        let bar = worth.unwrap_or(0.0) / count * ALL;
        svg += &format!(
            "<text x=\"{x}\" y=\"{text}\" font-size=\"12\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{NAMES}\" y=\"{top}\" width=\"{ALL}\" height=\"14\" fill=\"var(--chart-grid)\" opacity=\"0.45\"/>\
             <rect x=\"{NAMES}\" y=\"{top}\" width=\"{bar:.1}\" height=\"14\" fill=\"var(--series-1)\"/>\
             <text x=\"{end}\" y=\"{text}\" font-size=\"12\">{said}</text>",
            x = NAMES - 8.0,
            text = y + 16.0,
            top = y + 5.0,
            end = NAMES + ALL + 8.0,
            name = html::escape(name.trim()),
        );
        words.push(format!("{}: {said}", name.trim()));
    }
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" fill=\"var(--chart-text)\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">Slices at work, by launch</title><desc id=\"{id}-text\">{}</desc>{svg}</svg>",
        html::escape(&format!("Of {count} slices, a bar a launch. {}.", words.join("; "))),
    )
}
