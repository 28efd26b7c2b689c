//! The simulator held against a GPU, on a page.

use std::fs;

use labs_record::agreement::{Counters, Difference};

use crate::course::{Course, ONE, TWO};

#[test]
fn a_page_counts_what_agrees_and_lists_what_does_not() {
    let course = Course::new();
    course.build(None, false).unwrap();
    let page = course.built("numbers.html");
    for text in [
        "2 results on Made-up GPU One were compared with the simulator&#39;s, and whether each of 2 variants passed its check: none differs.",
        "2 counters were compared with predictions: 1 differs.",
        "<code>reds.sum</code></td><td>128</td><td>4096</td>",
        "size 4,096",
        "every disagreement, none left out",
        "a &lt;b&gt;made-up&lt;/b&gt; profiler, driver 1.2.3",
        "records/agreement/made-up-gpu-one.yaml",
    ] {
        let found = page.replace('’', "&#39;").replace("simulator's", "simulator&#39;s");
        assert!(found.contains(text), "`{text}` is not in:\n{page}");
    }
    assert!(!page.contains("<code>loads.sum") && !page.contains("arrivals.sum"), "they do not disagree");
    assert!(!page.contains("stale:"));
    assert!(course.path("book/book/records/agreement/made-up-gpu-one.yaml").is_file());
}

#[test]
fn a_gpu_without_a_comparison_shows_nobody_elses() {
    let course = Course::new();
    course.build(Some(TWO), false).unwrap();
    let page = course.built("numbers.html");
    assert!(page.contains("not measured: the simulator was not compared with made-up-gpu-two"), "{page}");
    assert!(!page.contains("reds.sum"));
}

#[test]
fn results_that_differ_stand_on_the_page() {
    let course = Course::new();
    course.edit_agreement(ONE, |all| {
        let difference = Difference { hardware: "3 <i>".to_owned(), simulator: "4".to_owned() };
        all.labs[0].variants[0].results[0].differs = Some(difference);
        all.labs[0].counters = Counters::Absent("there was <u>no</u> profiler".to_owned());
    });
    course.build(None, false).unwrap();
    let page = course.built("numbers.html");
    assert!(page.contains("1 differs. 0 counters were compared"), "{page}");
    assert!(page.contains("result <code>total</code></td><td>4</td><td>3 &lt;i&gt;</td>"), "{page}");
    assert!(page.contains("no counters: there was &lt;u&gt;no&lt;/u&gt; profiler"), "{page}");
}

#[test]
fn what_was_compared_with_other_code_is_marked_stale() {
    let course = Course::new();
    course.edit_agreement(ONE, |all| {
        all.labs[0].machine_code.insert("slow".to_owned(), "old".to_owned());
    });
    course.build(None, false).unwrap();
    let page = course.built("numbers.html");
    assert!(page.contains("stale: kernel `slow` now has other machine code"), "{page}");
}

#[test]
fn broken_comparisons_are_refused() {
    let refusal = |edit: &dyn Fn(String) -> String| {
        let course = Course::new();
        let path = course.agreement_path(ONE);
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
        // Of another GPU than the pages': it is broken all the same.
        course.build(Some(TWO), true).unwrap_err()
    };
    let edited = refusal(&|text| text.replacen("predicted: 128", "predicted: 129", 1));
    assert!(edited.contains("verification/agreement/made-up-gpu-one.yaml` can't be used"), "{edited}");
    assert!(edited.contains("its digest does not match its content"), "{edited}");
    let schema = refusal(&|text| text.replacen("schema: 1", "schema: 99", 1));
    assert!(schema.contains("its schema is 99"), "{schema}");
    let garbage = refusal(&|_| "][".to_owned());
    assert!(garbage.contains("is not a valid agreement file"), "{garbage}");
    let course = Course::new();
    course.edit_agreement(ONE, |all| all.gpu.name = "Made-up GPU Two".to_owned());
    let moved = course.refusal();
    assert!(moved.contains("belongs at `verification/agreement/made-up-gpu-two.yaml`"), "{moved}");
    let course = Course::new();
    course.edit_agreement(ONE, |all| {
        all.labs[0].variants.pop();
    });
    let missing = course.refusal();
    assert!(missing.contains("variant `fast` is missing without a reason"), "{missing}");
}
