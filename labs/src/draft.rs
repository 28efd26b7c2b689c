//! From sessions to a record.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{SecondsFormat, Utc};
use labs_record::figure::{At, Figure, SetAside};
use labs_record::record::{Absent, Check, Kernel, Peer, Record, SCHEMA, Sanitizer, Sitting, Variant};

use crate::lab::{self, Lab};
use crate::session::{KernelResources, Report};

/// What a record needs besides the sessions.
#[derive(Debug, Default)]
pub struct Extras {
    /// The command that was run.
    pub command: String,
    /// Kernels with machine code and instructions, where they are known.
    pub kernels: BTreeMap<String, (String, Vec<labs_record::record::Instruction>)>,
    /// compute-sanitizer's word by variant.
    pub sanitizer: BTreeMap<String, Sanitizer>,
    /// Peers, and their figures session by session.
    pub peers: Vec<Peer>,
    /// A list of figures a session.
    pub peer_figures: Vec<Vec<Figure>>,
}

/// This second, UTC, as records write it.
pub fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Makes a sealed record of one sitting.
pub fn record(lab: &dyn Lab, started: &str, reports: Vec<Report>, extras: Extras) -> Option<Record> {
    let first = reports.first()?;
    let (gpu, driver, compiler) = (first.gpu.clone(), first.driver.clone(), first.compiler.clone());
    let variants = variants(lab, &reports, &extras);
    let absent = absent(lab, &gpu.compute_capability, &extras);
    let lists = reports.iter().enumerate().map(|(place, report)| {
        let peers = extras.peer_figures.get(place).cloned().unwrap_or_default();
        report.findings.figures.iter().cloned().chain(peers).collect()
    });
    let figures = merge(lists.collect());
    let mut record = Record {
        schema: SCHEMA,
        lab: lab.stem().to_owned(),
        command: extras.command,
        gpu,
        compiler,
        sources: crate::BUILT_FROM.to_owned(),
        protocol: lab::protocol_hash(lab),
        sittings: vec![Sitting {
            started: started.to_owned(),
            driver,
            sources: None,
            sessions: reports.into_iter().map(|report| report.session).collect(),
        }],
        variants,
        peers: extras.peers,
        absent,
        figures,
        digest: String::new(),
    };
    record.seal();
    Some(record)
}

/// Puts the sessions' samples of the same figure together, in the order of the sessions.
fn merge(sessions: Vec<Vec<Figure>>) -> Vec<Figure> {
    let mut merged: BTreeMap<(String, Option<String>, At), Figure> = BTreeMap::new();
    for (session, figures) in sessions.into_iter().enumerate() {
        for mut figure in figures {
            for aside in &mut figure.set_aside {
                aside.session = session;
            }
            let key = (figure.name.clone(), figure.variant.clone(), figure.at.clone());
            match merged.get_mut(&key) {
                None => {
                    merged.insert(key, figure);
                }
                Some(known) => {
                    known.samples.append(&mut figure.samples);
                    known.set_aside.append(&mut figure.set_aside);
                }
            }
        }
    }
    merged.into_values().collect()
}

fn variants(lab: &dyn Lab, reports: &[Report], extras: &Extras) -> Vec<Variant> {
    let ran =
        |name: &str| reports.iter().any(|report| report.findings.checks.iter().any(|(n, ..)| n == name));
    let check = |name: &str| {
        let refused = reports
            .iter()
            .flat_map(|report| &report.findings.checks)
            .any(|(n, check, _)| n == name && *check == Check::Refused);
        if refused { Check::Refused } else { Check::Passed }
    };
    let known = |kernel: &str| reports.first()?.kernels.iter().find(|known| known.kernel == kernel).cloned();
    lab.variants()
        .iter()
        .filter(|variant| ran(variant.name))
        .map(|variant| Variant {
            name: variant.name.to_owned(),
            declared: variant.declared,
            check: check(variant.name),
            sanitizer: extras
                .sanitizer
                .get(variant.name)
                .cloned()
                .unwrap_or_else(|| Sanitizer::Absent("not run".to_owned())),
            kernels: variant.kernels.iter().filter_map(|name| Some(kernel(known(name)?, extras))).collect(),
        })
        .collect()
}

fn kernel(resources: KernelResources, extras: &Extras) -> Kernel {
    let (machine_code, instructions) = extras.kernels.get(&resources.kernel).cloned().unwrap_or_default();
    Kernel {
        name: resources.kernel,
        machine_code,
        instructions,
        registers: resources.registers,
        shared_bytes: resources.shared_bytes,
        local_bytes: resources.local_bytes,
        block_threads: resources.block_threads,
        blocks_per_sm: resources.blocks_per_sm,
        occupancy: resources.occupancy,
    }
}

fn absent(lab: &dyn Lab, capability: &str, extras: &Extras) -> Vec<Absent> {
    let architecture: u32 = capability.replace('.', "").parse().unwrap_or(0);
    let mut absent: Vec<Absent> = lab
        .variants()
        .iter()
        .filter(|variant| variant.needs > architecture)
        .map(|variant| Absent {
            what: variant.name.to_owned(),
            why: format!(
                "it needs compute capability {}.{}; this GPU has {capability}",
                variant.needs / 10,
                variant.needs % 10
            ),
        })
        .collect();
    if extras.peers.is_empty() {
        absent.push(Absent {
            what: "peer".to_owned(),
            why: "no peer program was built for this lab".to_owned(),
        });
    }
    absent
}

/// Adds a sitting to a verified record of the same code and protocol; gives the figures of it that the record has not, and
/// so does not take in. Which build of the program made either is no difference, and is on record.
///
/// # Errors
/// A message that says in what the two differ.
pub fn add_sitting(record: &mut Record, new: Record) -> Result<Vec<String>, String> {
    let same = [
        ("GPU", record.gpu.is_like(&new.gpu)),
        ("compiler", record.compiler == new.compiler),
        ("protocol", record.protocol == new.protocol),
        ("machine code", machine_code(record) == machine_code(&new)),
        ("peer", record.peers.is_empty() || versions(&record.peers) == versions(&new.peers)),
    ];
    if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
        return Err(format!("the record on disk has another {what}; measure without --add"));
    }
    let before = record.sessions();
    let mut left_out = Vec::new();
    for figure in new.figures {
        let known = record.figures.iter_mut().find(|known| {
            known.name == figure.name && known.variant == figure.variant && known.at == figure.at
        });
        let Some(known) = known else {
            left_out.push(figure.describe());
            continue;
        };
        known.samples.extend(figure.samples);
        let aside = figure.set_aside.into_iter();
        known.set_aside.extend(aside.map(|aside| SetAside { session: aside.session + before, ..aside }));
    }
    for variant in &new.variants {
        if let Some(known) = record.variants.iter_mut().find(|known| known.name == variant.name) {
            take_in(known, variant);
        }
    }
    for peer in new.peers.iter().filter(|peer| peer.check == Check::Refused) {
        record.peers.iter_mut().filter(|known| known.name == peer.name).for_each(|p| p.check = peer.check);
    }
    let other_build = (new.sources != record.sources).then_some(new.sources);
    let sittings = new.sittings.into_iter();
    record.sittings.extend(sittings.map(|sitting| Sitting { sources: other_build.clone(), ..sitting }));
    record.seal();
    Ok(left_out)
}

/// What a later sitting found against a variant stays.
fn take_in(known: &mut Variant, new: &Variant) {
    if new.check == Check::Refused {
        known.check = Check::Refused;
    }
    let unjudged = matches!(known.sanitizer, Sanitizer::Absent(_));
    if unjudged || matches!(new.sanitizer, Sanitizer::Found(_)) {
        known.sanitizer = new.sanitizer.clone();
    }
}

/// Kernels with their machine code, in whatever order the variants stand.
fn machine_code(record: &Record) -> BTreeSet<(&str, &str)> {
    let kernels = record.variants.iter().flat_map(|variant| &variant.kernels);
    kernels.map(|kernel| (kernel.name.as_str(), kernel.machine_code.as_str())).collect()
}

fn versions(peers: &[Peer]) -> Vec<(&str, &str)> {
    peers.iter().map(|peer| (peer.name.as_str(), peer.version.as_str())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn now_is_a_date_and_a_time_to_the_second() {
        let shape: String =
            super::now().chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00Z");
    }
}
