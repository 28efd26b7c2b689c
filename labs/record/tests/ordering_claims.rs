//! The claims of day14, day38 and day39 on made-up figures: all hold, each refuted by one change, each undecided or
//! unmeasured in words.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here fail as a test does")]

use std::path::{Path, PathBuf};

use labs_record::figure::{Coordinate, Figure, Kind, Samples, Unit};
use labs_record::record::Gpu;
use labs_record::{At, Claims, Evidence, Verdict, store, wording};

/// A lab: its figures, one a line (name, variant or `-`, places, value or `seen/tries`), and for each claim a line of
/// figures that refutes it.
struct Lab {
    stem: &'static str,
    unit: Unit,
    figures: &'static [&'static str],
    refuted_by: &'static [(&'static str, &'static str)],
}

const DAY14: Lab = Lab {
    stem: "day14_barrier",
    unit: Unit::Nanoseconds,
    figures: &[
        "wrong_blocks atomic_only size=4194304 900/1000",
        "wrong_blocks atomic_only size=65536 60/100",
        "wrong_blocks late_reader size=4194304 300/1000",
        "wrong_blocks late_reader size=65536 70/100",
        "wrong_blocks slots size=4194304 8/1000",
        "wrong_blocks slots size=65536 0/100",
        "wrong_blocks warp_barrier size=4194304 900/1000",
        "wrong_blocks block_barrier size=4194304 0/100000",
        "wrong_blocks warp_totals size=4194304 0/100000",
        "wrong_totals last_block_relaxed size=65536 1/1000",
        "wrong_totals last_block_relaxed size=4194304 0/1000",
        "wrong_totals last_block_fenced size=65536 0/1000",
        "wrong_totals last_block_acq_rel size=65536 0/1000",
        "time block_barrier size=4194304 10",
        "time warp_totals size=4194304 10",
        "time last_block_acq_rel size=4194304 20",
        "time last_block_fenced size=4194304 21",
    ],
    refuted_by: &[
        ("atomic_is_no_barrier", "wrong_blocks atomic_only size=4194304 0/1000"),
        ("late_reader_hides_it", "wrong_blocks late_reader size=4194304 500/1000"),
        ("slots_do_not_help", "wrong_blocks slots size=4194304 0/1000"),
        ("warp_is_too_few", "wrong_blocks warp_barrier size=4194304 0/1000"),
        ("right_barriers_are_never_wrong", "wrong_blocks warp_totals size=4194304 1/100000"),
        ("barrier_costs_little", "time block_barrier size=4194304 12"),
        ("relaxed_ticket_shows", "wrong_totals last_block_relaxed size=65536 0/1000"),
        ("fenced_tickets_are_never_wrong", "wrong_totals last_block_fenced size=65536 1/1000"),
        ("acq_rel_is_not_slower", "time last_block_fenced size=4194304 19"),
    ],
};

const DAY38: Lab = Lab {
    stem: "day38_order_cost",
    unit: Unit::Cycles,
    figures: &[
        "cycles relaxed scope=cta threads=alone writes=0 500",
        "cycles relaxed scope=gpu threads=alone writes=0 500",
        "cycles relaxed scope=sys threads=alone writes=0 500",
        "cycles relaxed scope=gpu threads=alone writes=1 600",
        "cycles relaxed scope=gpu threads=alone writes=256 3400",
        "cycles relaxed scope=gpu threads=one writes=0 760",
        "cycles acquire scope=gpu threads=alone writes=0 510",
        "cycles release scope=gpu threads=alone writes=0 1000",
        "cycles release scope=cluster threads=alone writes=0 1000",
        "cycles release scope=gpu threads=alone writes=1 1100",
        "cycles release scope=sys threads=alone writes=1 1500",
        "cycles release scope=gpu threads=alone writes=256 4000",
        "cycles release scope=gpu threads=one writes=0 980",
        "cycles release scope=gpu threads=own writes=0 900",
        "cycles_to_host release scope=gpu threads=alone writes=1 1100",
        "cycles_to_host release scope=sys threads=alone writes=1 3000",
        "cycles fence_sc scope=cta threads=alone writes=0 60",
        "cycles fence_sc scope=gpu threads=alone writes=0 317",
        "cycles fence_sc scope=sys threads=alone writes=0 1070",
        "cycles fence_acq_rel scope=cta threads=alone writes=0 60",
        "cycles fence_acq_rel scope=gpu threads=alone writes=0 317",
        "cycles fence_acq_rel scope=sys threads=alone writes=0 1070",
    ],
    refuted_by: &[
        ("scope_alone_is_free", "cycles relaxed scope=sys threads=alone writes=0 600"),
        ("release_waits", "cycles release scope=gpu threads=alone writes=0 700"),
        ("acquire_is_cheaper_than_release", "cycles acquire scope=gpu threads=alone writes=0 1100"),
        ("fence_price_grows_with_scope", "cycles fence_acq_rel scope=gpu threads=alone writes=0 100"),
        ("sc_costs_the_same", "cycles fence_sc scope=sys threads=alone writes=0 1300"),
        ("cluster_is_device", "cycles release scope=cluster threads=alone writes=0 800"),
        ("system_scope_costs_more", "cycles release scope=sys threads=alone writes=1 1100"),
        ("only_sys_waits_for_the_host", "cycles_to_host release scope=gpu threads=alone writes=1 2900"),
        ("writes_leave_together", "cycles relaxed scope=gpu threads=alone writes=256 2000"),
        ("release_once", "cycles release scope=gpu threads=alone writes=256 40000"),
        ("queue_hides_order", "cycles release scope=gpu threads=one writes=0 1500"),
    ],
};

const DAY39: Lab = Lab {
    stem: "day39_spin",
    unit: Unit::Nanoseconds,
    figures: &[
        "gave_up plain_load blocks=16 320/320",
        "handover volatile_load blocks=2 600",
        "handover volatile_load blocks=16 640",
        "handover volatile_load blocks=128 650",
        "handover volatile_load blocks=1024 700",
        "handover relaxed_load blocks=128 650",
        "handover relaxed_load blocks=1024 660",
        "handover acquire_load blocks=128 660",
        "handover fence_in_loop blocks=2 6100",
        "handover fence_in_loop blocks=128 7000",
        "handover atomic_or blocks=128 1000",
        "handover atomic_or blocks=1024 2100",
        "handover backoff blocks=128 2000",
        "handover ticket_lock blocks=1024 700",
        "handover test_and_set blocks=1024 1100",
        "lost no_order blocks=16 900/1000",
        "lost no_order blocks=128 900/1000",
        "lost no_acquire blocks=16 900/1000",
        "lost unfenced_lock blocks=128 900/1000",
        "lost volatile_load blocks=128 0/10000",
        "lost acquire_load blocks=128 0/10000",
        "lost test_and_set blocks=128 0/10000",
        "lost ticket_lock blocks=128 0/10000",
        "waited_in_vain - waits_for=lane 0/640",
        "waited_in_vain - waits_for=resident_block 0/5000",
        "waited_in_vain - waits_for=block_without_place 4000/5000",
        "waited_in_vain - waits_for=block_before 0/5000",
    ],
    refuted_by: &[
        ("plain_load_never_ends", "gave_up plain_load blocks=16 0/320"),
        ("volatile_is_cheapest", "handover acquire_load blocks=128 500"),
        ("fence_in_loop_costs", "handover fence_in_loop blocks=2 1000"),
        ("atomic_looks_queue", "handover atomic_or blocks=1024 800"),
        ("waiters_slow_the_turn", "handover volatile_load blocks=16 580"),
        ("relaxed_is_narrower", "handover relaxed_load blocks=1024 700"),
        ("backoff_comes_late", "handover backoff blocks=128 700"),
        ("volatile_orders_itself_only", "lost no_order blocks=16 0/1000"),
        ("release_alone_is_half", "lost no_acquire blocks=16 0/1000"),
        ("unfenced_lock_loses", "lost unfenced_lock blocks=128 0/1000"),
        ("ordered_hand_overs_lose_nothing", "lost ticket_lock blocks=128 1/10000"),
        ("tickets_beat_swaps", "handover test_and_set blocks=1024 600"),
        ("lanes_make_progress", "waited_in_vain - waits_for=lane 20/640"),
        ("residents_make_progress", "waited_in_vain - waits_for=resident_block 1/5000"),
        ("one_block_too_many", "waited_in_vain - waits_for=block_without_place 0/5000"),
        ("earlier_blocks_start_first", "waited_in_vain - waits_for=block_before 1/5000"),
    ],
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn gpu(compute_capability: &str) -> Gpu {
    Gpu {
        name: "Made-up".to_owned(),
        compute_capability: compute_capability.to_owned(),
        sms: 132,
        l2_bytes: 1 << 26,
        memory_bytes: 1 << 36,
        ecc: None,
    }
}

/// A line as a figure of three sessions that agree.
fn figure(line: &str, unit: Unit) -> Figure {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, variant, places @ .., value] = words.as_slice() else { panic!("{line}") };
    let at = places.iter().map(|place| {
        let (axis, place) = place.split_once('=').unwrap();
        (axis.to_owned(), place.parse().map_or_else(|_| Coordinate::from(place), Coordinate::Number))
    });
    let tries = value.split_once('/').map(|(seen, of)| (seen.parse().unwrap(), of.parse().unwrap()));
    let samples = match tries {
        Some((seen, of)) => Samples::Tries { seen, of },
        None => Samples::Numbers(vec![value.parse().unwrap()]),
    };
    Figure {
        name: (*name).to_owned(),
        variant: (*variant != "-").then(|| (*variant).to_owned()),
        at: at.collect::<At>(),
        unit: if tries.is_some() { Unit::One } else { unit },
        kind: if tries.is_some() { Kind::Observation } else { Kind::Duration },
        median: None,
        samples: vec![samples; 3],
        set_aside: Vec::new(),
    }
}

fn figures(lab: &Lab) -> Vec<Figure> {
    lab.figures.iter().map(|line| figure(line, lab.unit)).collect()
}

fn claims(lab: &Lab) -> Claims {
    store::read(&root().join(format!("verification/claims/{}.yaml", lab.stem)), "claims file").unwrap()
}

#[test]
fn all_hold_on_figures_made_for_them_and_say_so() {
    let gpu = gpu("9.0");
    for lab in [DAY14, DAY38, DAY39] {
        let figures = figures(&lab);
        let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
        for claim in claims(&lab).claims {
            let finding = evidence.judge(&claim);
            assert_eq!(finding.verdict, Verdict::Holds, "{}: {finding:?}", claim.id);
            let said = wording::sentence(&claim, &finding, &evidence).unwrap();
            assert!(!said.contains('{'), "{said}");
        }
    }
}

#[test]
fn each_is_refuted_by_one_figure_and_says_so() {
    let gpu = gpu("9.0");
    for lab in [DAY14, DAY38, DAY39] {
        let claims = claims(&lab).claims;
        assert_eq!(claims.len(), lab.refuted_by.len(), "{}", lab.stem);
        for (id, line) in lab.refuted_by {
            let claim =
                claims.iter().find(|claim| claim.id == *id).unwrap_or_else(|| panic!("no claim {id}"));
            let changed = figure(line, lab.unit);
            let mut figures = figures(&lab);
            let place = figures.iter().position(|known| {
                (&known.name, &known.variant, &known.at) == (&changed.name, &changed.variant, &changed.at)
            });
            figures[place.unwrap_or_else(|| panic!("no figure to change: {line}"))] = changed;
            let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
            let finding = evidence.judge(claim);
            assert_eq!(finding.verdict, Verdict::Fails, "{id}: {finding:?}");
            let said = wording::sentence(claim, &finding, &evidence).unwrap();
            assert!(!said.contains('{'), "{said}");
        }
    }
}

#[test]
fn clusters_are_asked_of_no_gpu_without_them() {
    let gpu = gpu("8.0");
    let figures = figures(&DAY38);
    let evidence = Evidence { gpu: &gpu, figures: &figures, absent: &[] };
    let claims = claims(&DAY38).claims;
    let claim = claims.iter().find(|claim| claim.id == "cluster_is_device").unwrap();
    assert_eq!(evidence.judge(claim).verdict, Verdict::NotApplicable);
}
