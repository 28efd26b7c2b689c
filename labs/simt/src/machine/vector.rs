//! Arithmetic over the 32 lanes of a warp. The common operations have loops of
//! their own, which the compiler vectorises; the rest go lane by lane through
//! the same definitions in [`crate::scalar`].

use super::grid::Grid;
use super::warp::{FULL, Warp};
use crate::code::{NONE, Op, PredSrc, Src};
use crate::scalar::{Compare, Mode, One, Three, Two, bfi, compare, convert, extend, one, three, two};
use crate::types::{CONST_WINDOW, Class, LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW, Space, Ty};

/// Below this many lanes a loop over the set bits is faster than all 32 and a blend.
const FEW_LANES: u32 = 5;

#[inline(always)]
fn set<T: Copy>(place: &mut [T; 32], mask: u32, value: impl Fn(usize) -> T) {
    if mask == FULL {
        for (lane, slot) in place.iter_mut().enumerate() {
            *slot = value(lane);
        }
    } else if mask.count_ones() < FEW_LANES {
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            place[lane] = value(lane);
            rest &= rest - 1;
        }
    } else {
        for (lane, slot) in place.iter_mut().enumerate() {
            let new = value(lane);
            *slot = if mask >> lane & 1 != 0 { new } else { *slot };
        }
    }
}

/// Writes a 32-bit register in the lanes of `mask`.
#[inline(always)]
pub(super) fn set_words(warp: &mut Warp, d: u32, mask: u32, value: impl Fn(usize) -> u32) {
    set(&mut warp.words[d as usize], mask, value);
}

/// Writes a 64-bit register in the lanes of `mask`.
#[inline(always)]
pub(super) fn set_wides(warp: &mut Warp, d: u32, mask: u32, value: impl Fn(usize) -> u64) {
    set(&mut warp.wides[d as usize], mask, value);
}

/// Writes a register of a class.
#[inline(always)]
pub(super) fn set_class(warp: &mut Warp, class: Class, d: u32, mask: u32, value: impl Fn(usize) -> u64) {
    match class {
        Class::Wide => set_wides(warp, d, mask, value),
        _ => set_words(warp, d, mask, |lane| value(lane) as u32),
    }
}

#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u32 {
    (0..32).fold(0, |mask, lane| mask | u32::from(holds(lane)) << lane)
}

impl Grid<'_> {
    #[inline(always)]
    pub(super) fn words(&self, warp: &Warp, src: Src) -> [u32; 32] {
        match src.slot() {
            Ok(constant) => [self.code.words[constant]; 32],
            Err(register) => warp.words[register],
        }
    }

    #[inline(always)]
    pub(super) fn wides(&self, warp: &Warp, src: Src) -> [u64; 32] {
        match src.slot() {
            Ok(constant) => [self.wides[constant]; 32],
            Err(register) => warp.wides[register],
        }
    }

    /// A source of any class, widened with zeros.
    #[inline(always)]
    pub(super) fn values(&self, warp: &Warp, class: Class, src: Src) -> [u64; 32] {
        if class == Class::Wide {
            return self.wides(warp, src);
        }
        self.words(warp, src).map(u64::from)
    }

    pub(super) fn compute(&self, warp: &mut Warp, mask: u32, op: &Op) {
        match *op {
            Op::Two { op, ty, mode, d, a, b } => self.two(warp, mask, (op, ty, mode), d, a, b),
            Op::One { op, ty, mode, d, a } => {
                let a = self.values(warp, ty.class(), a);
                let counts = matches!(op, One::Popc | One::Clz | One::Bfind | One::BfindShift);
                let class = if counts { Class::Word } else { ty.class() };
                set_class(warp, class, d, mask, |i| one(op, ty, mode, a[i]));
            }
            Op::Three { op, ty, mode, d, a, b, c } => self.three(warp, mask, (op, ty, mode), d, (a, b, c)),
            Op::Widen { ty, d, a, b, c } => self.widen(warp, mask, ty, d, (a, b, c)),
            Op::Move { class: Class::Wide, d, a } => {
                let a = self.wides(warp, a);
                set_wides(warp, d, mask, |i| a[i]);
            }
            Op::Move { d, a, .. } => {
                let a = self.words(warp, a);
                set_words(warp, d, mask, |i| a[i]);
            }
            Op::Compare { cmp, ty, flush, d, not_d, a, b, also } => {
                self.compare(warp, mask, (cmp, ty, flush), (d, not_d), (a, b), also)
            }
            Op::Select { class, d, a, b, p } => self.select(warp, mask, class, d, (a, b), p),
            Op::Generic { space, to_space, class, d, a } => {
                self.generic(warp, mask, (space, to_space, class), d, a)
            }
            Op::Map { class, generic, d, a, rank } => self.map(warp, mask, (class, generic), d, (a, rank)),
            ref other => self.compute_rare(warp, mask, other),
        }
    }

    fn compute_rare(&self, warp: &mut Warp, mask: u32, op: &Op) {
        match *op {
            Op::Bfi { ty, d, a, b, position, length } => {
                let (a, b) = (self.values(warp, ty.class(), a), self.values(warp, ty.class(), b));
                let (position, length) = (self.words(warp, position), self.words(warp, length));
                set_class(warp, ty.class(), d, mask, |i| {
                    bfi(ty, a[i], b[i], u64::from(position[i]), u64::from(length[i]))
                });
            }
            Op::Lop3 { table, d, a, b, c } => {
                let (a, b, c) = (self.words(warp, a), self.words(warp, b), self.words(warp, c));
                set_words(warp, d, mask, |i| lop3(table, a[i], b[i], c[i]));
            }
            Op::Set { cmp, ty, to, flush, d, a, b } => {
                let (a, b) = (self.values(warp, ty.class(), a), self.values(warp, ty.class(), b));
                let yes = if to == Ty::F32 { 1.0_f32.to_bits() } else { u32::MAX };
                set_words(warp, d, mask, |i| if compare(cmp, ty, flush, a[i], b[i]) { yes } else { 0 });
            }
            Op::Convert { to, from, how, class, d, a } => {
                let a = self.values(warp, class.1, a);
                let signed = to.signed();
                // A result narrower than its register is extended (PTX ISA, `cvt`). What stands above a
                // 16-bit register's bits does not matter: whoever reads one looks at those alone.
                set_class(warp, class.0, d, mask, |i| {
                    let value = convert(to, from, how, a[i]);
                    if signed { extend(to, value) as u64 } else { value }
                });
            }
            Op::ConvertPair { to, how, d, high, low } => {
                let (high, low) = (self.words(warp, high), self.words(warp, low));
                let scalar = to.half_of_pair().unwrap_or(Ty::F16);
                let part = |v: u32| convert(scalar, Ty::F32, how, u64::from(v)) as u32;
                set_words(warp, d, mask, |i| part(high[i]) << 16 | part(low[i]));
            }
            Op::Pack { class, bits, d, ref from } => {
                let parts: Vec<[u64; 32]> =
                    from.iter().map(|&(class, src)| self.values(warp, class, src)).collect();
                let keep = u64::MAX >> (64 - bits);
                set_class(warp, class, d, mask, |i| {
                    parts
                        .iter()
                        .rev()
                        .fold(0, |value, part| value.checked_shl(bits).unwrap_or(0) | (part[i] & keep))
                });
            }
            Op::Unpack { class, bits, a, ref to } => {
                let a = self.values(warp, class, a);
                let keep = u64::MAX >> (64 - bits);
                for (index, &(class, d)) in to.iter().enumerate() {
                    set_class(warp, class, d, mask, |i| (a[i] >> (bits * index as u32)) & keep);
                }
            }
            ref other => self.compute_pred(warp, mask, other),
        }
    }

    fn compute_pred(&self, warp: &mut Warp, mask: u32, op: &Op) {
        match *op {
            Op::PredTwo { op, d, a, b } => {
                let (a, b) = (warp.pred(a), warp.pred(b));
                warp.set_pred(d, mask, logic(op, a, b));
            }
            Op::PredMove { d, a } => {
                let a = warp.pred(a);
                warp.set_pred(d, mask, a);
            }
            Op::IsSpace { space, d, a } => {
                let a = self.wides(warp, a);
                let window = bits(|i| space_of(a[i]) == space);
                warp.set_pred(d, mask, window);
            }
            _ => {}
        }
    }

    fn two(&self, warp: &mut Warp, mask: u32, (op, ty, mode): (Two, Ty, Mode), d: u32, a: Src, b: Src) {
        macro_rules! words {
            ($op:ident, $ty:ident) => {{
                let (a, b) = (self.words(warp, a), self.words(warp, b));
                set_words(warp, d, mask, |i| {
                    two(Two::$op, Ty::$ty, Mode::PLAIN, u64::from(a[i]), u64::from(b[i])) as u32
                })
            }};
        }
        macro_rules! wides {
            ($op:ident) => {{
                let (a, b) = (self.wides(warp, a), self.wides(warp, b));
                set_wides(warp, d, mask, |i| two(Two::$op, Ty::U64, Mode::PLAIN, a[i], b[i]))
            }};
        }
        use Ty::{B32, B64, F32, S32, S64, U32, U64};
        match (op, ty) {
            (Two::Add, U32 | S32) => words!(Add, U32),
            (Two::Sub, U32 | S32) => words!(Sub, U32),
            (Two::Mul, U32 | S32) => words!(Mul, U32),
            (Two::And, B32) => words!(And, U32),
            (Two::Or, B32) => words!(Or, U32),
            (Two::Xor, B32) => words!(Xor, U32),
            (Two::Shl, B32) => words!(Shl, U32),
            (Two::Shr, B32 | U32) => words!(Shr, U32),
            (Two::Shr, S32) => words!(Shr, S32),
            (Two::Min, U32) => words!(Min, U32),
            (Two::Max, U32) => words!(Max, U32),
            (Two::Min, S32) => words!(Min, S32),
            (Two::Max, S32) => words!(Max, S32),
            (Two::Add, F32) if mode == Mode::PLAIN => words!(Add, F32),
            (Two::Sub, F32) if mode == Mode::PLAIN => words!(Sub, F32),
            (Two::Mul, F32) if mode == Mode::PLAIN => words!(Mul, F32),
            (Two::Add, U64 | S64) => wides!(Add),
            (Two::Sub, U64 | S64) => wides!(Sub),
            (Two::And, B64) => wides!(And),
            (Two::Or, B64) => wides!(Or),
            (Two::Xor, B64) => wides!(Xor),
            _ => {
                let shift = matches!(op, Two::Shl | Two::Shr);
                let a = self.values(warp, ty.class(), a);
                let b = self.values(warp, if shift { Class::Word } else { ty.class() }, b);
                set_class(warp, ty.class(), d, mask, |i| two(op, ty, mode, a[i], b[i]));
            }
        }
    }

    fn three(
        &self,
        warp: &mut Warp,
        mask: u32,
        (op, ty, mode): (Three, Ty, Mode),
        d: u32,
        (a, b, c): (Src, Src, Src),
    ) {
        match (op, ty) {
            (Three::Mad, Ty::U32 | Ty::S32) => {
                let (a, b, c) = (self.words(warp, a), self.words(warp, b), self.words(warp, c));
                set_words(warp, d, mask, |i| a[i].wrapping_mul(b[i]).wrapping_add(c[i]));
            }
            _ => {
                let fields = op == Three::Bfe;
                let class = ty.class();
                let rest = if fields { Class::Word } else { class };
                let (a, b, c) =
                    (self.values(warp, class, a), self.values(warp, rest, b), self.values(warp, rest, c));
                set_class(warp, class, d, mask, |i| three(op, ty, mode, a[i], b[i], c[i]));
            }
        }
    }

    fn widen(&self, warp: &mut Warp, mask: u32, ty: Ty, d: u32, (a, b, c): (Src, Src, Option<Src>)) {
        let (a, b) = (self.words(warp, a), self.words(warp, b));
        match ty {
            Ty::U32 | Ty::S32 => {
                let c = c.map_or([0; 32], |c| self.wides(warp, c));
                if ty == Ty::U32 {
                    set_wides(warp, d, mask, |i| (u64::from(a[i]) * u64::from(b[i])).wrapping_add(c[i]));
                } else {
                    set_wides(warp, d, mask, |i| {
                        ((i64::from(a[i] as i32) * i64::from(b[i] as i32)) as u64).wrapping_add(c[i])
                    });
                }
            }
            _ => {
                let c = c.map_or([0; 32], |c| self.words(warp, c));
                set_words(warp, d, mask, |i| {
                    ((extend(ty, u64::from(a[i])) * extend(ty, u64::from(b[i]))) as u32).wrapping_add(c[i])
                });
            }
        }
    }

    fn compare(
        &self,
        warp: &mut Warp,
        mask: u32,
        (cmp, ty, flush): (Compare, Ty, bool),
        (d, not_d): (u32, u32),
        (a, b): (Src, Src),
        also: Option<(Two, PredSrc)>,
    ) {
        macro_rules! words {
            ($cmp:ident, $ty:ident) => {{
                let (a, b) = (self.words(warp, a), self.words(warp, b));
                bits(|i| compare(Compare::$cmp, Ty::$ty, false, u64::from(a[i]), u64::from(b[i])))
            }};
        }
        use Ty::{B32, S32, U32};
        let found = match (cmp, ty) {
            (Compare::Eq, U32 | S32 | B32) => words!(Eq, U32),
            (Compare::Ne, U32 | S32 | B32) => words!(Ne, U32),
            (Compare::Lt, U32) => words!(Lt, U32),
            (Compare::Le, U32) => words!(Le, U32),
            (Compare::Gt, U32) => words!(Gt, U32),
            (Compare::Ge, U32) => words!(Ge, U32),
            (Compare::Lt, S32) => words!(Lt, S32),
            (Compare::Le, S32) => words!(Le, S32),
            (Compare::Gt, S32) => words!(Gt, S32),
            (Compare::Ge, S32) => words!(Ge, S32),
            _ => {
                let (a, b) = (self.values(warp, ty.class(), a), self.values(warp, ty.class(), b));
                bits(|i| compare(cmp, ty, flush, a[i], b[i]))
            }
        };
        let (yes, no) = match also {
            Some((op, pred)) => (logic(op, found, warp.pred(pred)), logic(op, !found, warp.pred(pred))),
            None => (found, !found),
        };
        warp.set_pred(d, mask, yes);
        if not_d != NONE {
            warp.set_pred(not_d, mask, no);
        }
    }

    fn select(&self, warp: &mut Warp, mask: u32, class: Class, d: u32, (a, b): (Src, Src), p: PredSrc) {
        let p = warp.pred(p);
        if class == Class::Wide {
            let (a, b) = (self.wides(warp, a), self.wides(warp, b));
            set_wides(warp, d, mask, |i| if p >> i & 1 != 0 { a[i] } else { b[i] });
        } else {
            let (a, b) = (self.words(warp, a), self.words(warp, b));
            set_words(warp, d, mask, |i| if p >> i & 1 != 0 { a[i] } else { b[i] });
        }
    }

    fn generic(
        &self,
        warp: &mut Warp,
        mask: u32,
        (space, to_space, class): (Space, bool, Class),
        d: u32,
        a: Src,
    ) {
        let a = self.values(warp, class, a);
        let window = match space {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Const => CONST_WINDOW,
            Space::Param => PARAM_WINDOW,
            Space::Global | Space::Generic => 0,
        };
        let window = if to_space { window.wrapping_neg() } else { window };
        set_class(warp, class, d, mask, |i| a[i].wrapping_add(window));
    }

    /// `mapa`: the same variable in the block of another rank.
    fn map(
        &self,
        warp: &mut Warp,
        mask: u32,
        (class, generic): (Class, bool),
        d: u32,
        (a, rank): (Src, Src),
    ) {
        let (a, rank) = (self.values(warp, class, a), self.words(warp, rank));
        let window = if generic { SHARED_WINDOW } else { 0 };
        let low = (1 << RANK_SHIFT) - 1;
        set_class(warp, class, d, mask, |i| {
            let own = a[i].wrapping_sub(window) & low;
            window | own | (u64::from(rank[i]) + 1) << RANK_SHIFT
        });
    }
}

/// `op` on masks.
fn logic(op: Two, a: u32, b: u32) -> u32 {
    match op {
        Two::And => a & b,
        Two::Or => a | b,
        Two::Xor => a ^ b,
        _ => 0,
    }
}

/// Every bit looked up in the table by the three bits above it.
fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8).filter(|index| table >> index & 1 != 0).fold(0, |found, index| {
        let pick = |value: u32, bit: u32| if index >> bit & 1 != 0 { value } else { !value };
        found | (pick(a, 2) & pick(b, 1) & pick(c, 0))
    })
}

/// The state space of a generic address.
#[inline(always)]
pub(super) fn space_of(address: u64) -> Space {
    match address >> 32 {
        1 => Space::Shared,
        2 => Space::Local,
        3 => Space::Const,
        4 => Space::Param,
        _ => Space::Global,
    }
}
