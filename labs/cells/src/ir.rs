//! The rows as LLVM's intermediate language, which has an instruction for every operation but the product: what its
//! back ends expand is theirs to say.

use labs_record::cells::{Operation, Scalar, Spelling};

/// LLVM's name of a type.
pub(crate) fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I32 | Scalar::U32 => "i32",
        Scalar::I64 | Scalar::U64 => "i64",
        Scalar::F16 => "half",
        Scalar::Bf16 => "bfloat",
        Scalar::F16x2 => "<2 x half>",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The integer as wide as a type.
fn bits(scalar: Scalar) -> String {
    format!("i{}", scalar.bits())
}

/// LLVM has no atomic product.
pub(crate) fn spelling(operation: Operation) -> Spelling {
    if operation == Operation::Mul { Spelling::Loop } else { Spelling::Function }
}

/// What `atomicrmw` calls an operation on a type; none for a product and a compare-and-swap.
fn verb(operation: Operation, scalar: Scalar) -> Option<&'static str> {
    let (float, signed) = (!scalar.is_integer(), scalar.is_signed());
    Some(match operation {
        Operation::Add if float => "fadd",
        Operation::Add => "add",
        Operation::Sub if float => "fsub",
        Operation::Sub => "sub",
        Operation::Min if float => "fmin",
        Operation::Min if signed => "min",
        Operation::Min => "umin",
        Operation::Max if float => "fmax",
        Operation::Max if signed => "max",
        Operation::Max => "umax",
        Operation::And => "and",
        Operation::Or => "or",
        Operation::Xor => "xor",
        Operation::Exchange => "xchg",
        Operation::Mul | Operation::Cas => return None,
    })
}

/// Instructions that apply an operation to the word at `%a` with the operand `%v` and leave the old value in `%old`.
/// `pointer` is the type of `%a`, `order` scope and order. They may begin new blocks; `%entry` is the block before.
pub(crate) fn apply(operation: Operation, kind: Scalar, pointer: &str, order: &str) -> String {
    let (word, bits) = (scalar(kind), bits(kind));
    match verb(operation, kind) {
        // Vectors are exchanged as the integer that is as wide.
        Some("xchg") if kind == Scalar::F16x2 => format!(
            "  %vb = bitcast {word} %v to {bits}\n  %ob = atomicrmw xchg {pointer} %a, {bits} %vb {order}\n  %old = bitcast {bits} %ob to {word}\n"
        ),
        Some(verb) => format!("  %old = atomicrmw {verb} {pointer} %a, {word} %v {order}\n"),
        None if operation == Operation::Cas => format!(
            "  %vb = bitcast {word} %v to {bits}\n  %nb = xor {bits} %vb, 1\n  %both = cmpxchg {pointer} %a, {bits} %vb, {bits} %nb {order} monotonic\n  %ob = extractvalue {{ {bits}, i1 }} %both, 0\n  %old = bitcast {bits} %ob to {word}\n"
        ),
        None => product(kind, pointer, order),
    }
}

/// The loop that stands in for a product.
fn product(kind: Scalar, pointer: &str, order: &str) -> String {
    let (word, bits) = (scalar(kind), bits(kind));
    let times = if kind.is_integer() { "mul" } else { "fmul" };
    format!(
        "  %first = load {bits}, {pointer} %a\n  br label %again\nagain:\n  \
         %seen = phi {bits} [ %first, %entry ], [ %ob, %again ]\n  %x = bitcast {bits} %seen to {word}\n  \
         %y = {times} {word} %x, %v\n  %yb = bitcast {word} %y to {bits}\n  \
         %both = cmpxchg {pointer} %a, {bits} %seen, {bits} %yb {order} monotonic\n  \
         %ob = extractvalue {{ {bits}, i1 }} %both, 0\n  %done = extractvalue {{ {bits}, i1 }} %both, 1\n  \
         br i1 %done, label %end, label %again\nend:\n  %old = bitcast {bits} %seen to {word}\n"
    )
}
