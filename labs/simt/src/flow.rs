//! Where the lanes of a branch meet again: its immediate post-dominator
//! (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001,
//! on the graph turned round).

use crate::code::{Instr, NONE, Op};

/// Fills in `meet` of every conditional branch; [`NONE`] where only the kernel's end is common.
pub(crate) fn find_meeting_points(instrs: &mut [Instr]) {
    let leaders = leaders(instrs);
    let block_of = |at: u32| leaders.partition_point(|&l| l <= at) - 1;
    let successors = successors(instrs, &leaders, &block_of);
    let post = post_dominators(&successors);
    for at in 0..instrs.len() as u32 {
        let block = block_of(at);
        let Some(instr) = instrs.get_mut(at as usize) else { continue };
        if let (Op::Branch { meet, .. }, true) = (&mut instr.op, instr.guard.is_some()) {
            let exit = leaders.len();
            let found = post.get(block).copied().flatten().filter(|&b| b < exit);
            *meet = found.and_then(|b| leaders.get(b).copied()).unwrap_or(NONE);
        }
    }
}

fn leaders(instrs: &[Instr]) -> Vec<u32> {
    let mut leaders = vec![0];
    for (at, instr) in instrs.iter().enumerate() {
        match instr.op {
            Op::Branch { target, .. } => leaders.extend([target, at as u32 + 1]),
            Op::Exit | Op::Trap(_) => leaders.push(at as u32 + 1),
            _ => {}
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    leaders.retain(|&l| l < instrs.len() as u32);
    leaders
}

/// Blocks by index; one past the last is the kernel's end.
fn successors(instrs: &[Instr], leaders: &[u32], block_of: &impl Fn(u32) -> usize) -> Vec<Vec<usize>> {
    let exit = leaders.len();
    let mut found = Vec::with_capacity(exit + 1);
    for block in 0..exit {
        let end = leaders.get(block + 1).map_or(instrs.len(), |&l| l as usize);
        let next = if block + 1 < exit { block + 1 } else { exit };
        let last = end.checked_sub(1).and_then(|at| instrs.get(at));
        found.push(match last {
            Some(Instr { op: Op::Branch { target, .. }, guard, .. }) => {
                let target = block_of(*target);
                if guard.is_some() { vec![target, next] } else { vec![target] }
            }
            Some(Instr { op: Op::Exit | Op::Trap(_), guard, .. }) => {
                // Lanes that end are not waited for: what counts is where the others meet.
                if guard.is_some() { vec![next] } else { vec![exit] }
            }
            _ => vec![next],
        });
    }
    found.push(Vec::new());
    found
}

fn post_dominators(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let exit = successors.len() - 1;
    let order = reverse_post_order(successors);
    let mut rank = vec![usize::MAX; successors.len()];
    for (index, &block) in order.iter().enumerate() {
        if let Some(slot) = rank.get_mut(block) {
            *slot = index;
        }
    }
    let mut post: Vec<Option<usize>> = vec![None; successors.len()];
    if let Some(slot) = post.get_mut(exit) {
        *slot = Some(exit);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().filter(|&&b| b != exit) {
            let known = successors
                .get(block)
                .into_iter()
                .flatten()
                .filter(|&&s| post.get(s).copied().flatten().is_some());
            let new = known.copied().reduce(|a, b| intersect(a, b, &post, &rank));
            let slot = post.get_mut(block);
            if let Some(slot) = slot.filter(|s| **s != new) {
                *slot = new;
                changed = true;
            }
        }
    }
    post
}

fn intersect(a: usize, b: usize, post: &[Option<usize>], rank: &[usize]) -> usize {
    let rank = |x: usize| rank.get(x).copied().unwrap_or(0);
    let up = |x: usize| post.get(x).copied().flatten().unwrap_or(x);
    let (mut a, mut b) = (a, b);
    while a != b {
        while rank(a) > rank(b) {
            a = up(a);
        }
        while rank(b) > rank(a) {
            b = up(b);
        }
    }
    a
}

/// Blocks that reach the end, in reverse post-order of the graph turned round.
fn reverse_post_order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (block, next) in successors.iter().enumerate() {
        for &s in next {
            if let Some(list) = predecessors.get_mut(s) {
                list.push(block);
            }
        }
    }
    let mut seen = vec![false; successors.len()];
    let mut done = Vec::new();
    let mut stack = vec![(successors.len() - 1, 0)];
    if let Some(last) = seen.last_mut() {
        *last = true;
    }
    while let Some((block, child)) = stack.pop() {
        match predecessors.get(block).and_then(|p| p.get(child)) {
            Some(&next) => {
                stack.push((block, child + 1));
                if let Some(slot) = seen.get_mut(next).filter(|s| !**s) {
                    *slot = true;
                    stack.push((next, 0));
                }
            }
            None => done.push(block),
        }
    }
    done.reverse();
    done
}
