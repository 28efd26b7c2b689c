// Behind the functions of the table: each is called by several threads on one word, and the word must then hold what
// any order of the calls leaves there. `scripts/native-or-cas` compiles and runs it.

const THREADS: u64 = 4;
const CALLS: u64 = 20_000;

/// Calls from all threads, with an operand that depends on thread and call.
fn together(call: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let call = &call;
            scope.spawn(move || (0..CALLS).for_each(|n| call(thread * CALLS + n)));
        }
    });
}

fn all() -> impl Iterator<Item = u64> {
    0..THREADS * CALLS
}

macro_rules! integers {
    ($kind:ident, $word:ident, $start:expr, $fold:expr, $($call:ident)*) => {$({
        let a = $word::new($start);
        together(|n| { let _ = $call(&a, operand(n) as $kind); });
        let fold: fn($kind, $kind) -> $kind = $fold;
        let wanted = all().fold($start, |x, n| fold(x, operand(n) as $kind));
        assert_eq!(a.load(Relaxed), wanted, stringify!($call));
        $crate::COUNT.fetch_add(1, Relaxed);
    })*};
}

/// An odd number, whose products never vanish, of either sign once it is narrowed.
fn operand(n: u64) -> u64 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) | 1
}

macro_rules! exchanged {
    ($kind:ident, $word:ident, $used:ident, $zero:expr) => {{
        // Every value goes in once and comes out once, but for the one that is left.
        let (a, sum) = ($word::new($zero), AtomicU64::new(0));
        together(|n| { sum.fetch_add(bits!($kind, $used(&a, (n + 1) as $kind)), Relaxed); });
        let left = sum.load(Relaxed) + bits!($kind, from!($kind, a.load(Relaxed)));
        assert_eq!(left, all().map(|n| n + 1).sum::<u64>(), stringify!($used));
        COUNT.fetch_add(1, Relaxed);
    }};
}
macro_rules! bits {
    ($kind:ident, $value:expr) => { $value as u64 };
}
macro_rules! from {
    (f32, $value:expr) => { f32::from_bits($value) };
    (f64, $value:expr) => { f64::from_bits($value) };
    ($kind:ident, $value:expr) => { $value };
}

macro_rules! floats {
    ($kind:ident, $word:ident, $start:expr, $wanted:expr, $value:expr, $($call:ident)*) => {$({
        let a = $word::new(($start as $kind).to_bits());
        let value: fn(u64) -> $kind = $value;
        together(|n| { let _ = $call(&a, value(n)); });
        assert_eq!($kind::from_bits(a.load(Relaxed)), $wanted as $kind, stringify!($call));
        COUNT.fetch_add(1, Relaxed);
    })*};
}

static COUNT: AtomicU32 = AtomicU32::new(0);

macro_rules! whole {
    ($kind:ident, $word:ident, $add:ident $add2:ident $sub:ident $sub2:ident $mul:ident $mul2:ident $min:ident $min2:ident
     $max:ident $max2:ident $and:ident $and2:ident $or:ident $or2:ident $xor:ident $xor2:ident $exchange:ident) => {
        integers!($kind, $word, 5, |x, v| x.wrapping_add(v), $add $add2);
        integers!($kind, $word, 5, |x, v| x.wrapping_sub(v), $sub $sub2);
        integers!($kind, $word, 5, |x, v| x.wrapping_mul(v), $mul $mul2);
        integers!($kind, $word, $kind::MAX, |x, v| x.min(v), $min $min2);
        integers!($kind, $word, $kind::MIN, |x, v| x.max(v), $max $max2);
        integers!($kind, $word, !0, |x, v| x & v, $and $and2);
        integers!($kind, $word, 0, |x, v| x | v, $or $or2);
        integers!($kind, $word, 0, |x, v| x ^ v, $xor $xor2);
        exchanged!($kind, $word, $exchange, 0);
    };
}
macro_rules! real {
    ($kind:ident, $word:ident, $add:ident $add2:ident $sub:ident $sub2:ident $mul:ident $mul2:ident $min:ident $min2:ident
     $max:ident $max2:ident $exchange:ident) => {
        // Whole numbers of this size add up exactly in any order; powers of two multiply so.
        floats!($kind, $word, 0, 80_000, |_| 1.0, $add $add2);
        floats!($kind, $word, 80_000, 0, |_| 1.0, $sub $sub2);
        floats!($kind, $word, 3, 3, |n| if n % 2 == 0 { 2.0 } else { 0.5 }, $mul $mul2);
        floats!($kind, $word, 1e9, -79_999, |n| -(n as $kind), $min $min2);
        floats!($kind, $word, -1e9, 79_999, |n| n as $kind, $max $max2);
        exchanged!($kind, $word, $exchange, 0);
    };
}

fn main() {
    whole!(i32, AtomicI32, add_i32_global_unused add_i32_global_used sub_i32_global_unused sub_i32_global_used
        mul_i32_global_unused mul_i32_global_used min_i32_global_unused min_i32_global_used max_i32_global_unused
        max_i32_global_used and_i32_global_unused and_i32_global_used or_i32_global_unused or_i32_global_used
        xor_i32_global_unused xor_i32_global_used exchange_i32_global_used);
    whole!(u32, AtomicU32, add_u32_global_unused add_u32_global_used sub_u32_global_unused sub_u32_global_used
        mul_u32_global_unused mul_u32_global_used min_u32_global_unused min_u32_global_used max_u32_global_unused
        max_u32_global_used and_u32_global_unused and_u32_global_used or_u32_global_unused or_u32_global_used
        xor_u32_global_unused xor_u32_global_used exchange_u32_global_used);
    whole!(i64, AtomicI64, add_i64_global_unused add_i64_global_used sub_i64_global_unused sub_i64_global_used
        mul_i64_global_unused mul_i64_global_used min_i64_global_unused min_i64_global_used max_i64_global_unused
        max_i64_global_used and_i64_global_unused and_i64_global_used or_i64_global_unused or_i64_global_used
        xor_i64_global_unused xor_i64_global_used exchange_i64_global_used);
    whole!(u64, AtomicU64, add_u64_global_unused add_u64_global_used sub_u64_global_unused sub_u64_global_used
        mul_u64_global_unused mul_u64_global_used min_u64_global_unused min_u64_global_used max_u64_global_unused
        max_u64_global_used and_u64_global_unused and_u64_global_used or_u64_global_unused or_u64_global_used
        xor_u64_global_unused xor_u64_global_used exchange_u64_global_used);
    real!(f32, AtomicU32, add_f32_global_unused add_f32_global_used sub_f32_global_unused sub_f32_global_used
        mul_f32_global_unused mul_f32_global_used min_f32_global_unused min_f32_global_used max_f32_global_unused
        max_f32_global_used exchange_f32_global_used);
    real!(f64, AtomicU64, add_f64_global_unused add_f64_global_used sub_f64_global_unused sub_f64_global_used
        mul_f64_global_unused mul_f64_global_used min_f64_global_unused min_f64_global_used max_f64_global_unused
        max_f64_global_used exchange_f64_global_used);
    println!(
        "run here: {} functions, {THREADS} threads of {CALLS} calls each on one word, what was left in it checked",
        COUNT.load(Relaxed)
    );
}
