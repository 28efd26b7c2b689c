//! An instruction's modifiers as a set: each is taken by whoever understands
//! it, and one that is left over is an error.

use crate::event::{Order, Scope};
use crate::scalar::{Compare, Mode};
use crate::types::{Round, Space, Ty};

/// Modifiers not yet taken. Types are kept apart, in their order.
pub(super) struct Modifiers<'a> {
    words: Vec<&'a str>,
    types: Vec<Ty>,
    taken_types: usize,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(words: &'a [String]) -> Modifiers<'a> {
        let mut set = Modifiers { words: Vec::new(), types: Vec::new(), taken_types: 0 };
        for word in words {
            match Ty::from_name(word) {
                Some(ty) => set.types.push(ty),
                None => set.words.push(word),
            }
        }
        set
    }

    /// Whether `word` is there; takes it.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.words.iter().position(|w| *w == word);
        if let Some(index) = found {
            self.words.remove(index);
        }
        found.is_some()
    }

    /// The first of `choices` that is there.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        choices.iter().find(|(word, _)| self.take(word)).map(|&(_, value)| value)
    }

    /// The next type in the order written.
    pub(super) fn ty(&mut self) -> Result<Ty, String> {
        let ty = self.types.get(self.taken_types).copied();
        self.taken_types += 1;
        ty.ok_or_else(|| "a type is missing".to_owned())
    }

    /// An error when something is left.
    pub(super) fn finish(&self) -> Result<(), String> {
        if let Some(word) = self.words.first() {
            return Err(format!("modifier '.{word}' is not supported here"));
        }
        if self.taken_types < self.types.len() {
            return Err("one type too many".to_owned());
        }
        Ok(())
    }

    pub(super) fn space(&mut self) -> Option<Space> {
        self.one_of(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::Shared),
            ("local", Space::Local),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
            ("const", Space::Const),
        ])
    }

    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.one_of(&[
            ("cta", Scope::Block),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ])
    }

    pub(super) fn order(&mut self) -> Option<Order> {
        self.one_of(&[
            ("weak", Order::Weak),
            ("volatile", Order::Volatile),
            ("relaxed", Order::Relaxed),
            ("acquire", Order::Acquire),
            ("release", Order::Release),
            ("acq_rel", Order::AcqRel),
        ])
    }

    /// Rounding, flushing and saturation of float arithmetic.
    pub(super) fn mode(&mut self) -> Mode {
        let round = self.one_of(&[
            ("rn", Round::Nearest),
            ("rz", Round::Zero),
            ("rm", Round::Down),
            ("rp", Round::Up),
        ]);
        Mode { round: round.unwrap_or_default(), flush: self.take("ftz"), saturate: self.take("sat") }
    }

    pub(super) fn compare(&mut self) -> Option<Compare> {
        self.one_of(&[
            ("eq", Compare::Eq),
            ("ne", Compare::Ne),
            ("lt", Compare::Lt),
            ("le", Compare::Le),
            ("gt", Compare::Gt),
            ("ge", Compare::Ge),
            ("lo", Compare::Lt),
            ("ls", Compare::Le),
            ("hi", Compare::Gt),
            ("hs", Compare::Ge),
            ("equ", Compare::Equ),
            ("neu", Compare::Neu),
            ("ltu", Compare::Ltu),
            ("leu", Compare::Leu),
            ("gtu", Compare::Gtu),
            ("geu", Compare::Geu),
            ("num", Compare::Num),
            ("nan", Compare::Nan),
        ])
    }

    /// Hints about caches, which change no result and no count here.
    pub(super) fn ignore_cache_hints(&mut self) {
        self.words.retain(|word| {
            !matches!(*word, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc")
                && !matches!(
                    *word,
                    "L1::evict_normal"
                        | "L1::evict_unchanged"
                        | "L1::evict_first"
                        | "L1::evict_last"
                        | "L1::no_allocate"
                )
                && !matches!(*word, "L2::64B" | "L2::128B" | "L2::256B")
        });
    }
}
