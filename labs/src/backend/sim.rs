//! The simulator as a backend: results and counts, no times.

use anyhow::Result;
use labs_record::record::Gpu;
use labs_simt::race::{RaceDetector, Report as Races};
use labs_simt::{Error, Loaded, Machine, Module, Options, Order, Report};

use super::{Argument, Backend, Buffer, Counts, Device, Image, Launch, Launched, Resources, Step};
use crate::failure::{failed, lacks};

/// The reference GPU's shape, on the CPU.
pub struct Sim {
    device: Device,
    machine: Machine,
    modules: Vec<(Module, Loaded)>,
    counts: Counts,
    options: Options,
    launched: Vec<Launched>,
    watched: Option<Races>,
}

impl Sim {
    /// A machine that schedules as `options` say; with `watch_races`, every launch is watched by the race detector.
    pub fn new(options: Options, watch_races: bool) -> Sim {
        let shape = labs_simt::Gpu::H200;
        let gpu = Gpu {
            name: format!("simulator, {} SMs", shape.sms),
            compute_capability: format!("{}.{}", shape.sm / 10, shape.sm % 10),
            sms: shape.sms,
            l2_bytes: 0,
            memory_bytes: 0,
            ecc: None,
        };
        Sim::of(shape, gpu, options, watch_races)
    }

    /// A machine on which labs choose the shapes and the code that they choose on this GPU.
    pub fn like(device: &Device, options: Options) -> Sim {
        let nearest = if device.architecture < 80 { labs_simt::Gpu::T4 } else { labs_simt::Gpu::H200 };
        let shape = labs_simt::Gpu { sms: device.gpu.sms, sm: device.architecture, ..nearest };
        let gpu = Gpu { name: format!("simulator, shaped like {}", device.gpu.name), ..device.gpu.clone() };
        Sim::of(shape, gpu, options, false)
    }

    fn of(shape: labs_simt::Gpu, gpu: Gpu, options: Options, watch_races: bool) -> Sim {
        Sim {
            device: Device { gpu, driver: "none".to_owned(), architecture: shape.sm },
            machine: Machine::new(shape, options),
            modules: Vec::new(),
            counts: Counts::default(),
            options,
            launched: Vec::new(),
            watched: watch_races.then(Races::default),
        }
    }

    /// What the race detector found over all launches so far; none if it did not watch.
    pub fn races(&mut self) -> Option<Races> {
        self.watched.replace(Races::default()).filter(|_| self.watched.is_some())
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Zero(buffer) => self.machine.fill(buffer.address, 0, size(buffer.bytes)?).map_err(wrong),
            Step::Launch(launch) if launch.grid == 0 => Ok(()),
            Step::Launch(launch) => self.launch(launch),
        }
    }

    fn launch(&mut self, launch: &Launch) -> Result<()> {
        let has = |module: &Module| module.kernels().any(|kernel| kernel == launch.kernel);
        let loaded =
            self.modules.iter().rev().find(|(module, _)| has(module)).map(|(_, loaded)| loaded.clone());
        let loaded = loaded.ok_or_else(|| {
            let name = &launch.kernel;
            failed(format!("the code has no kernel `{name}`; it must be declared `extern \"C\" __global__`, or its variant left out by --variant"))
        })?;
        let arguments: Vec<Vec<u8>> = launch.arguments.iter().map(|argument| bytes(*argument)).collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let shape = labs_simt::Launch {
            kernel: &launch.kernel,
            grid: [launch.grid, 1, 1],
            block: [launch.block, 1, 1],
            cluster: [launch.cluster, 1, 1],
            dynamic_shared: launch.shared_bytes,
            args: &arguments,
        };
        let mut detector = self.watched.is_some().then(RaceDetector::new);
        let observer = detector.as_mut().map(|detector| detector as &mut dyn labs_simt::event::Observer);
        let report = self.machine.launch(&loaded, &shape, observer).map_err(wrong)?;
        self.counts.add(&report);
        let mut counts = Counts::default();
        counts.add(&report);
        let (kernel, grid, block) = (launch.kernel.clone(), launch.grid, launch.block);
        self.launched.push(Launched { kernel, grid, block, counts });
        if let (Some(all), Some(detector)) = (&mut self.watched, detector) {
            all.merge(detector.into_report());
        }
        Ok(())
    }
}

impl Backend for Sim {
    fn device(&self) -> &Device {
        &self.device
    }

    fn load(&mut self, image: &Image) -> Result<()> {
        let Image::Ptx(text) = image else {
            return Err(failed("the simulator runs PTX, not machine code"));
        };
        let module =
            Module::parse(text).map_err(|error| failed(format!("the PTX can't be simulated: {error}")))?;
        let loaded = self.machine.load(&module).map_err(wrong)?;
        self.modules.push((module, loaded));
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        let address = self.machine.alloc(size(bytes.max(1))?).map_err(|error| {
            lacks(format!("not enough memory for {bytes} bytes: {error}; choose a smaller --size"))
        })?;
        Ok(Buffer { address, bytes })
    }

    /// There is one memory here.
    fn allocate_host(&mut self, bytes: u64) -> Result<Buffer> {
        self.allocate(bytes)
    }

    fn write(&mut self, buffer: Buffer, data: &[u8]) -> Result<()> {
        self.machine.write(buffer.address, data).map_err(wrong)
    }

    fn read(&mut self, buffer: Buffer, data: &mut [u8]) -> Result<()> {
        self.machine.read(buffer.address, data).map_err(wrong)
    }

    fn run(&mut self, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn keeps_time(&self) -> bool {
        false
    }

    fn time(&mut self, _before: &[Step], _timed: &[Step]) -> Result<f64> {
        Err(failed("the simulator keeps no time"))
    }

    fn flush(&mut self) -> Result<Vec<Step>> {
        Ok(Vec::new())
    }

    fn schedule(&mut self, number: Option<u64>) {
        // Odd, so that no two numbers share a seed, and not a step of the simulator's own random sequence.
        const APART: u64 = 0xd134_2543_de82_ef95;
        let shuffled = |number: u64| Options {
            order: Order::Shuffled,
            seed: self.options.seed.wrapping_add(number.wrapping_add(1).wrapping_mul(APART)),
            ..self.options
        };
        *self.machine.options_mut() = number.map_or(self.options, shuffled);
    }

    fn resources(&mut self, _kernel: &str, _block: u32) -> Result<Option<Resources>> {
        Ok(None)
    }

    fn counts(&mut self) -> Option<Counts> {
        self.launched.clear();
        Some(std::mem::take(&mut self.counts))
    }

    fn launched(&mut self) -> Vec<Launched> {
        std::mem::take(&mut self.launched)
    }
}

impl Counts {
    /// Adds what one launch asked for.
    fn add(&mut self, report: &Report) {
        self.global_atomics += report.global_atomics_asked();
        self.global_after_folding += report.global_atomics_after_folding();
        self.global_queue = self.global_queue.max(report.global_atomics.longest_queue_after_folding);
        self.global_sector_queue = self.global_sector_queue.max(report.global_atomics.longest_queue_sector);
        self.shared_atomics += report.shared_atomics_asked();
        self.shared_queue = self.shared_queue.max(report.shared_atomics.longest_queue_after_folding);
        self.failed_swaps += report.sites.iter().map(|site| site.failed).sum::<u64>();
        self.red_requests += report.global_red_requests();
        self.atom_requests += report.global_atom_requests();
        self.load_requests += report.global_load_requests();
        self.load_sectors += report.global_load_sectors();
        self.store_requests += report.global_store_requests();
        self.store_sectors += report.global_store_sectors();
        self.barriers += report.barriers;
        self.lane_instructions += report.lane_instructions;
    }
}

fn bytes(argument: Argument) -> Vec<u8> {
    match argument {
        Argument::Buffer(buffer) => buffer.address.to_le_bytes().to_vec(),
        Argument::U32(value) => value.to_le_bytes().to_vec(),
        Argument::U64(value) => value.to_le_bytes().to_vec(),
        Argument::F32(value) => value.to_le_bytes().to_vec(),
    }
}

fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| lacks(format!("{bytes} bytes are more than this machine can address")))
}

fn wrong(error: Error) -> anyhow::Error {
    failed(format!("the simulator stopped the work: {error}"))
}
