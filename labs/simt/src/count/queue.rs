//! How many atomics each address gets: pages of counters, made when first touched.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::AddressCounts;

const PAGE_BITS: u32 = 12;
const WORDS: usize = 1 << (PAGE_BITS - 2);

/// Counters of the 4-byte words of one 4 KiB page.
struct Page {
    asked: Box<[u32; WORDS]>,
    /// After folding; absent while the two are equal.
    sent: Option<Box<[u32; WORDS]>>,
}

/// A multiplicative hash: page numbers need no more.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

type Map<V> = HashMap<u64, V, BuildHasherDefault<PageHasher>>;

/// Queues by address. Addresses are the first byte's; atomics are aligned.
#[derive(Default)]
pub(crate) struct Queues {
    pages: Vec<(u64, Page)>,
    index: Map<usize>,
    /// Page found last, as most accesses stay on it.
    last: usize,
    /// 16-bit atomics in the upper half of a word: address to asked and sent.
    upper: Map<(u32, u32)>,
}

impl Clone for Queues {
    fn clone(&self) -> Queues {
        Queues::default()
    }
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queues({} pages)", self.pages.len())
    }
}

impl Queues {
    /// `asked` operations on `address`, of which `sent` remain after folding.
    #[inline]
    pub(crate) fn add(&mut self, address: u64, asked: u32, sent: u32) {
        if address & 2 != 0 {
            let entry = self.upper.entry(address).or_default();
            *entry = (entry.0.saturating_add(asked), entry.1.saturating_add(sent));
            return;
        }
        let page = self.page(address >> PAGE_BITS);
        let word = (address as usize >> 2) % WORDS;
        if asked != sent && page.sent.is_none() {
            page.sent = Some(page.asked.clone());
        }
        if let Some(counts) = &mut page.sent {
            counts[word] = counts[word].saturating_add(sent);
        }
        page.asked[word] = page.asked[word].saturating_add(asked);
    }

    #[inline]
    fn page(&mut self, number: u64) -> &mut Page {
        if self.pages.get(self.last).is_none_or(|(n, _)| *n != number) {
            self.last = *self.index.entry(number).or_insert_with(|| {
                self.pages.push((number, Page { asked: Box::new([0; WORDS]), sent: None }));
                self.pages.len() - 1
            });
        }
        &mut self.pages[self.last].1
    }

    /// Sums up these queues, several sites' together.
    pub(crate) fn counts<'a>(sets: impl Iterator<Item = &'a Queues>) -> AddressCounts {
        let mut total = Queues::default();
        let sets: Vec<&Queues> = sets.collect();
        if let [only] = sets[..] {
            return only.sum();
        }
        // Page by page, so that no second copy of everything is made.
        let mut numbers: Vec<u64> = sets.iter().flat_map(|s| s.pages.iter().map(|p| p.0)).collect();
        numbers.extend(sets.iter().flat_map(|s| s.upper.keys().map(|a| a >> PAGE_BITS)));
        numbers.sort_unstable();
        numbers.dedup();
        let mut found = AddressCounts::default();
        for number in numbers {
            total.pages.clear();
            total.index.clear();
            total.upper.clear();
            for set in &sets {
                total.merge_page(set, number);
            }
            found.join(&total.sum());
        }
        found
    }

    fn merge_page(&mut self, other: &Queues, number: u64) {
        if let Some((_, page)) = other.index.get(&number).and_then(|&i| other.pages.get(i)) {
            for word in 0..WORDS {
                let asked = page.asked[word];
                if asked > 0 {
                    let sent = page.sent.as_ref().map_or(asked, |s| s[word]);
                    self.add(number << PAGE_BITS | (word as u64) << 2, asked, sent);
                }
            }
        }
        for (&address, &(asked, sent)) in other.upper.iter().filter(|(a, _)| *a >> PAGE_BITS == number) {
            self.add(address, asked, sent);
        }
    }

    fn sum(&self) -> AddressCounts {
        let mut found = AddressCounts::default();
        for (number, page) in &self.pages {
            for (line, words) in page.asked.chunks(32).enumerate() {
                let sent = page.sent.as_ref().and_then(|s| s.chunks(32).nth(line));
                self.sum_line(
                    (number << PAGE_BITS) + line as u64 * 128,
                    words,
                    sent.unwrap_or(words),
                    &mut found,
                );
            }
        }
        for (address, _) in self.upper.iter().filter(|(a, _)| !self.index.contains_key(&(*a >> PAGE_BITS))) {
            // Upper halves alone on their page: each counts by itself.
            let (asked, sent) = self.upper.get(address).copied().unwrap_or_default();
            let (asked, sent) = (u64::from(asked), u64::from(sent));
            found.join(&AddressCounts {
                addresses: 1,
                sectors: 1,
                lines: 1,
                longest_queue: asked,
                longest_queue_after_folding: sent,
                longest_queue_sector: asked,
                longest_queue_line: asked,
            });
        }
        found
    }

    fn sum_line(&self, start: u64, asked: &[u32], sent: &[u32], found: &mut AddressCounts) {
        let mut line_total = 0;
        for sector in 0..4 {
            let mut sector_total = 0;
            for word in sector * 8..sector * 8 + 8 {
                let address = start + word as u64 * 4;
                let mut one = |asked: u32, sent: u32| {
                    found.addresses += u64::from(asked > 0);
                    found.longest_queue = found.longest_queue.max(u64::from(asked));
                    found.longest_queue_after_folding =
                        found.longest_queue_after_folding.max(u64::from(sent));
                    sector_total += u64::from(asked);
                };
                one(asked[word], sent[word]);
                if let Some(&(asked, sent)) =
                    (!self.upper.is_empty()).then(|| self.upper.get(&(address | 2))).flatten()
                {
                    one(asked, sent);
                }
            }
            found.sectors += u64::from(sector_total > 0);
            found.longest_queue_sector = found.longest_queue_sector.max(sector_total);
            line_total += sector_total;
        }
        found.lines += u64::from(line_total > 0);
        found.longest_queue_line = found.longest_queue_line.max(line_total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_count_addresses_sectors_and_lines() {
        let mut queues = Queues::default();
        queues.add(4096, 32, 1);
        queues.add(4100, 3, 3);
        queues.add(4096 + 32, 1, 1);
        queues.add(1 << 36, 1, 1);
        let counts = Queues::counts([&queues].into_iter());
        assert_eq!(
            counts,
            AddressCounts {
                addresses: 4,
                sectors: 3,
                lines: 2,
                longest_queue: 32,
                longest_queue_after_folding: 3,
                longest_queue_sector: 35,
                longest_queue_line: 36,
            }
        );
    }

    #[test]
    fn two_sites_on_one_address_share_a_queue() {
        let (mut a, mut b) = (Queues::default(), Queues::default());
        a.add(64, 5, 1);
        b.add(64, 7, 7);
        b.add(66, 9, 9);
        let counts = Queues::counts([&a, &b].into_iter());
        assert_eq!((counts.addresses, counts.longest_queue, counts.longest_queue_after_folding), (2, 12, 9));
        assert_eq!(counts.longest_queue_sector, 21);
    }
}
