//! Relations between events, as a row of bits an event.

/// Most events a test may have.
pub(crate) const MOST: usize = 64;

/// A relation between the events 0 to n-1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    rows: Vec<u64>,
}

impl Relation {
    pub(crate) fn empty(events: usize) -> Relation {
        Relation { rows: vec![0; events] }
    }

    /// Every pair of which `related` is true.
    pub(crate) fn of(events: usize, related: impl Fn(usize, usize) -> bool) -> Relation {
        let row = |a| (0..events).filter(|b| related(a, *b)).fold(0, |row, b| row | 1 << b);
        Relation { rows: (0..events).map(row).collect() }
    }

    pub(crate) fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    pub(crate) fn after(&self, a: usize) -> impl Iterator<Item = usize> + use<> {
        let mut row = self.rows[a];
        std::iter::from_fn(move || {
            let next = (row != 0).then(|| row.trailing_zeros() as usize);
            row &= row.wrapping_sub(1);
            next
        })
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        (0..self.rows.len()).flat_map(|a| self.after(a).map(move |b| (a, b)))
    }

    pub(crate) fn union(&self, other: &Relation) -> Relation {
        Relation { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a | b).collect() }
    }

    pub(crate) fn filter(&self, keep: impl Fn(usize, usize) -> bool) -> Relation {
        let mut kept = Relation::empty(self.rows.len());
        self.pairs().filter(|(a, b)| keep(*a, *b)).for_each(|(a, b)| kept.add(a, b));
        kept
    }

    /// Pairs a, c with a b between: first this, then the other.
    pub(crate) fn then(&self, other: &Relation) -> Relation {
        let row = |a| self.after(a).fold(0, |row, b| row | other.rows[b]);
        Relation { rows: (0..self.rows.len()).map(row).collect() }
    }

    /// The transitive closure.
    pub(crate) fn closure(&self) -> Relation {
        let mut closed = self.clone();
        for middle in 0..closed.rows.len() {
            let through = closed.rows[middle];
            for row in &mut closed.rows {
                if *row >> middle & 1 == 1 {
                    *row |= through;
                }
            }
        }
        closed
    }

    /// An event that this relation, a closure, leads back to.
    pub(crate) fn loops(&self) -> Option<usize> {
        (0..self.rows.len()).find(|a| self.has(*a, *a))
    }
}

/// The shortest way from `from` to `to` along named relations, at least one step: each event reached, and by which.
pub(crate) fn path(
    relations: &[(&'static str, &Relation)],
    from: usize,
    to: usize,
) -> Option<Vec<(&'static str, usize)>> {
    let events = relations.first()?.1.rows.len();
    let mut came: Vec<Option<(usize, &'static str)>> = vec![None; events];
    let mut frontier = vec![from];
    while !frontier.is_empty() && came[to].is_none() {
        let mut next = Vec::new();
        for event in frontier {
            for (name, relation) in relations {
                for reached in relation.after(event).filter(|reached| *reached != event) {
                    if came[reached].is_none() {
                        came[reached] = Some((event, *name));
                        next.push(reached);
                    }
                }
            }
        }
        frontier = next;
    }
    let mut steps = Vec::new();
    let mut event = to;
    loop {
        let (before, name) = came[event]?;
        steps.push((name, event));
        event = before;
        if event == from {
            break;
        }
    }
    steps.reverse();
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_paths_and_loops() {
        let mut chain = Relation::empty(4);
        [(0, 1), (1, 2), (2, 3)].iter().for_each(|(a, b)| chain.add(*a, *b));
        let closed = chain.closure();
        assert!(closed.has(0, 3) && !closed.has(3, 0) && closed.loops().is_none());
        assert_eq!(chain.then(&chain).pairs().collect::<Vec<_>>(), [(0, 2), (1, 3)]);
        let way = path(&[("a", &chain)], 0, 2).map(|way| way.iter().map(|step| step.1).collect::<Vec<_>>());
        assert_eq!(way, Some(vec![1, 2]));
        assert_eq!(path(&[("a", &chain)], 3, 0), None);
        chain.add(3, 1);
        assert_eq!(chain.closure().loops(), Some(1));
        assert_eq!(path(&[("a", &chain)], 1, 1).map(|way| way.len()), Some(3));
    }
}
