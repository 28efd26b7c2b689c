//! Special registers.

use super::grid::Grid;
use super::vector::{set_wides, set_words};
use super::warp::Warp;
use crate::code::Special;

impl Grid<'_> {
    pub(super) fn special(
        &mut self,
        slot: usize,
        warp: &mut Warp,
        mask: u32,
        what: Special,
        wide: bool,
        d: u32,
    ) {
        let values = self.special_values(slot, warp, what);
        if wide {
            set_wides(warp, d, mask, |i| values[i]);
        } else {
            set_words(warp, d, mask, |i| values[i] as u32);
        }
    }

    fn special_values(&mut self, slot: usize, warp: &Warp, what: Special) -> [u64; 32] {
        let [x, y, _] = self.block;
        let thread = |lane: usize| warp.index * 32 + lane as u32;
        let by_lane = |value: &dyn Fn(usize) -> u32| std::array::from_fn(|lane| u64::from(value(lane)));
        match what {
            Special::Tid(0) => return by_lane(&|l| thread(l) % x),
            Special::Tid(1) => return by_lane(&|l| thread(l) / x % y),
            Special::Tid(_) => return by_lane(&|l| thread(l) / (x * y)),
            Special::LaneId => return by_lane(&|l| l as u32),
            Special::MaskEq => return by_lane(&|l| 1 << l),
            Special::MaskLt => return by_lane(&|l| (1 << l) - 1),
            Special::MaskLe => return by_lane(&|l| u32::MAX >> (31 - l)),
            Special::MaskGt => return by_lane(&|l| !(u32::MAX >> (31 - l))),
            Special::MaskGe => return by_lane(&|l| !((1 << l) - 1)),
            _ => {}
        }
        [self.uniform_special(slot, warp, what); 32]
    }

    fn uniform_special(&mut self, slot: usize, warp: &Warp, what: Special) -> u64 {
        let (at, sm, rank, cluster) =
            self.block_at(slot).map_or(([0; 3], 0, 0, 0), |b| (b.at, b.sm, b.rank, b.cluster));
        let cluster_index = self.clusters.get(cluster).map_or(0, |c| c.index);
        let axis = |sizes: [u32; 3], axis: u8| u64::from(sizes[axis as usize % 3]);
        let per: [u32; 3] = std::array::from_fn(|i| self.grid[i] / self.cluster[i].max(1));
        if matches!(
            what,
            Special::Clock
                | Special::ClockHigh
                | Special::Clock64
                | Special::Timer
                | Special::TimerLow
                | Special::TimerHigh
        ) {
            self.clock_read = true;
            return match what {
                Special::Clock | Special::TimerLow => self.now & 0xffff_ffff,
                Special::ClockHigh | Special::TimerHigh => self.now >> 32,
                _ => self.now,
            };
        }
        match what {
            Special::Ntid(a) => axis(self.block, a),
            Special::Ctaid(a) => axis(at, a),
            Special::Nctaid(a) => axis(self.grid, a),
            Special::ClusterCtaid(a) => axis(std::array::from_fn(|i| at[i] % self.cluster[i].max(1)), a),
            Special::ClusterNctaid(a) => axis(self.cluster, a),
            Special::ClusterId(a) => axis(
                [cluster_index % per[0], cluster_index / per[0] % per[1], cluster_index / (per[0] * per[1])],
                a,
            ),
            Special::NclusterId(a) => axis(per, a),
            Special::WarpId => u64::from(warp.index),
            Special::NwarpId => u64::from(self.threads().div_ceil(32)),
            Special::SmId => u64::from(sm),
            Special::NsmId => u64::from(self.gpu.sms),
            Special::GridId => self.serial,
            Special::ClusterRank => u64::from(rank),
            Special::ClusterSize => u64::from(self.cluster_blocks()),
            Special::DynamicShared => u64::from(self.dynamic_shared),
            Special::TotalShared => u64::from(self.shared_bytes()),
            Special::ExplicitCluster => u64::from(self.cluster_blocks() > 1),
            _ => 0,
        }
    }
}
