//! A GPU's own counters of its slices, on a page.

use labs_record::slices::{CountedLaunch, Slices, counters};
use labs_record::{SCHEMA, store};

use crate::course::{Course, ONE, TWO};

const CHAPTER: &str = "# Pair\n\n<% slices(figure=\"adds\") %>\n";

/// Three launches: one slice of four at work, all of them, and all of them alike.
fn slices(course: &Course) -> Slices {
    let record = store::read_record(&course.record_path(ONE)).unwrap();
    let launch = |variant: &str, busiest: u64, idlest: u64| CountedLaunch {
        lab: "day99_pair".to_owned(),
        variant: variant.to_owned(),
        kernel: variant.to_owned(),
        machine_code: format!("code-of-{variant}"),
        protocol: "made-up-protocol".to_owned(),
        at: [("size".to_owned(), 4096.into())].into(),
        shape: (16, 256),
        counters: counters()
            .map(|name| {
                let count = match name {
                    "lts__d_atomic_input_cycles_active.max" => busiest,
                    "lts__d_atomic_input_cycles_active.min" => idlest,
                    "lts__d_atomic_input_cycles_active.sum" => 4_096,
                    "lts__cycles_elapsed.max" => 1_000,
                    "lts__cycles_elapsed.sum" => 4_000,
                    _ => 7,
                };
                (name.to_owned(), count)
            })
            .collect(),
    };
    let mut slices = Slices {
        schema: SCHEMA,
        gpu: record.gpu,
        started: "2026-01-03T03:04:05Z".to_owned(),
        driver: "1.2.3".to_owned(),
        profiler: "a <b>made-up</b> profiler".to_owned(),
        compiler: record.compiler,
        sources: "made-up".to_owned(),
        launches: vec![launch("slow", 4_096, 0), launch("fast", 1_280, 900), launch("fast", 1_024, 1_024)],
        digest: String::new(),
    };
    slices.seal();
    slices
}

fn write(course: &Course, slices: &Slices) {
    store::write(&course.path(&format!("verification/slices/{ONE}.yaml")), slices).unwrap();
}

#[test]
fn a_page_shows_one_slice_at_work_and_all() {
    let course = Course::new();
    write(&course, &slices(&course));
    let page = course.chapter(CHAPTER).page(None, false);
    for text in [
        "The counters tell 4 slices. In 1 of 3 launches one slice took every input and the others none; in 1 every slice took as many \
         as every other.",
        "classes of lines apart",
        "day99 slow: 1.0; day99 fast: 3.2; day99 fast: 4.0",
        "<td>4,096</td><td>0</td><td>4,096</td>",
        "a &lt;b&gt;made-up&lt;/b&gt; profiler",
        "records/slices/made-up-gpu-one.yaml",
    ] {
        assert!(page.contains(text), "`{text}` is not in:\n{page}");
    }
    assert!(!page.contains("stale:"));
    assert!(course.path("book/book/records/slices/made-up-gpu-one.yaml").is_file());
}

#[test]
fn without_counters_a_page_says_so() {
    let course = Course::new();
    write(&course, &slices(&course));
    let page = course.chapter(CHAPTER).page(Some(TWO), false);
    assert!(page.contains("the counters of the slices of made-up-gpu-two were not read"), "{page}");
}

#[test]
fn old_counters_are_marked_and_broken_ones_refused() {
    let course = Course::new();
    let mut old = slices(&course);
    old.launches[0].machine_code = "old".to_owned();
    old.seal();
    write(&course, &old);
    let page = course.chapter(CHAPTER).page(None, false);
    assert!(page.contains("stale: day99_pair `slow`: kernel `slow` now has other machine code"), "{page}");
    old.launches[0].variant = "none".to_owned();
    write(&course, &old);
    let refusal = course.refusal();
    assert!(
        refusal.contains("its digest does not match") && refusal.contains("no such variant"),
        "{refusal}"
    );
    let course = Course::new();
    course.chapter("# Pair\n\n<% slices(figure=\"none\") %>\n");
    assert!(course.refusal().contains("none"));
}
