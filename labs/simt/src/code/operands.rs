//! Which registers an instruction reads and writes.

use super::{Address, Collective, LandingStep, NONE, Op, PredSrc, Src};
use crate::types::{Class, Ty};

/// A register: its class and slot.
pub(crate) type Register = (Class, u32);

/// What an instruction touches.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    pub(crate) reads: Vec<Register>,
    pub(crate) writes: Vec<Register>,
}

impl Operands {
    fn read(&mut self, class: Class, src: Src) {
        if let Err(slot) = src.slot() {
            self.reads.push((class, slot as u32));
        }
    }

    fn read_all(&mut self, class: Class, sources: &[Src]) {
        sources.iter().for_each(|&s| self.read(class, s));
    }

    fn read_pred(&mut self, src: PredSrc) {
        if let PredSrc::Register(cond) = src {
            self.reads.push((Class::Pred, cond.slot));
        }
    }

    fn write(&mut self, class: Class, slot: u32) {
        if slot != NONE {
            self.writes.push((class, slot));
        }
    }

    fn address(&mut self, at: &Address) {
        self.read(at.class, at.base);
    }
}

/// The registers of `op`; its guard is not among them.
pub(crate) fn operands(op: &Op) -> Operands {
    let mut o = Operands::default();
    match op {
        Op::Two { op, ty, d, a, b, .. } => {
            let shift = matches!(op, crate::scalar::Two::Shl | crate::scalar::Two::Shr);
            o.read(ty.class(), *a);
            o.read(if shift { Class::Word } else { ty.class() }, *b);
            o.write(ty.class(), *d);
        }
        Op::One { op, ty, d, a, .. } => {
            use crate::scalar::One;
            let counts = matches!(op, One::Popc | One::Clz | One::Bfind | One::BfindShift);
            o.read(ty.class(), *a);
            o.write(if counts { Class::Word } else { ty.class() }, *d);
        }
        Op::Three { op, ty, d, a, b, c, .. } => {
            let rest = if *op == crate::scalar::Three::Bfe { Class::Word } else { ty.class() };
            o.read(ty.class(), *a);
            o.read_all(rest, &[*b, *c]);
            o.write(ty.class(), *d);
        }
        Op::Widen { ty, d, a, b, c } => {
            let wide = if ty.bytes() == 4 { Class::Wide } else { Class::Word };
            o.read_all(Class::Word, &[*a, *b]);
            c.iter().for_each(|&c| o.read(wide, c));
            o.write(wide, *d);
        }
        Op::Bfi { ty, d, a, b, position, length } => {
            o.read_all(ty.class(), &[*a, *b]);
            o.read_all(Class::Word, &[*position, *length]);
            o.write(ty.class(), *d);
        }
        Op::Lop3 { d, a, b, c, .. } => {
            o.read_all(Class::Word, &[*a, *b, *c]);
            o.write(Class::Word, *d);
        }
        Op::Compare { ty, d, not_d, a, b, also, .. } => {
            o.read_all(ty.class(), &[*a, *b]);
            also.iter().for_each(|(_, p)| o.read_pred(*p));
            o.write(Class::Pred, *d);
            o.write(Class::Pred, *not_d);
        }
        Op::Set { ty, d, a, b, .. } => {
            o.read_all(ty.class(), &[*a, *b]);
            o.write(Class::Word, *d);
        }
        Op::Select { class, d, a, b, p } => {
            o.read_all(*class, &[*a, *b]);
            o.read_pred(*p);
            o.write(*class, *d);
        }
        Op::Move { class, d, a } | Op::Generic { class, d, a, .. } => {
            o.read(*class, *a);
            o.write(*class, *d);
        }
        other => rare(&mut o, other),
    }
    o
}

fn rare(o: &mut Operands, op: &Op) {
    match op {
        Op::Convert { class, d, a, .. } => {
            o.read(class.1, *a);
            o.write(class.0, *d);
        }
        Op::ConvertPair { d, high, low, .. } => {
            o.read_all(Class::Word, &[*high, *low]);
            o.write(Class::Word, *d);
        }
        Op::Special { class, d, .. } => o.write(*class, *d),
        Op::ActiveMask { d } => o.write(Class::Word, *d),
        Op::Sleep { nanoseconds } => o.read(Class::Word, *nanoseconds),
        Op::Pack { class, d, from, .. } => {
            from.iter().for_each(|&(class, src)| o.read(class, src));
            o.write(*class, *d);
        }
        Op::Unpack { class, a, to, .. } => {
            o.read(*class, *a);
            to.iter().for_each(|&(class, d)| o.write(class, d));
        }
        Op::PredTwo { d, a, b, .. } => {
            o.read_pred(*a);
            o.read_pred(*b);
            o.write(Class::Pred, *d);
        }
        Op::PredMove { d, a } => {
            o.read_pred(*a);
            o.write(Class::Pred, *d);
        }
        Op::IsSpace { d, a, .. } => {
            o.read(Class::Wide, *a);
            o.write(Class::Pred, *d);
        }
        Op::Map { class, d, a, rank, .. } => {
            o.read(*class, *a);
            o.read(Class::Word, *rank);
            o.write(*class, *d);
        }
        other => memory(o, other),
    }
}

fn memory(o: &mut Operands, op: &Op) {
    match op {
        Op::Load(load) => {
            o.address(&load.at);
            load.to.iter().for_each(|&d| o.write(load.class, d));
        }
        Op::Store(store) => {
            o.address(&store.at);
            o.read_all(store.class, &store.from);
        }
        Op::Atomic(atomic) => {
            o.address(&atomic.at);
            o.read_all(atomic.ty.class(), &atomic.from);
            atomic.compare.iter().for_each(|&c| o.read(atomic.ty.class(), c));
            atomic.to.iter().for_each(|&d| o.write(atomic.ty.class(), d));
        }
        Op::Landing(landing) => {
            o.address(&landing.at);
            match landing.step {
                LandingStep::Init { count: operand }
                | LandingStep::Expect { bytes: operand }
                | LandingStep::Land { bytes: operand } => o.read(Class::Word, operand),
                LandingStep::Try { d, parity } => {
                    o.read(Class::Word, parity);
                    o.write(Class::Pred, d);
                }
            }
        }
        Op::Bulk(bulk) => {
            o.address(&bulk.to);
            o.address(&bulk.from);
            o.read(Class::Word, bulk.bytes);
        }
        Op::Bar(bar) => {
            o.read(Class::Word, bar.id);
            bar.count.iter().for_each(|&c| o.read(Class::Word, c));
            bar.pred.iter().for_each(|&p| o.read_pred(p));
            let class = if bar.kind == super::BarKind::Popc { Class::Word } else { Class::Pred };
            o.write(class, bar.to);
        }
        Op::Collective { mask, what } => {
            o.read(Class::Word, *mask);
            collective(o, what);
        }
        _ => {}
    }
}

fn collective(o: &mut Operands, what: &Collective) {
    let word = Class::Word;
    match what {
        Collective::Shuffle { d, p, a, b, c, .. } => {
            o.read_all(word, &[*a, *b, *c]);
            o.write(word, *d);
            o.write(Class::Pred, *p);
        }
        Collective::Vote { kind, d, pred } => {
            o.read_pred(*pred);
            o.write(if *kind == super::Vote::Ballot { word } else { Class::Pred }, *d);
        }
        Collective::MatchAny { ty, d, a } => {
            o.read(class_of(*ty), *a);
            o.write(word, *d);
        }
        Collective::MatchAll { ty, d, p, a } => {
            o.read(class_of(*ty), *a);
            o.write(word, *d);
            o.write(Class::Pred, *p);
        }
        Collective::Redux { d, a, .. } => {
            o.read(word, *a);
            o.write(word, *d);
        }
        Collective::Elect { d, p } => {
            o.write(word, *d);
            o.write(Class::Pred, *p);
        }
        Collective::Barrier => {}
    }
}

fn class_of(ty: Ty) -> Class {
    ty.class()
}
