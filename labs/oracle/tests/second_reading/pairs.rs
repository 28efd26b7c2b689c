//! A relation: a set of pairs of operations.

use std::ops::{BitAnd, BitOr};

/// Most operations of a program.
const MOST: usize = 24;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    /// By the first of a pair, a bit for each second.
    rows: [u32; MOST],
}

impl Pairs {
    pub(crate) fn insert(&mut self, (a, b): (usize, usize)) {
        self.rows[a] |= 1 << b;
    }

    pub(crate) fn with(mut self, pair: (usize, usize)) -> Pairs {
        self.insert(pair);
        self
    }

    pub(crate) fn contains(&self, (a, b): (usize, usize)) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (usize, usize)> {
        (0..MOST).flat_map(move |a| (0..MOST).map(move |b| (a, b))).filter(move |pair| self.contains(*pair))
    }

    /// First one relation, then the other.
    pub(crate) fn then(self, other: Pairs) -> Pairs {
        let mut found = Pairs::default();
        for (a, row) in self.rows.iter().enumerate() {
            let through = (0..MOST).filter(|b| row >> b & 1 == 1);
            found.rows[a] = through.fold(0, |all, b| all | other.rows[b]);
        }
        found
    }

    /// Adds what follows until nothing more does.
    pub(crate) fn closed(self, more: impl Fn(Pairs) -> Pairs) -> Pairs {
        let larger = self | more(self);
        if larger == self { self } else { larger.closed(more) }
    }

    pub(crate) fn is_acyclic(self) -> bool {
        let closed = self.closed(|all| all.then(self));
        (0..MOST).all(|a| !closed.contains((a, a)))
    }

    pub(crate) fn is_transitive(self) -> bool {
        self.then(self) | self == self
    }
}

impl BitOr for Pairs {
    type Output = Pairs;

    fn bitor(self, other: Pairs) -> Pairs {
        Pairs { rows: std::array::from_fn(|a| self.rows[a] | other.rows[a]) }
    }
}

impl BitAnd for Pairs {
    type Output = Pairs;

    fn bitand(self, other: Pairs) -> Pairs {
        Pairs { rows: std::array::from_fn(|a| self.rows[a] & other.rows[a]) }
    }
}

impl FromIterator<(usize, usize)> for Pairs {
    fn from_iter<T: IntoIterator<Item = (usize, usize)>>(pairs: T) -> Pairs {
        pairs.into_iter().fold(Pairs::default(), Pairs::with)
    }
}
