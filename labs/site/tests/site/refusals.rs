//! What a chapter must not say, and how the build says so.

use std::fs;

use crate::course::{Course, ONE};

/// The refusal of a chapter with this line as its third.
fn refused(line: &str) -> String {
    let course = Course::new();
    course.chapter(&format!("# Pair\n\n{line}\n"));
    course.refusal()
}

/// Asserts that the line is refused with its place and with every one of these words.
fn check(line: &str, words: &[&str]) {
    let said = refused(line);
    assert!(said.contains("book/src/day99_pair.md:3:"), "{line}: no place in: {said}");
    for word in words {
        assert!(said.contains(word), "{line}: no `{word}` in: {said}");
    }
}

const FAST: &str = "figure(name=\"time\", variant=\"fast\", size=4096)";

#[test]
fn unknown_names() {
    check("<% figgure(name=\"time\") | quantity %>", &["figgure", "figure, ratio, gpu", "quantity, range"]);
    check("<% time | quantity %>", &["not defined", "<% time |", "figure, ratio, gpu"]);
    check("It takes <% time %>.", &["not defined", "<% time %>", "figure, ratio, gpu"]);
    check(&format!("<% {FAST} | nanoseconds %>"), &["nanoseconds", "quantity, range, times"]);
    check(
        "<% figure(name=\"tme\", variant=\"fast\", size=4096) | quantity %>",
        &["`tme`", "time, adds, lost"],
    );
    check("<% figure(name=\"time\", variant=\"fats\", size=4096) | quantity %>", &["`fats`", "fast, slow"]);
    check(
        "<% figure(name=\"time\", variant=\"fast\", size=4097) | quantity %>",
        &["size=4097", "size=4096|65536"],
    );
    check("<% figure(name=\"time\", variant=\"fast\") | quantity %>", &["2 figures fit", "name more axes"]);
    check(
        "<% claim(id=\"nothing\") %>",
        &["`nothing`", "fast_is_faster, needs_new_hardware, adds_are_counted"],
    );
    check("<% claim(id=\"fast_is_faster\", tone=\"loud\") %>", &["takes no `tone`", "lab, id"]);
    check("<% gpu(fact=\"nam\") %>", &["`nam`", "name, slug"]);
    check("<% rule(name=\"luck\") %>", &["sessions, samples, agreement"]);
    check("<% table(figure=\"time\", rows=\"sizes\") %>", &["along `sizes`", "size=4096|65536"]);
    check("<% table(figure=\"time\", rows=\"size\", variants=[\"fats\"]) %>", &["`fats`", "slow, fast"]);
    check(
        "<% table(figure=\"time\", rows=\"size\", columns=\"stride\") %>",
        &["along `size` by `stride`", "size=4096|65536"],
    );
    check(
        "<% table(figure=\"time\", rows=\"size\", columns=\"size\", variants=[\"fats\"]) %>",
        &["no figure"],
    );
    let level = |level: &str| format!("<% chart(figure=\"time\", along=\"size\", levels=[\"{level}\"]) %>");
    check(&level("a plateau"), &["`a plateau`", "axis=place"]);
    check(&level("a: size"), &["without `=`"]);
    check(&level("a: size=4096"), &["names 2 figures"]);
    check(
        "<% bits(figure=\"time\", reference=\"adds\", size=4096, caption=\"c\") %>",
        &["no figure `adds` at these places"],
    );
    check("<% bits(figure=\"tiem\", reference=\"adds\", caption=\"c\") %>", &["`tiem`", "time, adds, lost"]);
    check("<% variant_diff(from=\"slow\", to=\"fats\") %>", &["`fats`", "slow, fast"]);
    check(
        "<% published(gpu=\"tesla\", figure=\"time\", rows=\"size\") %>",
        &["made-up-gpu-three/day99_pair"],
    );
    check("<% claim(id=\"a\", lab=\"day98\") %>", &["`day98`", "day99_pair"]);
    check("<% verdicts(claims=[\"nothing\"]) %>", &["`nothing`", "fast_is_faster, needs_new_hardware"]);
    let elsewhere = "figure(name=\"time\", variant=\"fast\", published=\"made-up-gpu-three\")";
    check(&format!("<% {elsewhere} | quantity %>"), &["nothing of the kind is published", "slow"]);
}

#[test]
fn numbers_without_a_unit() {
    check(&format!("It takes <% {FAST} %>"), &["without a filter", "| quantity"]);
    check(&format!("It takes <% {FAST} ~ \"!\" %>"), &["without a filter"]);
    check("It takes <% 17 %>", &["`17` is printed bare"]);
    check("It takes <% 17 | quantity %>", &["bare number 17"]);
    check("It takes <% \"17\" | quantity %>", &["takes figure(..)"]);
    check(&format!("<% {FAST} | times %>"), &["in ns", "make a ratio"]);
    check(&format!("<% {FAST} | count %>"), &["in ns"]);
    check(&format!("<% ratio(of={FAST}, to={FAST}) | quantity %>"), &["is a ratio"]);
    check(
        &format!("<% ratio(of={FAST}, to=figure(name=\"adds\", variant=\"fast\", size=4096)) | times %>"),
        &["in ns", "in count"],
    );
    check(&format!("<% {FAST} | safe %>"), &["`safe`"]);
    check(&format!("<% {FAST} | default(value=3) %>"), &["`default`"]);
}

#[test]
fn null_and_nan() {
    check("It takes <% none %>", &["null is printed"]);
    check("It takes <% none | quantity %>", &["null"]);
    check("It takes <% figure(name=none) | quantity %>", &["`name` is null"]);
    check("It takes <% \"\" %>", &["an empty text is printed"]);
    check("It takes <% \"17\" %>", &["`17` is printed bare"]);
    // A rate over a time of zero, say.
    let course = Course::new();
    course.edit_record(ONE, |record| {
        let time = &mut record.figures[0];
        time.samples.fill(labs_record::Samples::Numbers(vec![0.0; 10]));
    });
    course.chapter(
        "# Pair\n\n<% ratio(of=figure(name=\"time\", variant=\"slow\", size=4096), to=figure(name=\"time\", variant=\"slow\", size=4096)) | times %>\n",
    );
    let said = course.refusal();
    assert!(said.contains("day99_pair.md:3:") && said.contains("is NaN, which is no number"), "{said}");
}

#[test]
fn typed_figures() {
    check("It takes 17.5 µs.", &["the figure `17.5 µs` is typed", "figure()"]);
    check("It is 79× faster.", &["`79×`"]);
    assert!(refused("fine, then 3 ms\nand 4 GB/s").contains("day99_pair.md:4: the figure `4 GB/s`"));
}

#[test]
fn broken_includes_and_links() {
    check("{{#include ../../kernels/none.cu}}", &["cannot include `../../kernels/none.cu`"]);
    check("{{#include ../../kernels/day99_pair.cu:none}}", &["no anchor `none`", "slow, fast"]);
    let said = refused("[a](front.md#none)");
    assert!(said.contains("front.html#none` is broken"), "{said}");
}

#[test]
fn what_mdbook_only_warns_of() {
    assert!(refused("<div><p>text").contains("unclosed HTML tag"));
    let course = Course::new();
    let toml = fs::read_to_string(course.path("book/book.toml")).unwrap();
    fs::write(course.path("book/book.toml"), format!("{toml}\n[output.html]\ncolour = 1\n")).unwrap();
    assert!(course.refusal().contains("colour"), "{}", course.refusal());
    let course = Course::new();
    fs::write(course.path("book/src/SUMMARY.md"), "# Summary\n\n- [Pair](missing.md)\n").unwrap();
    assert!(course.refusal().contains("missing.md"));
    assert!(!course.path("book/src/missing.md").exists());
}

#[test]
fn blocks_within_a_sentence() {
    check("So <% claim(id=\"fast_is_faster\") %>", &["claim() prints a block"]);
}

#[test]
fn every_fault_is_named_at_once() {
    let said = refused("It takes 3 ms. {{#include nowhere}}\n\n<% figure(name=\"x\") | quantity %>");
    for word in ["`3 ms`", "`nowhere`", "`x`"] {
        assert!(said.contains(word), "{said}");
    }
}
