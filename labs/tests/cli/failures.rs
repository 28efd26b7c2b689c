//! What this machine lacks, files that are not what they should be, and results that are wrong.

use std::fs;
use std::path::Path;

use labs::lab;
use snapbox::{assert_data_eq, str};

use crate::{checkout, labs, labs_in};

#[test]
fn what_needs_a_checkout_says_so() {
    labs("records list").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: labs records list needs a checkout of Hot Addresses; no folder `kernels/` here or above: change into one

"#]]);
    labs("records check").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: labs records check needs a checkout of Hot Addresses; no folder `kernels/` here or above: change into one

"#]]);
    labs("exercise day26").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: labs exercise needs a checkout of Hot Addresses; no folder `kernels/` here or above: change into one

"#]]);
    labs("verify day26").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: labs verify needs a checkout of Hot Addresses; no folder `kernels/` here or above: change into one

"#]]);
}

#[test]
fn records_that_are_not_there_or_cut() {
    let folder = checkout();
    labs_in(folder.path(), &["records", "check"]).success().stderr_eq("").stdout_eq(str![[r#"
0 records, none refused

"#]]);
    labs_in(folder.path(), &["records", "check", "missing.yaml"]).code(2).stdout_eq("").stderr_eq(str![[
        r#"
labs: cannot read `missing.yaml`: there is no such file; `labs records list` names the records there are

"#
    ]]);
    fs::write(folder.path().join("cut.yaml"), "schema: 1\nlab: day26_sum\ngpu:\n  name: NVI").unwrap();
    labs_in(folder.path(), &["records", "check", "cut.yaml"]).code(1).stdout_eq(str![[r#"
cut.yaml: refused: `cut.yaml` is not a valid record: gpu: missing field `compute_capability` at line 4 column 3

"#]]).stderr_eq(str![[r#"
labs: 1 of 1 records refused; restore them as they were measured, or measure anew with labs verify

"#]]);
    labs_in(folder.path(), &["records", "diff", "cut.yaml", "cut.yaml"]).code(1).stdout_eq("").stderr_eq(
        str![[r#"
labs: `cut.yaml` is not a valid record: gpu: missing field `compute_capability` at line 4 column 3

"#]],
    );
    fs::remove_file(folder.path().join("kernels/manifest.yaml")).unwrap();
    labs_in(folder.path(), &["records", "list"]).code(3).stdout_eq("").stderr_eq(str![[r#"
labs: cannot read `[..]manifest.yaml`: there is no such file; make it with scripts/kernels

"#]]);
}

#[test]
fn kernel_files_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let run = |file: &str, text: &[u8]| {
        fs::write(folder.path().join(file), text).unwrap();
        labs_in(folder.path(), &["day26", "--backend", "sim", "--size", "64", "--kernel", file]).stdout_eq("")
    };
    run("file.txt", b"text").code(2).stderr_eq(str![[r#"
labs: `--kernel file.txt` is neither a .cu nor a .ptx file; rename it as what it holds

"#]]);
    run("binary.ptx", b"\xff\xfe\x00").code(2).stderr_eq(str![[r#"
labs: cannot read kernel file `binary.ptx`: stream did not contain valid UTF-8; begin with a copy of one of kernels/

"#]]);
    run("uncompiled.cu", b"void f();").code(3).stderr_eq(str![[r#"
labs: cannot compile `uncompiled.cu`: NVRTC not found (looked at: HOT_ADDRESSES_NVRTC=[..]none); let HOT_ADDRESSES_NVRTC name the file or its folder, or unset it

"#]]);
    run("empty.ptx", b"").code(1).stderr_eq(str![[r#"
labs: global_atomic at size=64: the code has no kernel `global_atomic`; it must be declared `extern "C" __global__`, or its variant left out by --variant

"#]]);
    let head = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry global_atomic()\n{\n.reg .b32 %r<2>;\n";
    let ptx = |body: &str| format!("{head}{body}").into_bytes();
    run("broken.ptx", &ptx("frobnicate.u32 %r1, 3;\nret;\n}\n")).code(1).stderr_eq(str![[r#"
labs: `broken.ptx`: the PTX can't be simulated: PTX line 7: unknown instruction 'frobnicate'
    frobnicate.u32 %r1, 3;

"#]]);
    run("register.ptx", &ptx("mov.u32 %r7, 3;\nret;\n}\n")).code(1).stderr_eq(str![[r#"
labs: `register.ptx`: the PTX can't be simulated: PTX line 7: unknown register '%r7'
    mov.u32 %r7, 3;

"#]]);
    run("cut.ptx", &ptx("mov.u32 %r1, ")).code(1).stderr_eq(str![[r#"
labs: `cut.ptx`: the PTX can't be simulated: PTX line 7: expected an operand, found the end of the text
    mov.u32 %r1,

"#]]);
    let other = String::from_utf8(ptx("ret;\n}\n")).unwrap().replace("global_atomic", "other");
    run("other.ptx", other.as_bytes()).code(1).stderr_eq(str![[r#"
labs: global_atomic at size=64: the code has no kernel `global_atomic`; it must be declared `extern "C" __global__`, or its variant left out by --variant

"#]]);
}

#[test]
fn memory_that_no_machine_has() {
    labs("day26 --backend sim --variant global_atomic --size 274877906944").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: global_atomic at size=274877906944: not enough memory for 1099511627776 bytes: no room for an allocation of 1099511627776 bytes; choose a smaller --size

"#]]);
}

/// A run that fails leaves the file as it was, and nothing beside it.
#[test]
fn a_failure_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let (out, broken) = (folder.path().join("out.json"), folder.path().join("broken.ptx"));
    fs::write(&out, "kept").unwrap();
    fs::write(&broken, "garbage").unwrap();
    let run = |more: &[&str]| {
        let common =
            ["day26", "--backend", "sim", "--size", "64", "--variant", "block_tree", "--out", "out.json"];
        labs_in(folder.path(), &[&common, more].concat())
    };
    run(&["--kernel", "broken.ptx"]).code(1);
    run(&["--kernel", "missing.ptx"]).code(2);
    run(&["--size", "-1"]).code(2);
    assert_eq!(fs::read_to_string(&out).unwrap(), "kept");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else was left");

    run(&["--format", "json"]).success().stdout_eq("").stderr_eq("");
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(json["lab"], "day26_sum");
    assert_eq!(json["counts"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file was left");
}

#[test]
fn a_wrong_kernel_ends_with_one_and_its_first_wrong_value() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = lab::find("day26").unwrap().shipped().ptx[0].1;
    fs::write(folder.path().join("wrong.ptx"), shipped.replace("\tadd.f32", "\tsub.f32")).unwrap();
    let arguments =
        ["--backend", "sim", "--size", "1000", "--variant", "block_tree", "--kernel", "wrong.ptx"];
    labs_in(folder.path(), &[&["day26"], &arguments[..]].concat()).code(1).stderr_eq(str![[r#"
labs: block_tree: at size 1000 the total is [..], the reference [..]

"#]]);
    labs_in(folder.path(), &[&["day26", "--check", "races"], &arguments[..]].concat()).code(1).stderr_eq(
        str![[r#"
labs: block_tree gives a wrong result; leave --check away to see it

"#]],
    );
}

/// The kernel's last block decides the total, so that the order of blocks is what the check refuses.
#[test]
fn a_schedule_is_the_one_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = "
        .version 6.3\n.target sm_75\n.address_size 64
        .visible .entry global_atomic(.param .u64 in, .param .u64 total, .param .u64 n) {
        .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [total]; cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, %ctaid.x; cvt.rn.f32.u32 %f1, %r1; st.global.f32 [%rd2], %f1; ret; }";
    fs::write(folder.path().join("last.ptx"), text).unwrap();
    let last = |more: &[&str]| {
        let common = ["day26", "--size", "4096", "--variant", "global_atomic", "--kernel", "last.ptx"];
        let ran = labs_in(folder.path(), &[&common, more].concat()).code(1).get_output().clone();
        let told = String::from_utf8(ran.stderr).unwrap();
        told.split("the total is ").nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    assert_eq!(last(&["--backend", "sim"]), "15");
    assert_eq!(last(&["--schedule", "fair"]), "15");
    assert_ne!(last(&["--schedule", "adversarial"]), "15");
    let shuffled: Vec<String> =
        ["1", "2", "3", "4"].iter().map(|seed| last(&["--schedule", "shuffled", "--seed", seed])).collect();
    assert!(shuffled.iter().any(|total| *total != shuffled[0]), "{shuffled:?}");
    assert_eq!(last(&["--schedule", "shuffled", "--seed", "1"]), shuffled[0], "a seed gives one order");
}

#[test]
fn a_place_named_twice_is_one() {
    labs("day26 --backend sim --size 32 --size 32 --variant block_tree --format csv").success().stdout_eq(
        str![[r#"
lab,variant,at,asked,after_folding,longest_queue,shared,shared_queue
day26_sum,block_tree,size=32,1,1,1,0,0

"#]],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_in_a_line() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_labs"))
        .arg("list")
        .env_remove("RUST_BACKTRACE")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_data_eq!(
        String::from_utf8(output.stderr).unwrap(),
        str![[r#"
labs: cannot write to stdout: No space left on device (os error 28)

"#]]
    );
}

/// Whether this machine has no driver; a loud skip where it has one.
fn has_no_driver() -> bool {
    let driver = labs::backend::cuda::driver_is_present();
    if driver {
        eprintln!("SKIPPED, not passed: this machine has an NVIDIA driver");
    }
    !driver
}

#[test]
fn without_a_gpu_the_gpu_is_what_is_missing() {
    if !has_no_driver() {
        return;
    }
    labs("day26 --backend cuda").code(3).stdout_eq("").stderr_eq(str![[r#"
labs: no NVIDIA driver on this machine (its library libcuda was not found); install the driver, or use `--backend sim`

"#]]);
    labs("day26 --size 64 --variant block_tree --format csv").success().stdout_eq(str![[r#"
lab,variant,at,asked,after_folding,longest_queue,shared,shared_queue
day26_sum,block_tree,size=64,1,1,1,0,0

"#]]).stderr_eq(str![[r#"
the simulator runs, since no NVIDIA driver on this machine (its library libcuda was not found); install the driver, or use `--backend sim`

"#]]);
    let folder = checkout();
    for command in ["verify", "agree"] {
        labs_in(folder.path(), &[command, "day26"]).code(3).stdout_eq("").stderr_eq(str![[r#"
labs: no NVIDIA driver on this machine (its library libcuda was not found); install the driver, or use `--backend sim`

"#]]);
    }
    labs_in(folder.path(), &["slices"]).code(3).stdout_eq("").stderr_eq(str![[r#"
labs: no NVIDIA driver on this machine (its library libcuda was not found); install the driver, or use `--backend sim`

"#]]);
    assert_eq!(fs::read_dir(folder.path().join("verification")).unwrap().count(), 0);
}

#[test]
fn the_model_of_a_gpu_without_records_names_what_it_needs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    labs_in(&root, &["model", "made-up"]).code(3).stdout_eq("").stderr_eq(str![[r#"
labs: made-up: the model needs a record of day27_address, and there is none

"#]]);
}

#[test]
fn the_model_predicts_the_reference_gpu_and_counts_its_hits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Records that were not measured anew yet are left out, which it says.
    let output = labs_in(&root, &["model"]).success().get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("A queue is at least half of "), "{last}");
    for lab in ["day26_sum", "day28_cas_loop", "day29_histogram", "day35_filter"] {
        assert!(text.contains(lab), "{lab} is not predicted");
    }
    // The line counts what the table says.
    let hits = text.split_whitespace().filter(|word| *word == "hits").count();
    assert!(last.contains(&format!("; {hits} of these")), "{hits} hits: {last}");
}

/// Where the device would have room for the input and the host has none to make it.
#[cfg(target_os = "linux")]
#[test]
fn an_input_that_is_too_large_for_the_host_is_told() {
    let sized = ["day14", "day23", "day26", "day30", "day36"];
    let cases = sized.map(|lab| (1_600_000, format!("{lab} --size 268435456")));
    let others = [
        (1_600_000, "day29 --size 1073741824".to_owned()),
        (900_000, "day35 --size 268435456".to_owned()),
        (1_600_000, "day27 --addresses 67108864 --stride 4 --size 1000".to_owned()),
    ];
    for (kilobytes, line) in cases.into_iter().chain(others) {
        let program = env!("CARGO_BIN_EXE_labs");
        // Were there room after all, the simulator would be at it for hours.
        let limited = format!("ulimit -v {kilobytes} && exec timeout 60 '{program}' {line} --backend sim");
        let output = std::process::Command::new("sh").args(["-c", &limited]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {told}");
        assert!(told.contains("not enough memory") && told.contains("smaller --size"), "{line}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_kernel_whose_name_is_no_text_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xff.ptx");
    for backend in ["auto", "sim"] {
        let arguments = ["day26", "--backend", backend, "--kernel"].map(std::ffi::OsStr::new);
        labs_in(folder.path(), &[&arguments[..], &[name]].concat()).code(2).stdout_eq("").stderr_eq(str![[
            r#"
labs: --kernel `[..].ptx`: its name is not UTF-8; rename it

"#
        ]]);
    }
}
