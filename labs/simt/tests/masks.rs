//! `.sync` masks: honoured where lanes have diverged, refused where they cannot be met.
#![allow(clippy::unwrap_used, clippy::panic)]

use labs_simt::{Error, Gpu, Launch, Machine, Module, Options, ParseError};

const HEAD: &str = ".version 8.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_0) {
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [k_0]; cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3;
    setp.lt.u32 %p1, %r1, 16;
";

fn parse(body: &str) -> Result<Module, ParseError> {
    Module::parse(&format!("{HEAD}{body}\n}}"))
}

fn run(body: &str, threads: u32) -> Result<Vec<u32>, Error> {
    let mut machine = Machine::new(Gpu::T4, Options::default());
    let loaded = machine.load(&parse(body).unwrap_or_else(|e| panic!("{e}")))?;
    let out = machine.alloc(128)?;
    let args = [&out.to_le_bytes()[..]];
    let launch = Launch {
        kernel: "k",
        grid: [1; 3],
        block: [threads, 1, 1],
        cluster: [1; 3],
        dynamic_shared: 0,
        args: &args,
    };
    machine.launch(&loaded, &launch, None)?;
    let mut bytes = [0; 128];
    machine.read(out, &mut bytes)?;
    Ok(bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect())
}

#[test]
fn both_sides_of_a_branch_meet_at_their_warp_barriers() {
    let body = "@%p1 bra L; mov.u32 %r2, 5; bar.warp.sync -1; bra M; L: mov.u32 %r2, 9; bar.warp.sync -1;
        M: st.global.u32 [%rd2], %r2; ret;";
    assert_eq!(run(body, 32).unwrap(), [[9; 16], [5; 16]].concat());
}

#[test]
fn a_side_shuffles_among_its_own_lanes() {
    let body = "mov.u32 %r2, 77; @!%p1 bra M; shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 0xffff;
        M: st.global.u32 [%rd2], %r2; ret;";
    let expected: Vec<u32> = (0..32).map(|i| if i < 16 { i ^ 1 } else { 77 }).collect();
    assert_eq!(run(body, 32).unwrap(), expected);
}

#[test]
fn masks_that_differ_by_lane_split_the_warp() {
    let body = "selp.b32 %r3, 0xffff, 0xffff0000, %p1; mov.u32 %r4, 0; vote.sync.ballot.b32 %r2, %p1, %r3;
        st.global.u32 [%rd2], %r2; ret;";
    assert_eq!(run(body, 32).unwrap(), [[0xffff; 16], [0; 16]].concat());
}

#[test]
fn a_mask_that_names_an_ended_lane_is_an_error() {
    let body = "@!%p1 ret; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; st.global.u32 [%rd2], %r2; ret;";
    let error = run(body, 32).unwrap_err();
    assert!(matches!(error, Error::Sync { .. }) && error.to_string().contains("0xffff0000"), "{error}");
    let error = run("bar.warp.sync -1; ret;", 20).unwrap_err();
    assert!(error.to_string().contains("never were"), "{error}");
}

#[test]
fn a_mask_that_leaves_out_its_lane_is_an_error() {
    let error = run("bar.warp.sync 0xff; ret;", 32).unwrap_err();
    assert!(matches!(error, Error::Sync { .. }) && error.to_string().contains("lane 8"), "{error}");
}

#[test]
fn lanes_that_never_come_are_waited_for_and_named() {
    let body = "setp.eq.u32 %p2, %r1, 0; @%p2 bra L; bar.warp.sync -1; ret; L: barrier.sync 1, 64; ret;";
    let error = run(body, 32).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Deadlock { total: 2, .. }), "{text}");
    assert!(text.contains("barrier 1: 1 of 64") && text.contains("mask 0xffffffff"), "{text}");
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for (body, reason) in [
        ("frobnicate.u32 %r1, %r2;", "unknown instruction 'frobnicate'"),
        ("add.sideways.u32 %r1, %r1, %r2;", "'.sideways'"),
        ("ld.global.u32 %r1, [%rd9];", "%rd9"),
        ("atom.global.add.s8 %r1, [%rd1], %r2;", "does not exist"),
        ("shfl.down.b32 %r1, %r1, 1, 31;", "without .sync"),
        ("add.u32 %rd1, %r1, %r2;", "class"),
        ("bra NOWHERE;", "label"),
        ("mov.u32 %r1, %warp_mood;", "%warp_mood"),
    ] {
        let error = parse(body).map(|_| ()).unwrap_err();
        assert!(error.reason.contains(reason) && error.line == 9, "{body}: {error}");
        assert!(error.text.contains(body.split(' ').next().unwrap()), "{error}");
    }
}
