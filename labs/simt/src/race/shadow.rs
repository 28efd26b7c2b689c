//! Shadow memory: for every word touched, who touched it last.

use std::collections::HashMap;

use super::history::{Cell, split};
use crate::event::{Access, Space};

/// Bytes a cell stands for, unless it had to be split into bytes.
const WORD_BYTES: u64 = 4;
/// Cells a page.
const PAGE_CELLS: u64 = 256;

type PageKey = (Space, u64);

/// Cells for all memory touched in this launch, in pages made on first touch.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: Vec<Box<[Cell]>>,
    index: HashMap<PageKey, usize>,
    /// The pages of each block's shared memory.
    shared: HashMap<u32, Vec<PageKey>>,
    /// Pages of blocks that have ended, to use again.
    free: Vec<usize>,
    /// The page found last: a warp's lanes touch neighbours.
    last: Option<(PageKey, usize)>,
}

impl Shadow {
    /// Calls `judge` for each cell of the access, in order of address, with the cell's
    /// first byte.
    pub(super) fn visit(&mut self, access: &Access, mut judge: impl FnMut(&mut Cell, u64)) {
        let end = access.address.saturating_add(u64::from(access.bytes));
        let mut at = access.address;
        while at < end {
            let word_start = at - at % WORD_BYTES;
            let stop = end.min(word_start.saturating_add(WORD_BYTES));
            let cell = self.word(access.space, at / WORD_BYTES);
            if stop - at < WORD_BYTES {
                split(cell);
            }
            if let Cell::Bytes(bytes) = cell {
                let (from, to) = ((at - word_start) as usize, (stop - word_start) as usize);
                for (byte, address) in bytes[from..to].iter_mut().zip(at..) {
                    judge(byte, address);
                }
            } else {
                judge(cell, at);
            }
            at = stop;
        }
    }

    fn word(&mut self, space: Space, word: u64) -> &mut Cell {
        let key = (space, word / PAGE_CELLS);
        let page = match self.last {
            Some((last, page)) if last == key => page,
            _ => self.page(key),
        };
        self.last = Some((key, page));
        &mut self.pages[page][(word % PAGE_CELLS) as usize]
    }

    fn page(&mut self, key: PageKey) -> usize {
        if let Some(&page) = self.index.get(&key) {
            return page;
        }
        let page = self.free.pop().unwrap_or_else(|| {
            let cells = (0..PAGE_CELLS).map(|_| Cell::Untouched).collect();
            self.pages.push(cells);
            self.pages.len() - 1
        });
        self.index.insert(key, page);
        if let Space::Shared { block } = key.0 {
            self.shared.entry(block).or_default().push(key);
        }
        page
    }

    /// Forgets a block's shared memory.
    pub(super) fn forget_block(&mut self, block: u32) {
        self.last = None;
        for key in self.shared.remove(&block).unwrap_or_default() {
            if let Some(page) = self.index.remove(&key) {
                self.pages[page].fill_with(Cell::default);
                self.free.push(page);
            }
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
