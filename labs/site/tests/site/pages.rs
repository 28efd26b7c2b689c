//! Whole pages: what they show of a record, and what they refuse.

use std::fs;

use crate::course::{Course, ONE, TWO};

#[test]
fn a_page_shows_the_chosen_gpus_numbers() {
    let course = Course::new();
    let page = course.page(None, false);
    for text in [
        "Which of two made-up kernels is *faster*?",
        ">4.00\u{a0}µs</span>",
        "4.25×",
        ">65,536</span> adds",
        "Time of a pair",
        "1,000 to 1,600 MHz",
        "unsigned",
        "records/made-up-gpu-one/day99_pair.yaml",
        "language-cpp",
        "777\u{20}µs",
        "+    if (threadIdx.x == 0) {\n+\n+        atomicAdd",
        "$ cargo labs day99",
    ] {
        assert!(page.contains(text), "`{text}` is not in:\n{page}");
    }
    assert!(!page.contains("class=\"draft") && !page.contains("class=\"missing"), "{page}");
    assert!(course.built("front.html").contains("Made-up GPU One"));
    let numbers = course.built("numbers.html");
    assert!(numbers.contains("At least 3 sessions of 10 samples that agree within 5\u{a0}%"), "{numbers}");
    assert!(numbers.contains("Made-up GPU Two"), "all records are listed");
    assert!(course.path("book/book/records/made-up-gpu-two/day99_pair.yaml").is_file());
}

#[test]
fn on_another_gpu_a_claim_flips_and_its_sentence_with_it() {
    let course = Course::new();
    let one = course.page(Some(ONE), false);
    assert!(one.contains("<code>fast</code> needs 4.00 µs and wins by 4.25× &lt; infinity."), "{one}");
    assert!(one.contains("It counts 16."));
    assert_eq!(one.matches("verdict holds").count(), 3);
    let two = course.page(Some(TWO), false);
    assert!(two.contains("<code>fast</code> does not win: it comes to 1.25×, short of 2×."), "{two}");
    assert!(two.contains("It does not apply: it needs compute capability 9.0; Made-up GPU Two has 7.5."));
    for (class, times) in [("verdict fails", 1), ("verdict not-applicable", 1), ("verdict holds", 1)] {
        assert_eq!(two.matches(class).count(), times, "{class}");
    }
    assert!(!two.contains("wins by"), "the other verdict's sentence is not there");
    assert!(!without_picker(&two).contains("GPU One"), "no number of the other GPU is there");
}

/// A page without the links to other GPUs' editions, which name those GPUs.
fn without_picker(page: &str) -> String {
    let Some((before, rest)) = page.split_once("<nav class=\"gpu-picker\"") else { return page.to_owned() };
    format!("{before}{}", rest.split_once("</nav>").unwrap().1)
}

#[test]
fn each_gpu_with_a_record_has_an_edition_of_its_own() {
    let course = Course::new();
    let one = course.page(Some(ONE), false);
    assert!(one.contains("<span aria-current=\"true\">Made-up GPU One</span>"), "{one}");
    assert!(one.contains("href=\"gpu/made-up-gpu-two/day99_pair.html\">Made-up GPU Two</a>"));
    let two = fs::read_to_string(course.path("book/book/gpu/made-up-gpu-two/day99_pair.html")).unwrap();
    assert!(two.contains("<code>fast</code> does not win: it comes to 1.25×, short of 2×."), "{two}");
    assert!(two.contains("href=\"../../day99_pair.html\">Made-up GPU One</a>"));
    assert!(two.contains("href=\"../../records/made-up-gpu-two/day99_pair.yaml\""));
    assert!(!course.path("book/book/gpu/made-up-gpu-one").exists(), "the root is its edition");

    // A draft is no more published in an edition of its own than at the root.
    course.edit_record(TWO, |record| record.sittings[0].sessions.truncate(2));
    course.edit_record(TWO, |record| record.figures.iter_mut().for_each(|figure| figure.samples.truncate(2)));
    assert!(!course.page(Some(ONE), false).contains("gpu-picker"), "one edition needs no choice");
    assert!(!course.path("book/book/gpu").exists());
    assert!(
        course.page(Some(ONE), true).contains("gpu/made-up-gpu-two/"),
        "with --draft it is there, marked"
    );
}

#[test]
fn a_claim_leads_to_what_it_rests_on() {
    let page = Course::new().page(None, false);
    let claim = page.split("claim-fast_is_faster").nth(1).unwrap();
    let claim = claim.split("</details>").next().unwrap().replace('\n', "");
    for text in [
        "beats <code>slow</code> by two at 4,096",
        "<code>time</code> of <code>slow</code> (size 4,096) over <code>time</code> of <code>fast</code> (size 4,096) is at least 2×",
        "<dt>Threshold</dt><dd>2×</dd>",
        "<dt>Measured</dt><dd>4.25×</dd>",
        "<dt>Over the sessions</dt><dd>4.25× to 4.25×</dd>",
        "<dt>Verdict</dt><dd>holds</dd>",
        "X1",
        "records/made-up-gpu-one/day99_pair.yaml",
    ] {
        assert!(claim.contains(text), "`{text}` is not in:\n{claim}");
    }
}

#[test]
fn a_gpu_without_a_record_shows_nobody_elses_numbers() {
    let course = Course::new();
    let page = course.page(Some("made-up-gpu-nine"), false);
    assert!(page.contains("There is no record of this lab on made-up-gpu-nine"));
    assert!(page.contains("[not measured on made-up-gpu-nine]"), "figures say so");
    assert!(
        page.contains("nobody raced <code>fast</code>: there is no record on made-up-gpu-nine"),
        "claims say so"
    );
    // table, chart, output, instructions, resources, foot
    assert_eq!(page.matches("not measured: there is no record of day99_pair on made-up-gpu-nine").count(), 6);
    for number in ["µs</span>", "4.25×", "4.00", "GPU One", "GPU Two", "role=\"img\""] {
        assert!(!without_picker(&page).contains(number), "`{number}`");
    }
    assert!(page.contains("777\u{20}µs") && page.contains("Made-up GPU Three"), "published figures stay");
}

#[test]
fn drafts_are_refused_and_marked() {
    let course = Course::new();
    course.edit_record(ONE, |record| record.sittings[0].sessions.truncate(2));
    course.edit_record(ONE, |record| record.figures.iter_mut().for_each(|figure| figure.samples.truncate(2)));
    let said = course.refusal();
    assert!(
        said.contains("verification/made-up-gpu-one/day99_pair.yaml` is draft: 2 sessions of 3"),
        "{said}"
    );
    assert!(said.contains("cargo labs verify day99_pair") && said.contains("--draft"), "{said}");
    // The other GPU's pages are not concerned.
    course.build(Some(TWO), false).unwrap();
    let page = course.page(None, true);
    assert!(page.contains("<strong>Draft.</strong>"));
    assert!(page.contains("class=\"measured draft\"") && page.contains("draft, not verified"));
    assert!(page.contains("in a draft record"), "claims are marked too");
}

#[test]
fn stale_records_are_refused() {
    let course = Course::new();
    course.edit_record(ONE, |record| record.protocol = "another".to_owned());
    let said = course.refusal();
    assert!(said.contains("is stale: the lab now measures by another protocol"), "{said}");
    assert!(course.page(None, true).contains("not verified: stale"));
    let course = Course::new();
    course.edit_record(ONE, |record| record.variants[0].kernels[0].machine_code = "old".to_owned());
    assert!(course.refusal().contains("kernel `slow` now has other machine code"));
}

#[test]
fn incomplete_records_are_refused() {
    let course = Course::new();
    course.edit_record(ONE, |record| record.figures.retain(|figure| figure.name != "adds"));
    assert!(course.refusal().contains("figure `adds` is missing without a reason"));
}

#[test]
fn a_law_that_fails_stops_the_build() {
    let course = Course::new();
    course.edit_record(ONE, |record| {
        let adds = record.figures.iter_mut().find(|figure| figure.name == "adds").unwrap();
        adds.samples.fill(labs_record::Samples::Numbers(vec![4097.0]));
    });
    let said = course.refusal();
    assert!(said.contains("the law `adds_are_counted`"), "{said}");
}

#[test]
fn claims_about_nothing_are_refused() {
    let course = Course::new();
    let path = course.path("verification/claims/day99_pair.yaml");
    let claims = fs::read_to_string(&path).unwrap();
    fs::write(&path, claims.replacen("figure: time, variant: fast", "figure: tiem, variant: fast", 1))
        .unwrap();
    let said = course.refusal();
    assert!(
        said.contains("claims/day99_pair.yaml` can't be used") && said.contains("no figure `tiem`"),
        "{said}"
    );
}

#[test]
fn broken_records_are_refused_even_as_drafts() {
    let spoil = |edit: &dyn Fn(String) -> String| {
        let course = Course::new();
        let path = course.record_path(TWO);
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
        // Of another GPU than the pages': it is broken all the same.
        course.build(Some(ONE), true).unwrap_err()
    };
    let half = spoil(&|text| text[..text.len() / 2].to_owned());
    assert!(half.contains("made-up-gpu-two/day99_pair.yaml` is not a valid record"), "{half}");
    let edited = spoil(&|text| text.replacen("registers: 8", "registers: 9", 1));
    assert!(edited.contains("its digest does not match its content"), "{edited}");
    let schema = spoil(&|text| text.replacen("schema: 1", "schema: 99", 1));
    assert!(schema.contains("its schema is 99"), "{schema}");
}

#[test]
fn a_record_of_another_lab_is_refused() {
    let course = Course::new();
    course.edit_record(ONE, |record| record.lab = "day98_other".to_owned());
    let said = course.refusal();
    assert!(said.contains("there is no lab `day98_other`"), "{said}");
    assert!(said.contains("belongs at `verification/made-up-gpu-one/day98_other.yaml`"), "{said}");
    let course = Course::new();
    course.edit_record(ONE, |record| record.gpu.name = "Made-up GPU Two".to_owned());
    assert!(course.refusal().contains("it is the record of `day99_pair` on Made-up GPU Two"));
}

#[test]
fn html_in_a_record_is_text() {
    let page = Course::new().page(None, false);
    for live in ["<script>alert", "<b>slow</b>", "<i>made-up</i>", "<u>lost</u>", "<made-up>", "root:"] {
        assert!(!page.contains(live), "`{live}`");
    }
    for text in [
        "&lt;script&gt;alert(1)",
        "&lt;b&gt;slow",
        "&lt;u&gt;lost",
        "{{#include /etc/passwd}}",
        "A &lt;made-up&gt; title",
    ] {
        assert!(page.contains(text), "`{text}` is not in:\n{page}");
    }
    let course = Course::new();
    course.edit_record(ONE, |record| {
        record.variants[0].kernels[0].instructions[0].opcode = "RED<img src=x>".to_owned()
    });
    course.chapter("# Pair\n\n<% instructions() %>\n\n<% gpu(fact=\"power\") %>\n");
    let page = course.page(None, false);
    assert!(page.contains("RED&lt;img src=x&gt;") && !page.contains("<img src=x>"), "{page}");
    assert!(page.contains("a &lt;i&gt;made-up&lt;/i&gt; reason"));
}

#[test]
fn a_failed_build_leaves_the_old_pages_and_nothing_else() {
    let course = Course::new();
    course.build(None, false).unwrap();
    for (broken, words) in [
        ("[nowhere](nowhere.md)", "day99_pair.html: the link `nowhere.html` is broken"),
        ("3 ms", "is typed"),
        ("<div><p>", "unclosed HTML tag"),
    ] {
        course.chapter(&format!("# Pair\n\n{broken}\n"));
        let said = course.refusal();
        assert!(said.contains(words), "{said}");
        assert!(course.built("day99_pair.html").contains("Time of a pair"));
        let names: Vec<String> = fs::read_dir(course.path("book"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert!(names.iter().all(|name| ["book", "book.toml", "src"].contains(&name.as_str())), "{names:?}");
    }
}

#[test]
fn ids_are_unique_when_a_chart_comes_twice() {
    let course = Course::new();
    let chart = "<% chart(figure=\"time\", along=\"size\") %>\n\n<% claim(id=\"fast_is_faster\") %>\n\n";
    course.chapter(&format!("# Pair\n\n{chart}{chart}"));
    let page = course.page(None, false);
    assert_eq!(page.matches("role=\"img\"").count(), 2);
}

#[test]
fn claims_are_judged_on_published_figures_side_by_side() {
    let course = Course::new();
    let path = course.path("verification/published/made-up-gpu-three/day99_pair.yaml");
    let text = fs::read_to_string(&path).unwrap();
    // The source is silent on the size of the fast one: the course says where it compares.
    let more = "- {name: time, variant: fast, unit: ns, kind: duration, median: 700000.0, samples: ['700000']}\ncompared_at: {size: 4096}\n";
    fs::write(&path, format!("{}{more}", text.replace("at: {size: 4096}, ", ""))).unwrap();
    let published = |variant: &str| {
        format!("figure(name=\"time\", variant=\"{variant}\", size=4096, published=\"made-up-gpu-three\")")
    };
    course.chapter(&format!(
        "# Pair\n\nThere it takes <% {} | quantity %>, the other <% ratio(of={}, to={}) | times %>.\n\n\
         <% verdicts(claims=[\"fast_is_faster\", \"needs_new_hardware\"], caption=\"Here and there\") %>\n",
        published("fast"),
        published("slow"),
        published("fast")
    ));
    let page = course.page(None, false);
    assert!(page.contains(">700\u{a0}µs</span>") && page.contains("1.11×"), "{page}");
    assert!(page.contains("title=\"published, not measured here: Made-up GPU Three"), "{page}");
    let table = page.split("<caption>").nth(1).unwrap().split("</table>").next().unwrap();
    let heads: Vec<usize> = ["GPU One", "GPU Two", "GPU Three <span class=\"note\">published"]
        .iter()
        .map(|head| table.find(head).unwrap_or_else(|| panic!("no {head} in {table}")))
        .collect();
    assert!(heads.is_sorted());
    for (class, times) in [("verdict holds", 2), ("verdict fails", 2), ("verdict not-applicable", 2)] {
        assert_eq!(table.matches(class).count(), times, "{class}: {table}");
    }
    for value in ["4.25×", "1.25×", "1.11×"] {
        assert!(table.contains(value), "{value}: {table}");
    }
}

#[test]
fn places_can_be_the_columns_and_the_lines_and_levels_are_named() {
    let course = Course::new();
    course.chapter(
        "# Pair\n\n<% table(figure=\"time\", rows=\"size\", columns=\"size\", variants=[\"fast\"]) %>\n\n\
         <% chart(figure=\"time\", along=\"size\", lines=\"size\", levels=[\"fast at last: size=65536\"], variants=[\"fast\"]) %>\n",
    );
    let page = course.page(None, false);
    assert!(page.contains("<code>size 4,096</code>") && page.contains("<code>size 65,536</code>"), "{page}");
    assert!(page.contains(">size 65,536</text>") && page.contains(">fast at last</text>"), "{page}");
    assert!(!page.contains("<code>slow</code>"), "the other variant was not asked for");
}
