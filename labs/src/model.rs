//! `labs model`: the queue model's predictions beside the recorded times of a GPU. Needs no GPU.

use std::collections::BTreeMap;

use anyhow::Result;
use labs_record::figure::Unit;
use labs_record::rules::{self, Status};
use labs_record::{Record, agreement, model, units};

use crate::cli::ModelArgs;
use crate::failure::lacks;
use crate::{code, print, records};

/// Prints predicted, measured and their ratio.
///
/// # Errors
/// No records of that GPU, or none of the labs that the model's constants come from.
pub fn run(args: &ModelArgs) -> Result<()> {
    let root = code::root_for("labs model")?;
    let manifest = records::manifest(&root)?;
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    for (_, record) in records::all(&root)? {
        let record = record?;
        if record.gpu.slug() != args.gpu {
            continue;
        }
        match rules::status(&record, &manifest) {
            Status::Verified => drop(records.insert(record.lab.clone(), record)),
            status => anstream::eprintln!("left out: {} of {} is {status}", record.lab, args.gpu),
        }
    }
    let records = records.iter().map(|(lab, record)| (lab.clone(), record)).collect();
    let all = model::predictions(&records).map_err(|why| lacks(format!("{}: {why}", args.gpu)))?;
    let time = |ns: f64| units::quantity(ns, Unit::Nanoseconds).unwrap_or_default();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let mark = match (one.counts(), one.hits()) {
                (true, false) => "misses",
                (true, true) => "hits",
                (false, _) => "",
            };
            vec![
                format!("{} {}", one.lab, one.variant),
                agreement::place(&one.at),
                one.bound.to_owned(),
                time(one.predicted_ns),
                time(one.measured_ns),
                units::three_digits(one.ratio()),
                mark.to_owned(),
            ]
        })
        .collect();
    anstream::println!(
        "{}",
        print::words(&["variant", "at", "longest", "predicted", "measured", "ratio", ""], &rows)
    );
    let counted = all.iter().filter(|one| one.counts()).count();
    let hits = all.iter().filter(|one| one.counts() && one.hits()).count();
    anstream::println!(
        "A queue is at least half of {counted} of {} predictions; {hits} of these are within {} of what was measured.",
        all.len(),
        units::percent(model::AIM).unwrap_or_default()
    );
    Ok(())
}
