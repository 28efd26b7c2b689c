//! Loads and stores.

use super::grid::Grid;
use super::memory::{OFFSET_MASK, read, write};
use super::place::Fault;
use super::step::After;
use super::vector::{set_class, space_of};
use super::warp::Warp;
use crate::code::{Address, Load, NONE, Store};
use crate::count::sectors_and_lines;
use crate::event::{self, Access, Kind, Order, Scope, Site};
use crate::scalar::extend;
use crate::types::{CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW, Space};

/// One lane's place in a memory, found and checked.
pub(super) enum Spot {
    Global,
    Shared { slot: usize },
    Local,
    Const,
    Param,
}

/// Lanes of an instruction that access one state space.
pub(super) struct Request {
    pub(super) space: Space,
    pub(super) mask: u32,
}

pub(super) type Checked<T> = Result<T, Box<Fault>>;

pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            lane
        })
    })
}

impl Grid<'_> {
    /// The lanes' addresses.
    #[inline(always)]
    pub(super) fn addresses(&self, warp: &Warp, at: &Address) -> [u64; 32] {
        let mut found = self.values(warp, at.class, at.base);
        if at.offset != 0 {
            for address in &mut found {
                *address = address.wrapping_add_signed(at.offset);
            }
        }
        found
    }

    /// The next lanes of `rest` that access one space; their generic addresses become addresses in it.
    #[inline(always)]
    pub(super) fn request(space: Space, addresses: &mut [u64; 32], rest: &mut u32) -> Request {
        if space != Space::Generic {
            return Request { space, mask: std::mem::take(rest) };
        }
        let first = space_of(addresses[rest.trailing_zeros() as usize]);
        let mask = lanes(*rest).filter(|&l| space_of(addresses[l]) == first).fold(0, |m, l| m | 1 << l);
        *rest &= !mask;
        let window = match first {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Const => CONST_WINDOW,
            Space::Param => PARAM_WINDOW,
            Space::Global | Space::Generic => 0,
        };
        for lane in lanes(mask) {
            addresses[lane] -= window;
        }
        Request { space: first, mask }
    }

    pub(super) fn load(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        load: &Load,
    ) -> Checked<After> {
        let mut addresses = self.addresses(warp, &load.at);
        let size = load.ty.bytes() as usize;
        let total = size as u64 * load.to.len() as u64;
        let mut rest = mask;
        while rest != 0 {
            let request = Self::request(load.at.space, &mut addresses, &mut rest);
            self.count_access(pc, &request, &addresses, total);
            for (index, &d) in load.to.iter().enumerate() {
                let mut values = [0; 32];
                self.gather(slot, warp, &request, &addresses, (index * size, size, total), &mut values)?;
                if d == NONE {
                    continue;
                }
                if load.ty.signed() {
                    set_class(warp, load.class, d, request.mask, |i| extend(load.ty, values[i]) as u64);
                } else {
                    set_class(warp, load.class, d, request.mask, |i| values[i]);
                }
            }
            if self.observer.is_some() {
                self.tell(
                    slot,
                    warp,
                    pc,
                    &request,
                    &addresses,
                    (load.to.len() as u64, size as u64, Kind::Read, load.order, load.scope),
                );
            }
        }
        if load.order == Order::Weak {
            return Ok(After::Next);
        }
        warp.polled = (pc, addresses[mask.trailing_zeros() as usize]);
        Ok(After::Poll)
    }

    pub(super) fn store(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        store: &Store,
    ) -> Checked<After> {
        let mut addresses = self.addresses(warp, &store.at);
        let size = store.ty.bytes() as usize;
        let total = size as u64 * store.from.len() as u64;
        let mut rest = mask;
        while rest != 0 {
            let request = Self::request(store.at.space, &mut addresses, &mut rest);
            self.count_access(pc, &request, &addresses, total);
            for (index, &from) in store.from.iter().enumerate() {
                let values = self.values(warp, store.class, from);
                self.scatter(slot, warp, &request, &addresses, (index * size, size, total), &values)?;
            }
            if self.observer.is_some() {
                self.tell(
                    slot,
                    warp,
                    pc,
                    &request,
                    &addresses,
                    (store.from.len() as u64, size as u64, Kind::Write, store.order, store.scope),
                );
            }
        }
        Ok(After::Next)
    }

    #[inline(always)]
    fn count_access(&mut self, pc: u32, request: &Request, addresses: &[u64; 32], bytes: u64) {
        let site = &mut self.sites[pc as usize];
        match request.space {
            Space::Global => {
                site.global_requests += 1;
                site.global_lanes += u64::from(request.mask.count_ones());
                let (sectors, lines) = sectors_and_lines(addresses, request.mask, bytes);
                site.sectors += sectors;
                site.lines += lines;
            }
            Space::Shared => {
                site.shared_requests += 1;
                site.shared_lanes += u64::from(request.mask.count_ones());
            }
            _ => {}
        }
    }

    /// Reads `size` bytes at each lane's address plus `skip`; `total` is the size of the whole access.
    #[inline(always)]
    fn gather(
        &self,
        slot: usize,
        warp: &Warp,
        request: &Request,
        addresses: &[u64; 32],
        (skip, size, total): (usize, usize, u64),
        values: &mut [u64; 32],
    ) -> Checked<()> {
        let first = addresses[request.mask.trailing_zeros() as usize];
        let plain_shared =
            request.space == Space::Shared && lanes(request.mask).all(|l| addresses[l] >> RANK_SHIFT == 0);
        let (bytes, base) = match request.space {
            Space::Global => self.memory.around(first),
            Space::Shared if plain_shared => (self.block_at(slot).map_or(&[][..], |b| &b.shared), 0),
            _ => (&[][..], 0),
        };
        let mut rest = request.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let address = addresses[lane];
            let offset = address.wrapping_sub(base) as usize;
            let found =
                if address & (total - 1) == 0 { read(bytes, offset.wrapping_add(skip), size) } else { None };
            values[lane] = match found {
                Some(value) => value,
                None => self.read_far(slot, warp, request.space, lane, address, (skip, size, total))?,
            };
        }
        Ok(())
    }

    /// A lane whose address is not in the memory of the first lane, or wrong.
    #[cold]
    #[inline(never)]
    pub(super) fn read_far(
        &self,
        slot: usize,
        warp: &Warp,
        space: Space,
        lane: usize,
        address: u64,
        (skip, size, total): (usize, usize, u64),
    ) -> Checked<u64> {
        let (spot, offset) = self.locate(slot, space, lane, address, total)?;
        let bytes = match spot {
            Spot::Global => self.memory.around(address).0,
            Spot::Shared { slot } => self.block_at(slot).map_or(&[][..], |b| &b.shared),
            Spot::Local => &warp.local,
            Spot::Const => self.constants,
            Spot::Param => &self.params,
        };
        match read(bytes, offset + skip, size) {
            Some(value) => Ok(value),
            None => Err(self.outside(space, lane, address, total, bytes.len())),
        }
    }

    #[inline(always)]
    fn scatter(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        request: &Request,
        addresses: &[u64; 32],
        (skip, size, total): (usize, usize, u64),
        values: &[u64; 32],
    ) -> Checked<()> {
        let mut changed = false;
        let mut far = 0;
        let first = addresses[request.mask.trailing_zeros() as usize];
        let plain_shared =
            request.space == Space::Shared && lanes(request.mask).all(|l| addresses[l] >> RANK_SHIFT == 0);
        let (bytes, base): (&mut [u8], u64) = match request.space {
            Space::Global => self.memory.around_mut(first),
            Space::Shared if plain_shared => match self.blocks[slot].as_deref_mut() {
                Some(block) => (&mut block.shared, 0),
                None => (&mut [], 0),
            },
            _ => (&mut [], 0),
        };
        let mut rest = request.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let address = addresses[lane];
            let offset = (address.wrapping_sub(base) as usize).wrapping_add(skip);
            let done =
                if address & (total - 1) == 0 { write(bytes, offset, size, values[lane]) } else { None };
            match done {
                Some(new) => changed |= new,
                None => far |= 1 << lane,
            }
        }
        self.epoch += u64::from(changed);
        for lane in lanes(far) {
            self.write_far(
                slot,
                warp,
                request.space,
                lane,
                addresses[lane],
                (skip, size, total),
                values[lane],
            )?;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // one lane's whole access; the callers are in this file and atomic.rs
    pub(super) fn write_far(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        space: Space,
        lane: usize,
        address: u64,
        (skip, size, total): (usize, usize, u64),
        value: u64,
    ) -> Checked<()> {
        let (spot, offset) = self.locate(slot, space, lane, address, total)?;
        let bytes: &mut [u8] = match spot {
            Spot::Global => self.memory.around_mut(address).0,
            Spot::Shared { slot } => match self.blocks[slot].as_deref_mut() {
                Some(block) => &mut block.shared,
                None => &mut [],
            },
            Spot::Local => &mut warp.local,
            Spot::Const | Spot::Param => &mut [],
        };
        let length = bytes.len();
        match write(bytes, offset + skip, size, value) {
            Some(changed) => {
                self.epoch += u64::from(changed);
                Ok(())
            }
            None => Err(self.outside(space, lane, address, total, length)),
        }
    }

    /// Where an address leads, and the offset there.
    pub(super) fn locate(
        &self,
        slot: usize,
        space: Space,
        lane: usize,
        address: u64,
        total: u64,
    ) -> Checked<(Spot, usize)> {
        if address & (total - 1) != 0 {
            return Err(self.outside(space, lane, address, total, 0));
        }
        let offset = address as usize;
        Ok(match space {
            Space::Global | Space::Generic => (Spot::Global, (address & OFFSET_MASK) as usize),
            Space::Shared => {
                let owner = self.shared_owner(slot, address);
                match owner {
                    Some(slot) => (Spot::Shared { slot }, offset & ((1 << RANK_SHIFT) - 1)),
                    None => return Err(self.outside(space, lane, address, total, 0)),
                }
            }
            Space::Local => {
                let size = self.code.local_bytes as usize;
                if address.saturating_add(total) > size as u64 {
                    return Err(self.outside(space, lane, address, total, size));
                }
                (Spot::Local, lane * size + offset)
            }
            Space::Const => (Spot::Const, offset),
            Space::Param => (Spot::Param, offset),
        })
    }

    /// The slot of the block whose shared memory an address is in.
    pub(super) fn shared_owner(&self, slot: usize, address: u64) -> Option<usize> {
        match address >> RANK_SHIFT {
            0 => Some(slot),
            rank => {
                let cluster = self.clusters.get(self.block_at(slot)?.cluster)?;
                cluster.slots.get(rank as usize - 1).copied().flatten()
            }
        }
    }

    #[cold]
    pub(super) fn outside(
        &self,
        space: Space,
        lane: usize,
        address: u64,
        total: u64,
        length: usize,
    ) -> Box<Fault> {
        let reason = if matches!(space, Space::Global | Space::Generic) {
            format!("access of {total} bytes: {}", self.memory.complaint(address, total))
        } else if !address.is_multiple_of(total) {
            format!("misaligned: an access of {total} bytes needs an address divisible by {total}")
        } else if space == Space::Shared && address >> RANK_SHIFT != 0 && length == 0 {
            "the block whose shared memory this is has ended or is not in the cluster".to_owned()
        } else {
            format!("access of {total} bytes outside the {length} bytes of {space:?} memory")
        };
        Box::new(Fault::Memory { lane: lane as u32, address, reason })
    }

    /// Tells the observer about a request's accesses.
    pub(super) fn tell(
        &mut self,
        slot: usize,
        warp: &Warp,
        pc: u32,
        request: &Request,
        addresses: &[u64; 32],
        (elements, size, kind, order, scope): (u64, u64, Kind, Order, Scope),
    ) {
        // A strong vector access is several accesses, a weak one is one (PTX ISA, "Vector Data-types").
        let (elements, bytes) = if order == Order::Weak { (1, elements * size) } else { (elements, size) };
        let site = self.site(pc);
        for lane in lanes(request.mask) {
            let by = self.thread(slot, warp, lane as u32);
            let mut address = addresses[lane];
            let space = match request.space {
                Space::Global => event::Space::Global,
                Space::Shared => {
                    let owner = self
                        .shared_owner(slot, address)
                        .and_then(|s| self.block_at(s))
                        .map_or(by.block, |b| b.index);
                    address &= (1 << RANK_SHIFT) - 1;
                    event::Space::Shared { block: owner }
                }
                _ => continue,
            };
            for element in 0..elements {
                let (address, bytes) = (address + element * size, bytes as u8);
                if let Some(observer) = &mut self.observer {
                    observer.access(&Access { by, space, address, bytes, kind, order, scope, site });
                }
            }
        }
    }

    pub(super) fn site(&self, pc: u32) -> Site {
        Site { instruction: pc, line: self.code.instrs.get(pc as usize).map_or(0, |i| i.line) }
    }
}
