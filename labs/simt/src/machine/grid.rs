//! A launch in progress.

use super::block::{Block, Cluster};
use super::memory::Memory;
use super::warp::Warp;
use super::{Gpu, Launch, Loaded, Options};
use crate::code::{Code, Op};
use crate::count::{Queues, Report, Site, SiteCounts, SiteKind};
use crate::decode::Parts;
use crate::error::Error;
use crate::event::{Observer, Thread};
use crate::predict::{Folding, SitePrediction, predict_code};
use crate::types::Space;

/// Most threads of a block, and blocks of a cluster (CUDA C++ Programming Guide; 16 needs an attribute there).
const BLOCK_THREADS_MAX: u64 = 1024;
const CLUSTER_BLOCKS_MAX: u64 = 16;
/// Most blocks of a launch: 2^26, as many as memory for a shuffled order allows.
const GRID_BLOCKS_MAX: u64 = 1 << 26;

pub(super) struct Grid<'a> {
    pub(super) gpu: Gpu,
    pub(super) options: Options,
    pub(super) memory: &'a mut Memory,
    pub(super) code: &'a Code,
    pub(super) parts: &'a Parts,
    /// The kernel's 64-bit constants with addresses filled in.
    pub(super) wides: Vec<u64>,
    pub(super) constants: &'a [u8],
    pub(super) params: Vec<u8>,
    pub(super) observer: Option<&'a mut dyn Observer>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) serial: u64,
    pub(super) blocks: Vec<Option<Box<Block>>>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) sites: Vec<Site>,
    /// By instruction: how ptxas is predicted to fold a warp's operations.
    pub(super) folds: Vec<Folding>,
    predictions: Vec<SitePrediction>,
    /// Cycles of each SM, and of the one whose turn it is.
    pub(super) clocks: Vec<u64>,
    pub(super) now: u64,
    /// Grows whenever memory changes, a thread ends or a barrier opens.
    pub(super) epoch: u64,
    /// A clock was read since the round began: a wait may end by itself.
    pub(super) clock_read: bool,
    /// Warp- and lane-level executions of each instruction.
    pub(super) executed: Vec<[u64; 2]>,
    /// Lane-instructions so far, against the budget.
    pub(super) spent: u64,
    pub(super) barriers: u64,
}

impl<'a> Grid<'a> {
    pub(super) fn new(
        gpu: Gpu,
        options: Options,
        memory: &'a mut Memory,
        loaded: &'a Loaded,
        launch: &Launch<'_>,
        observer: Option<&'a mut dyn Observer>,
    ) -> Result<Grid<'a>, Error> {
        let parts: &Parts = &loaded.module.parts;
        let Some(code) = loaded.module.code(launch.kernel) else {
            let known: Vec<&str> = loaded.module.kernels().collect();
            return Err(Error::Usage(format!(
                "no kernel '{}'; the module has {}",
                launch.kernel,
                known.join(", ")
            )));
        };
        let cluster = match code.cluster {
            Some(fixed) if launch.cluster == [1; 3] => fixed,
            _ => launch.cluster,
        };
        check_shape(&gpu, code, launch, cluster).map_err(|e| Error::Usage(format!("{}: {e}", code.name)))?;
        let predictions = predict_code(code, parts, gpu.sm);
        let mut folds = vec![Folding::None; code.instrs.len()];
        for site in &predictions {
            folds[site.instruction as usize] = site.folding;
        }
        Ok(Grid {
            gpu,
            options,
            memory,
            code,
            parts,
            wides: relocate(code, loaded),
            constants: &loaded.constants,
            params: params(code, launch).map_err(|e| Error::Usage(format!("{}: {e}", code.name)))?,
            observer,
            grid: launch.grid,
            block: launch.block,
            cluster,
            dynamic_shared: launch.dynamic_shared,
            serial: 0,
            blocks: Vec::new(),
            clusters: Vec::new(),
            sites: vec![Site::default(); code.instrs.len()],
            folds,
            predictions,
            clocks: vec![0; gpu.sms as usize],
            now: 0,
            epoch: 0,
            clock_read: false,
            executed: vec![[0; 2]; code.instrs.len()],
            spent: 0,
            barriers: 0,
        })
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    pub(super) fn shared_bytes(&self) -> u32 {
        self.code.shared_bytes + self.dynamic_shared
    }

    pub(super) fn block_at(&self, slot: usize) -> Option<&Block> {
        self.blocks.get(slot).and_then(|b| b.as_deref())
    }

    pub(super) fn block_mut(&mut self, slot: usize) -> Option<&mut Block> {
        self.blocks.get_mut(slot).and_then(|b| b.as_deref_mut())
    }

    /// The thread of a lane.
    pub(super) fn thread(&self, slot: usize, warp: &Warp, lane: u32) -> Thread {
        let (block, cluster) = self.block_at(slot).map_or((0, 0), |b| (b.index, b.cluster));
        let cluster = self.clusters.get(cluster).map_or(block, |c| c.index);
        Thread { block, thread: warp.index * 32 + lane, cluster }
    }

    pub(super) fn threads_of(&self, slot: usize, warp: &Warp, mask: u32) -> Vec<Thread> {
        (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| self.thread(slot, warp, lane)).collect()
    }

    /// A block has ended: its queues at shared memory join its sites'.
    pub(super) fn collect_queues(&mut self, block: &Block) {
        for (instruction, queues) in &block.queues {
            let counts = Queues::counts([queues].into_iter());
            if let Some(site) = self.sites.get_mut(*instruction as usize) {
                site.shared_queues.join(&counts);
            }
        }
    }

    pub(super) fn report(&mut self) -> Report {
        let mut report = Report {
            kernel: self.code.name.clone(),
            blocks: self.grid.iter().map(|&g| u64::from(g)).product(),
            barriers: self.barriers,
            global_atomics: Queues::counts(self.sites.iter().filter_map(|s| s.queues.as_deref())),
            ..Report::default()
        };
        let sites = std::mem::take(&mut self.sites);
        for (index, (site, instr)) in sites.into_iter().zip(&self.code.instrs).enumerate() {
            let [executions, lanes] = self.executed.get(index).copied().unwrap_or_default();
            if instr.counted {
                report.warp_instructions += executions;
                report.lane_instructions += lanes;
            }
            let Some(kind) = kind(&instr.op) else { continue };
            report.shared_atomics.join(&site.shared_queues);
            let prediction = self.predictions.iter().find(|p| p.instruction as usize == index).cloned();
            report.sites.push(SiteCounts {
                instruction: index as u32,
                line: instr.line,
                ptx_line: instr.ptx_line,
                text: self.parts.text(instr.ptx_line).to_owned(),
                kind,
                executions,
                lanes,
                global_requests: site.global_requests,
                global_lanes: site.global_lanes,
                shared_requests: site.shared_requests,
                shared_lanes: site.shared_lanes,
                sectors: site.sectors,
                lines: site.lines,
                failed: site.failed,
                global_after_folding: site.global_sent,
                shared_after_folding: site.shared_sent,
                global_addresses: Queues::counts(site.queues.as_deref().into_iter()),
                shared_addresses: site.shared_queues,
                prediction,
            });
        }
        report
    }
}

/// The kernel's 64-bit constants with the addresses of the module's variables.
fn relocate(code: &Code, loaded: &Loaded) -> Vec<u64> {
    let mut wides = code.wides.clone();
    for relocation in &code.relocations {
        if let (Some(value), Some(address)) =
            (wides.get_mut(relocation.slot as usize), loaded.addresses.get(relocation.variable as usize))
        {
            *value = address.wrapping_add_signed(relocation.offset);
        }
    }
    wides
}

fn kind(op: &Op) -> Option<SiteKind> {
    Some(match op {
        Op::Load(load) if !matches!(load.at.space, Space::Param | Space::Const) => SiteKind::Load,
        Op::Store(_) => SiteKind::Store,
        Op::Atomic(atomic) => SiteKind::Atomic(atomic.op),
        Op::Bulk(bulk) => SiteKind::Atomic(bulk.op),
        Op::Bar(_) | Op::ClusterArrive { .. } | Op::ClusterWait => SiteKind::Barrier,
        Op::Collective { .. } => SiteKind::Collective,
        Op::Fence { .. } => SiteKind::Fence,
        _ => return None,
    })
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().map(|&s| u64::from(s)).fold(1, u64::saturating_mul)
}

fn check_shape(gpu: &Gpu, code: &Code, launch: &Launch<'_>, cluster: [u32; 3]) -> Result<(), String> {
    let (blocks, threads) = (product(launch.grid), product(launch.block));
    if blocks == 0 || blocks > GRID_BLOCKS_MAX {
        return Err(format!("a grid of {:?} blocks cannot be launched", launch.grid));
    }
    let most = code.max_threads.map_or(BLOCK_THREADS_MAX, |m| u64::from(m).min(BLOCK_THREADS_MAX));
    if threads == 0 || threads > most.min(u64::from(gpu.threads_per_sm)) {
        return Err(format!("a block of {:?} threads; 1 to {most} are possible", launch.block));
    }
    if product(cluster) == 0 || product(cluster) > CLUSTER_BLOCKS_MAX {
        return Err(format!("a cluster of {cluster:?} blocks; 1 to {CLUSTER_BLOCKS_MAX} are possible"));
    }
    if launch.grid.iter().zip(cluster).any(|(grid, cluster)| grid % cluster != 0) {
        return Err(format!("a grid of {:?} blocks is no multiple of clusters of {cluster:?}", launch.grid));
    }
    let shared = u64::from(code.shared_bytes) + u64::from(launch.dynamic_shared);
    if shared > u64::from(gpu.shared_bytes_per_sm) {
        return Err(format!(
            "a block needs {shared} bytes of shared memory; an SM has {}",
            gpu.shared_bytes_per_sm
        ));
    }
    if gpu.sms == 0 || gpu.blocks_per_sm == 0 {
        return Err("the GPU has no SM or no room for a block".to_owned());
    }
    Ok(())
}

fn params(code: &Code, launch: &Launch<'_>) -> Result<Vec<u8>, String> {
    if launch.args.len() != code.params.len() {
        return Err(format!("{} arguments for {} parameters", launch.args.len(), code.params.len()));
    }
    let mut bytes = vec![0; code.param_bytes as usize];
    for (index, (arg, &(offset, size))) in launch.args.iter().zip(&code.params).enumerate() {
        if arg.len() != size as usize {
            return Err(format!("argument {index} has {} bytes; its parameter has {size}", arg.len()));
        }
        if let Some(place) = bytes.get_mut(offset as usize..(offset + size) as usize) {
            place.copy_from_slice(arg);
        }
    }
    Ok(bytes)
}
