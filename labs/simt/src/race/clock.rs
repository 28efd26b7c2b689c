//! Vector clocks for many thousands of threads: a persistent 32-way tree whose
//! leaves are warps and whose second level is blocks.
//!
//! Threads that met at a barrier share one tree, so a clock costs a pointer;
//! joining two clocks walks only where they differ.

use std::array;
use std::rc::Rc;

/// Children of a node; also the lanes of a warp and the warps of a block.
const FANOUT: usize = 32;

/// A thread, as the clocks index it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadId {
    /// `block * 32 + warp in the block`.
    pub(super) warp: u32,
    /// 0 to 31.
    pub(super) lane: u32,
}

impl ThreadId {
    /// The linear index of the thread's block.
    pub(super) fn block(self) -> u32 {
        block_of(self.warp)
    }

    /// The thread's bit in a mask of lanes.
    pub(super) fn bit(self) -> u32 {
        1 << (self.lane % 32)
    }
}

/// The block to which a warp (as in [`ThreadId`]) belongs.
pub(super) fn block_of(warp: u32) -> u32 {
    warp / FANOUT as u32
}

#[derive(Clone, Debug)]
enum Node {
    /// The epochs of a warp's lanes; 0 is "nothing known".
    Leaf([u32; FANOUT]),
    Inner([Option<Rc<Node>>; FANOUT]),
}

impl Node {
    fn empty(height: u32) -> Self {
        if height == 0 { Self::Leaf([0; FANOUT]) } else { Self::Inner(array::from_fn(|_| None)) }
    }
}

/// For every thread, the last of its epochs that is known to have happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    root: Option<Rc<Node>>,
    /// Levels above the leaves.
    height: u32,
}

impl Clock {
    /// The known epochs of a warp's lanes, if anything is known of it.
    pub(super) fn warp(&self, warp: u32) -> Option<&[u32; FANOUT]> {
        if !fits(warp, self.height) {
            return None;
        }
        let mut node = self.root.as_deref()?;
        let mut level = self.height;
        loop {
            match node {
                Node::Leaf(epochs) => return Some(epochs),
                Node::Inner(children) => {
                    level = level.saturating_sub(1);
                    node = children[digit(warp, level)].as_deref()?;
                }
            }
        }
    }

    /// The known epoch of a thread.
    pub(super) fn get(&self, thread: ThreadId) -> u32 {
        self.warp(thread.warp).map_or(0, |epochs| epochs[thread.lane as usize % FANOUT])
    }

    /// Learns that `thread` has reached `epoch`.
    pub(super) fn learn(&mut self, thread: ThreadId, epoch: u32) {
        while !fits(thread.warp, self.height) {
            self.lift();
        }
        let mut level = self.height;
        let mut slot = &mut self.root;
        loop {
            let node = slot.get_or_insert_with(|| Rc::new(Node::empty(level)));
            match Rc::make_mut(node) {
                Node::Leaf(epochs) => {
                    let known = &mut epochs[thread.lane as usize % FANOUT];
                    *known = epoch.max(*known);
                    return;
                }
                Node::Inner(children) => {
                    level = level.saturating_sub(1);
                    slot = &mut children[digit(thread.warp, level)];
                }
            }
        }
    }

    /// Learns all that `other` knows.
    pub(super) fn join(&mut self, other: &Clock) {
        let Some(other_root) = &other.root else {
            return;
        };
        let Some(root) = &self.root else {
            *self = other.clone();
            return;
        };
        if Rc::ptr_eq(root, other_root) {
            return;
        }
        if self.height >= other.height {
            let mut lifted = other.clone();
            while lifted.height < self.height {
                lifted.lift();
            }
            self.root = joined(&self.root, &lifted.root);
        } else {
            while self.height < other.height {
                self.lift();
            }
            self.root = joined(&self.root, &other.root);
        }
    }

    /// Whether the two are one tree: then a join changes nothing.
    pub(super) fn is_same(&self, other: &Clock) -> bool {
        match (&self.root, &other.root) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Adds a level, so that larger warp numbers fit.
    fn lift(&mut self) {
        self.height += 1;
        if let Some(root) = self.root.take() {
            let mut children = array::from_fn(|_| None);
            children[0] = Some(root);
            self.root = Some(Rc::new(Node::Inner(children)));
        }
    }
}

/// Whether a tree of this height has a leaf for the warp.
fn fits(warp: u32, height: u32) -> bool {
    u64::from(warp) >> (5 * height).min(63) == 0
}

fn digit(warp: u32, level: u32) -> usize {
    (u64::from(warp) >> (5 * level).min(63)) as usize % FANOUT
}

/// The join of two trees of one height; one of the two itself where it already
/// knows what the other does, so that equal knowledge stays one tree.
fn joined(a: &Option<Rc<Node>>, b: &Option<Rc<Node>>) -> Option<Rc<Node>> {
    let (Some(node_a), Some(node_b)) = (a, b) else {
        return a.clone().or_else(|| b.clone());
    };
    // Most joins bring nothing new or replace all: asked first, since it allocates nothing.
    if covers(a, b) {
        return a.clone();
    }
    if covers(b, a) {
        return b.clone();
    }
    let node = match (&**node_a, &**node_b) {
        (Node::Leaf(x), Node::Leaf(y)) => Node::Leaf(array::from_fn(|i| x[i].max(y[i]))),
        (Node::Inner(x), Node::Inner(y)) => Node::Inner(array::from_fn(|i| joined(&x[i], &y[i]))),
        // Trees of one height are leaves and inner nodes at the same levels.
        (_, _) => return a.clone(),
    };
    Some(Rc::new(node))
}

/// Whether `a` knows all that `b` knows.
fn covers(a: &Option<Rc<Node>>, b: &Option<Rc<Node>>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return b.is_none();
    };
    if Rc::ptr_eq(a, b) {
        return true;
    }
    match (&**a, &**b) {
        (Node::Leaf(x), Node::Leaf(y)) => x.iter().zip(y).all(|(x, y)| x >= y),
        (Node::Inner(x), Node::Inner(y)) => x.iter().zip(y).all(|(x, y)| covers(x, y)),
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(block: u32, thread: u32) -> ThreadId {
        ThreadId { warp: block * 32 + thread / 32, lane: thread % 32 }
    }

    #[test]
    fn an_empty_clock_knows_nothing() {
        let clock = Clock::default();
        assert_eq!(clock.get(thread(0, 0)), 0);
        assert_eq!(clock.get(thread(70_000, 1023)), 0);
    }

    #[test]
    fn learning_keeps_the_later_epoch() {
        let mut clock = Clock::default();
        clock.learn(thread(3, 40), 7);
        clock.learn(thread(3, 40), 5);
        assert_eq!(clock.get(thread(3, 40)), 7);
        assert_eq!(clock.get(thread(3, 41)), 0);
    }

    #[test]
    fn a_clock_grows_past_its_height_and_keeps_what_it_knew() {
        let mut clock = Clock::default();
        clock.learn(thread(0, 1), 2);
        clock.learn(thread(100_000, 1), 3);
        assert_eq!(clock.get(thread(0, 1)), 2);
        assert_eq!(clock.get(thread(100_000, 1)), 3);
    }

    #[test]
    fn a_join_takes_the_maximum_whatever_the_heights() {
        let mut low = Clock::default();
        low.learn(thread(0, 0), 9);
        low.learn(thread(0, 1), 1);
        let mut high = Clock::default();
        high.learn(thread(0, 1), 4);
        high.learn(thread(5_000, 0), 2);
        for (mut into, from) in [(low.clone(), high.clone()), (high, low)] {
            into.join(&from);
            assert_eq!(into.get(thread(0, 0)), 9);
            assert_eq!(into.get(thread(0, 1)), 4);
            assert_eq!(into.get(thread(5_000, 0)), 2);
        }
    }

    #[test]
    fn a_join_that_adds_nothing_shares_the_tree() {
        let mut less = Clock::default();
        less.learn(thread(0, 0), 1);
        let mut more = less.clone();
        more.learn(thread(1, 0), 1);
        more.learn(thread(0, 0), 2);
        less.join(&more);
        assert!(less.is_same(&more));
        let before = more.clone();
        let mut old = Clock::default();
        old.learn(thread(1, 0), 1);
        more.join(&old);
        assert!(more.is_same(&before));
    }

    #[test]
    fn clones_do_not_change_each_other() {
        let mut a = Clock::default();
        a.learn(thread(0, 0), 1);
        let b = a.clone();
        a.learn(thread(0, 0), 2);
        assert_eq!(b.get(thread(0, 0)), 1);
    }
}
