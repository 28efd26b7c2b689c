//! Every claim of the documents behind the course finds an end: a claim with a verdict, a check, or a reason why not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use labs_record::Claims;
use labs_record::sources::Sources;
use labs_record::store;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Sources {
    store::read(&root().join("verification/sources.yaml"), "list of sources").unwrap()
}

fn claims() -> BTreeMap<String, Claims> {
    let files = store::yaml_files(&root().join("verification/claims")).unwrap();
    let read = files.iter().map(|path| store::read::<Claims>(path, "claims file").unwrap());
    read.map(|claims| (claims.lab.clone(), claims)).collect()
}

/// Ids without an end. One whose lab has no claims file yet waits for it, and the page reads 'not measured'.
fn without_end(sources: &Sources, claims: &BTreeMap<String, Claims>) -> Vec<String> {
    let written = |days: &str| {
        days.split(" and ").all(|day| claims.keys().any(|stem| stem.split('_').next() == Some(day)))
    };
    let open = sources.claims.iter().filter(|claim| {
        let ended = !sources.tested_by(&claim.id, claims).is_empty()
            || !claim.checked.is_empty()
            || claim.not_tested.is_some();
        !ended && (!claim.lab.starts_with("day") || written(&claim.lab))
    });
    open.map(|claim| format!("{}: {} names it in no claim", claim.id, claim.lab)).collect()
}

#[test]
fn no_id_is_missing_and_each_finds_an_end() {
    let sources = sources();
    let ids: Vec<String> = sources.claims.iter().map(|claim| claim.id.clone()).collect();
    let wanted: Vec<String> = [("E", 17), ("G", 13), ("Q", 16), ("S", 9)]
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")))
        .collect();
    assert_eq!(ids, wanted);
    let claims = claims();
    assert_eq!(sources.faults(&claims), Vec::<String>::new());
    assert_eq!(without_end(&sources, &claims), Vec::<String>::new());
}

#[test]
fn what_checks_a_claim_is_there() {
    for claim in &sources().claims {
        for check in &claim.checked {
            let text = std::fs::read_to_string(root().join(&check.by));
            let text = text.unwrap_or_else(|error| panic!("{}: {}: {error}", claim.id, check.by));
            assert!(text.contains(&check.name), "{}: {} has no `{}`", claim.id, check.by, check.name);
            if let Some(page) = &check.page {
                assert!(root().join("book/src").join(page).is_file(), "{}: no page {page}", claim.id);
            }
        }
    }
}

#[test]
fn a_missing_end_is_told() {
    let mut sources = sources();
    let claims = claims();
    sources.claims[0].id = "E99".to_owned();
    sources.claims[0].lab = "day26".to_owned();
    sources.claims[0].not_tested = None;
    sources.claims[0].checked.clear();
    assert!(without_end(&sources, &claims)[0].starts_with("E99"));
    sources.claims[0].id = "X1".to_owned();
    assert!(sources.faults(&claims).iter().any(|fault| fault.contains("of no document")));
    let mut unknown = claims;
    unknown.values_mut().next().unwrap().claims[0].sources.push("Z9".to_owned());
    assert!(sources.faults(&unknown).iter().any(|fault| fault.contains("`Z9`")));
}
