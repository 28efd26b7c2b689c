use super::*;
use crate::syntax::Operand;

const KERNEL: &str = "
.version 8.8
.target sm_75
.address_size 64
.section .debug_str { $L__info: .b8 1,2 }
.visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16]) .maxntid 256, 1, 1 {
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .loc 1 7 3
    ld.param.u64 %rd1, [k_0];
    { .reg .b32 t; mov.u32 t, %tid.x; add.s32 %r1, t, -3; bra T; T: }
    @!%p1 bra $end;
    .loc 2 99 1, function_name $L__info, inlined_at 1 9 1
    shfl.sync.down.b32 %r2|%p1, %r1, 1, 31, -1;
    st.global.v2.u32 [%rd1+-4], {%r1, %r2};
$end: ret;
}
.file 1 \"k.cu\"
";

fn instructions(text: &Text) -> Vec<Instruction> {
    let body = &text.functions[0].body;
    body.iter()
        .filter_map(|s| if let Statement::Instruction(i) = s { Some(i.clone()) } else { None })
        .collect()
}

#[test]
fn a_kernel_parses_with_scopes_lines_and_operands() {
    let text = parse(KERNEL).unwrap();
    let found = instructions(&text);
    let lines: Vec<u32> = found.iter().map(|i| i.line).collect();
    assert_eq!(lines, [7, 7, 7, 7, 7, 9, 9, 9]);
    assert_eq!(text.functions[0].max_threads, Some(256));
    assert_eq!(found[2].operands[2], Operand::Integer(-3_i64 as u64));
    assert_eq!(found[4].guard, Some((1, true)));
    assert!(matches!(&found[5].operands[0], Operand::Pair(..)));
    assert!(matches!(&found[6].operands[0], Operand::Address(_, -4)));
    assert_eq!(text.functions[0].labels, 2);
}

#[test]
fn errors_name_the_line_and_its_text() {
    let broken = KERNEL.replace("%r2|%p1, %r1", "%r2|%p1, %r9");
    let error = parse(&broken).unwrap_err();
    assert_eq!(error.line, 15);
    assert!(error.text.contains("shfl.sync.down"), "{error}");
    assert!(error.reason.contains("%r9"), "{error}");
}

#[test]
fn a_billion_registers_are_refused() {
    let error = parse(&KERNEL.replace("%r<4>", "%r<4000000000>")).unwrap_err();
    assert!(error.reason.contains("registers"), "{error}");
}

#[test]
fn half_a_kernel_is_an_error() {
    let half = &KERNEL[..KERNEL.len() / 2];
    assert!(parse(half).is_err());
}
