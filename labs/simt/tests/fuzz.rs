//! No text makes the parser or the decoder panic, and what runs, runs within its budget.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use labs_simt::{Gpu, Launch, Machine, Module, Options};
use proptest::prelude::*;

const FIXTURES: [&str; 5] = [
    include_str!("ptx/general.sm75.ptx"),
    include_str!("ptx/half.sm90.ptx"),
    include_str!("ptx/match.sm75.ptx"),
    include_str!("ptx/locks.sm75.ptx"),
    include_str!("ptx/redux.sm80.ptx"),
];

/// Cuts, repeats and swaps pieces of a text, at character boundaries.
fn mutate(text: &str, edits: &[(u32, u32, u8, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, length, kind, byte) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at as usize % bytes.len();
        let end = (at + length as usize % 40).min(bytes.len());
        match kind % 4 {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let piece = bytes[at..end].to_vec();
                let to = (at * 7) % bytes.len();
                bytes.splice(to..to, piece);
            }
            2 => bytes[at] = byte,
            _ => bytes[at..end].reverse(),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses, and runs whatever is left of the kernels, whose arguments are null or small.
fn exercise(text: &str) {
    let Ok(module) = Module::parse(text) else { return };
    let kernels: Vec<String> = module.kernels().map(str::to_owned).collect();
    for kernel in &kernels {
        let mut machine = Machine::new(Gpu::T4, Options { budget: 20_000, ..Options::default() });
        let Ok(loaded) = machine.load(&module) else { return };
        let buffer = machine.alloc(4096).unwrap();
        let sizes = module.parameters(kernel).unwrap_or_default().to_vec();
        let args: Vec<Vec<u8>> = sizes
            .iter()
            .map(|&(_, size)| {
                let mut bytes = buffer.to_le_bytes().to_vec();
                bytes.resize(size as usize, 0);
                bytes
            })
            .collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let launch = Launch {
            kernel,
            grid: [2, 1, 1],
            block: [40, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 64,
            args: &args,
        };
        if let Err(error) = machine.launch(&loaded, &launch, None) {
            assert!(!error.to_string().is_empty());
        }
        let _ = labs_simt::predict(&module, kernel, 90);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|[\\n\\t{}()\\[\\].,;%@!|+<>0-9a-z-]){0,400}") {
        let _ = Module::parse(&text);
    }

    #[test]
    fn words_of_ptx_in_any_order(words in prop::collection::vec(prop::sample::select(vec![
        ".version", "8.8", ".entry", "k", "(", ")", "{", "}", ".reg", ".b32", ".b64", ".pred", "%r<4>", "%rd1", "%p1", ";", ",", "[", "]",
        "mov.u32", "%tid.x", "add.s32", "ld.global.u32", "st.shared.v4.f32", "atom.add.u32", "bra", "$L", ":", "@", "!", "-", "1", "0x7f",
        "0f3F800000", "call", ".func", ".param", ".align", ".shared", "x", "ret", "setp.eq.and.u32", "|", "_", "shfl.sync.idx.b32", "=", "+",
    ]), 0..120)) {
        let _ = Module::parse(&words.join(" "));
    }

    #[test]
    fn mangled_kernels_neither_panic_nor_hang(
        which in 0..FIXTURES.len(),
        edits in prop::collection::vec(any::<(u32, u32, u8, u8)>(), 1..6),
    ) {
        exercise(&mutate(FIXTURES[which], &edits));
    }

    #[test]
    fn lines_left_out_or_swapped(which in 0..FIXTURES.len(), seed in any::<u64>()) {
        let mut lines: Vec<&str> = FIXTURES[which].lines().collect();
        let (a, b) = (seed as usize % lines.len(), (seed >> 32) as usize % lines.len());
        lines.swap(a, b);
        lines.remove((a * 31 + b) % (lines.len() - 1));
        exercise(&lines.join("\n"));
    }
}
