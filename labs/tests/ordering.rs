//! Part 4, scoped ordering: the race detector reports every wrong variant and none of the right ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use labs::lab::{self, Lab};
use labs::session::Job;
use labs::simulate;
use labs_record::record::Outcome;

fn job(lab: &dyn Lab) -> Job {
    Job {
        lab: lab.stem().to_owned(),
        variants: Vec::new(),
        places: BTreeMap::new(),
        samples: None,
        seed: 5,
        kernel: None,
        pinned: false,
        only_check: true,
    }
}

#[test]
fn the_race_detector_reports_the_wrong_variants_and_no_others() {
    let (mut right, mut wrong) = (0, 0);
    for lab in lab::registry().iter().filter(|lab| lab.part() == 4) {
        for variant in lab.variants() {
            let (races, caught) = simulate::watch(*lab, &job(*lab), variant).unwrap();
            let name = format!("{} {}", lab.stem(), variant.name);
            if variant.declared == Outcome::Correct {
                assert!(races.races.is_empty() && !caught, "{name}: {races}");
                right += 1;
            } else {
                assert!(!races.races.is_empty(), "{name} is wrong, and no race is found");
                wrong += 1;
            }
        }
    }
    assert!(right >= 4 && wrong >= 7, "{right} right and {wrong} wrong variants");
}
