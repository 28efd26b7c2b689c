//! A GPU through CUDA's driver API, loaded when it is first needed.
//!
//! Runs in a process of its own (see [`session`](crate::session)), so that a kernel that hangs can be ended with it.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU32;

use anyhow::Result;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute};
use labs_record::record::{Gpu, Reading};

use super::nvml::{Sensors, Throttled};
use super::{Argument, Backend, Beside, Buffer, Counts, Device, Image, Launch, Resources, Step};
use crate::failure::{failed, lacks};

/// The oldest driver whose functions are called and that loads the shipped PTX, as `cuDriverGetVersion` counts.
const OLDEST_DRIVER: i32 = 11_080;

/// How long the device is kept busy before a timed stretch, so that the host has queued all of it: nanoseconds,
/// and as many again for each step of the stretch. A launch takes the host a few microseconds.
const DELAY_NS: u32 = 20_000;
const DELAY_A_STEP_NS: u32 = 8_000;

/// The first GPU of this machine.
pub struct Cuda {
    device: Device,
    handle: sys::CUdevice,
    stream: sys::CUstream,
    start: sys::CUevent,
    end: sys::CUevent,
    modules: Vec<sys::CUmodule>,
    kernels: HashMap<String, sys::CUfunction>,
    allocations: Vec<Buffer>,
    host_allocations: Vec<HostMemory>,
    flushing: Option<Buffer>,
    sensors: Sensors,
}

/// Page-locked memory of the host, and the address at which kernels reach it.
struct HostMemory {
    start: *mut u8,
    buffer: Buffer,
}

/// Whether CUDA's driver library can be loaded here, without starting it.
pub fn driver_is_present() -> bool {
    // SAFETY: looks for the library by name and runs its initialisers, as any program that uses CUDA does.
    unsafe { sys::is_culib_present() }
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// A [`Failure`](crate::failure::Failure) of kind `Lacks`: no driver, an old one, no GPU.
    pub fn open() -> Result<Cuda> {
        if !driver_is_present() {
            return Err(lacks(
                "no NVIDIA driver on this machine (its library libcuda was not found); install the driver, or use `--backend sim`",
            ));
        }
        let version = driver_version()?;
        if version < OLDEST_DRIVER {
            return Err(lacks(format!(
                "the NVIDIA driver supports CUDA {}.{}, older than {}.{}; update the driver, or use `--backend sim`",
                version / 1000,
                version % 1000 / 10,
                OLDEST_DRIVER / 1000,
                OLDEST_DRIVER % 1000 / 10
            )));
        }
        result::init().map_err(no_gpu)?;
        let handle = result::device::get(0).map_err(no_gpu)?;
        // SAFETY: `handle` is the device just found; the context is current on this thread from here on.
        unsafe {
            let context = result::primary_ctx::retain(handle).map_err(no_gpu)?;
            result::ctx::set_current(context).map_err(no_gpu)?;
        }
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(broken)?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(broken);
        let sensors = Sensors::open();
        Ok(Cuda {
            device: describe(handle, version, &sensors)?,
            handle,
            stream,
            start: event()?,
            end: event()?,
            modules: Vec::new(),
            kernels: HashMap::new(),
            allocations: Vec::new(),
            host_allocations: Vec::new(),
            flushing: None,
            sensors,
        })
    }

    fn kernel(&mut self, name: &str) -> Result<sys::CUfunction> {
        if let Some(function) = self.kernels.get(name) {
            return Ok(*function);
        }
        let c_name = CString::new(name).map_err(|_| failed(format!("kernel name `{name}` holds a NUL")))?;
        // The latest image first: an edited kernel takes the shipped one's place.
        for module in self.modules.iter().rev() {
            // SAFETY: the module is loaded and stays so as long as `self`.
            if let Ok(function) = unsafe { result::module::get_function(*module, c_name.clone()) } {
                self.kernels.insert(name.to_owned(), function);
                return Ok(function);
            }
        }
        Err(failed(format!(
            "the code has no kernel `{name}`; it must be declared `extern \"C\" __global__`, or its variant left out by --variant"
        )))
    }

    fn enqueue(&mut self, step: &Step) -> Result<()> {
        match step {
            // SAFETY: the buffer is an allocation of `self`, or a part of one.
            Step::Zero(buffer) => unsafe {
                let bytes = usize_of(buffer.bytes)?;
                result::memset_d8_async(buffer.address, 0, bytes, self.stream).map_err(broken)
            },
            Step::Launch(launch) if launch.grid == 0 => Ok(()),
            Step::Launch(launch) => self.launch(launch),
        }
    }

    fn launch(&mut self, launch: &Launch) -> Result<()> {
        let function = self.kernel(&launch.kernel)?;
        // Eight bytes hold any argument; the driver reads as many as the parameter has.
        let mut values: Vec<u64> = launch.arguments.iter().map(|argument| bits(*argument)).collect();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        let cluster = sys::CUlaunchAttribute_st {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            pad: Default::default(),
            value: sys::CUlaunchAttributeValue {
                clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: launch.cluster, y: 1, z: 1 },
            },
        };
        let mut attributes = [cluster];
        let config = sys::CUlaunchConfig {
            gridDimX: launch.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: launch.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: launch.shared_bytes,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::from(launch.cluster > 1),
        };
        // SAFETY: `pointers` names one live value a parameter; the driver copies them, and the attributes, before it
        // returns. That the kernel keeps to its buffers is what its check and compute-sanitizer are for.
        let outcome = unsafe {
            sys::cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), std::ptr::null_mut()).result()
        };
        outcome.map_err(|error| {
            failed(format!(
                "kernel `{}` could not be launched with {} blocks of {} threads: {}",
                launch.kernel,
                launch.grid,
                launch.block,
                words(error)
            ))
        })
    }

    /// Where the host sees the start of a buffer that is its own memory; none for device memory.
    fn host_address(&self, buffer: Buffer) -> Option<*mut u8> {
        self.host_allocations.iter().find_map(|known| {
            let offset = buffer.address.checked_sub(known.buffer.address)?;
            let inside = offset.checked_add(buffer.bytes)? <= known.buffer.bytes;
            // An offset within an allocation of this process fits a pointer's difference.
            inside.then(|| known.start.wrapping_add(offset as usize))
        })
    }

    fn wait(&self) -> Result<()> {
        // SAFETY: the stream is ours and alive.
        unsafe { result::stream::synchronize(self.stream) }.map_err(broken)
    }

    fn record(&self, event: sys::CUevent) -> Result<()> {
        // SAFETY: event and stream are ours and alive.
        unsafe { result::event::record(event, self.stream) }.map_err(broken)
    }
}

impl Backend for Cuda {
    fn device(&self) -> &Device {
        &self.device
    }

    fn load(&mut self, image: &Image) -> Result<()> {
        let mut bytes = match image {
            Image::Cubin(bytes) => bytes.clone(),
            Image::Ptx(text) => text.clone().into_bytes(),
        };
        bytes.push(0);
        // SAFETY: PTX ends in the NUL just added; a cubin carries its own length.
        let module = unsafe { result::module::load_data(bytes.as_ptr().cast()) }.map_err(|error| {
            use sys::cudaError_enum as Error;
            if error.0 == Error::CUDA_ERROR_INVALID_PTX {
                return failed(format!(
                    "the driver can't assemble the PTX: {}; `--backend sim` names the line it stumbles over",
                    words(error)
                ));
            }
            let remedy = match error.0 {
                Error::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                    "this driver is older than the code; update the driver, or install NVRTC (`labs doctor` says how)"
                }
                Error::CUDA_ERROR_NO_BINARY_FOR_GPU => "the machine code is for another GPU; `scripts/kernels` makes it for all known ones",
                _ => "`labs doctor` shows what this machine has",
            };
            lacks(format!("the driver refused the kernels: {}; {remedy}", words(error)))
        })?;
        self.modules.push(module);
        self.kernels.clear();
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        // SAFETY: plain device memory, owned by `self` until it is dropped.
        let address = unsafe { result::malloc_sync(usize_of(bytes.max(1))?) }.map_err(|error| {
            let free = result::mem_get_info().map_or(0, |(free, _)| free as u64);
            match error.0 {
                sys::cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY => lacks(format!(
                    "not enough GPU memory: {bytes} bytes wanted, {free} free; choose a smaller --size, or end what else uses the GPU"
                )),
                _ => broken(error),
            }
        })?;
        let buffer = Buffer { address, bytes };
        self.allocations.push(buffer);
        Ok(buffer)
    }

    fn allocate_host(&mut self, bytes: u64) -> Result<Buffer> {
        let size = usize_of(bytes.max(1))?;
        let lacking = |error| {
            lacks(format!(
                "{bytes} bytes of page-locked memory could not be had: {}; raise the limit of locked memory (`ulimit -l`)",
                words(error)
            ))
        };
        // SAFETY: memory of this process that the driver maps for the device, owned by `self` until it is dropped.
        let start = unsafe { result::malloc_host(size, sys::CU_MEMHOSTALLOC_DEVICEMAP) }.map_err(lacking)?;
        let mut address = 0;
        // SAFETY: `start` was allocated with DEVICEMAP a line above; one address is written.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, start, 0) }.result().map_err(broken)?;
        let buffer = Buffer { address, bytes };
        self.host_allocations.push(HostMemory { start: start.cast(), buffer });
        Ok(buffer)
    }

    fn write(&mut self, buffer: Buffer, data: &[u8]) -> Result<()> {
        fits(buffer, data.len())?;
        self.wait()?;
        if let Some(start) = self.host_address(buffer) {
            // SAFETY: `start` is followed by at least `data.len()` bytes of ours, and the device is idle.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), start, data.len()) };
            return Ok(());
        }
        // On the stream of the kernels, and waited for: the driver's synchronous copy returns when it has read `data`, which may
        // be before the last of it has arrived, and a kernel on another stream than its own does not wait for it.
        // SAFETY: the buffer holds at least `data.len()` bytes, and `data` lives until the stream has passed the copy.
        unsafe { result::memcpy_htod_async(buffer.address, data, self.stream) }.map_err(broken)?;
        self.wait()
    }

    fn read(&mut self, buffer: Buffer, data: &mut [u8]) -> Result<()> {
        fits(buffer, data.len())?;
        self.wait()?;
        if let Some(start) = self.host_address(buffer) {
            // SAFETY: as for `write`.
            unsafe { std::ptr::copy_nonoverlapping(start.cast_const(), data.as_mut_ptr(), data.len()) };
            return Ok(());
        }
        // SAFETY: as for `write`.
        unsafe { result::memcpy_dtoh_sync(data, buffer.address) }.map_err(broken)
    }

    fn run(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            self.enqueue(step)?;
        }
        self.wait()
    }

    fn run_beside(&mut self, steps: &[Step], memory: Buffer, beside: Beside<'_>) -> Result<()> {
        let start =
            self.host_address(memory).ok_or_else(|| failed("the host can't reach memory of the device"))?;
        let words = usize_of(memory.bytes / 4)?;
        for step in steps {
            self.enqueue(step)?;
        }
        // SAFETY: page-locked memory of ours, aligned to a page or to the words of a part of it, and `memory.bytes` long.
        // Kernels change it meanwhile; of this side all accesses are atomic.
        let beside_outcome = beside(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU32>(), words) });
        self.wait()?;
        beside_outcome
    }

    fn run_marked(&mut self, steps: &[Step]) -> Result<()> {
        // A driver that knows no profiler needs no marks, so what these two return does not matter.
        // SAFETY: the context is current; without a profiler the calls do nothing.
        let _ = unsafe { sys::cuProfilerStart() };
        let outcome = self.run(steps);
        // SAFETY: as above.
        let _ = unsafe { sys::cuProfilerStop() };
        outcome
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn time(&mut self, before: &[Step], timed: &[Step]) -> Result<f64> {
        for step in before {
            self.enqueue(step)?;
        }
        if self.kernel("delay").is_ok() {
            let steps = u32::try_from(timed.len()).unwrap_or(u32::MAX);
            let arguments =
                vec![Argument::U32(DELAY_NS.saturating_add(DELAY_A_STEP_NS.saturating_mul(steps)))];
            self.launch(&Launch::new("delay", 1, 1, arguments))?;
        }
        self.record(self.start)?;
        for step in timed {
            self.enqueue(step)?;
        }
        self.record(self.end)?;
        self.wait()?;
        // SAFETY: both events were recorded, and the stream has passed them.
        let milliseconds = unsafe { result::event::elapsed(self.start, self.end) }.map_err(broken)?;
        // The events' resolution is some tens of nanoseconds.
        Ok((f64::from(milliseconds) * 1e6).round())
    }

    fn slowed(&mut self) -> Option<Throttled> {
        self.sensors.read()
    }

    fn readings(&self) -> [Reading; 4] {
        self.sensors.readings()
    }

    fn flush(&mut self) -> Result<Vec<Step>> {
        let buffer = match self.flushing {
            Some(buffer) => buffer,
            None => self.allocate(2 * self.device.gpu.l2_bytes)?,
        };
        self.flushing = Some(buffer);
        Ok(vec![Step::Zero(buffer)])
    }

    fn resources(&mut self, kernel: &str, block: u32) -> Result<Option<Resources>> {
        let function = self.kernel(kernel)?;
        // SAFETY: the function belongs to a loaded module.
        let ask = |attribute| unsafe { result::function::get_function_attribute(function, attribute) };
        let number = |attribute| ask(attribute).map(|value| value.max(0) as u32).map_err(broken);
        // SAFETY: as above.
        let blocks =
            unsafe { result::occupancy::max_active_block_per_multiprocessor(function, block as i32, 0) };
        Ok(Some(Resources {
            registers: number(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: number(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: number(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            blocks_per_sm: blocks.map_err(broken)?.max(0) as u32,
            threads_per_sm: attribute(
                self.handle,
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            )?,
        }))
    }

    fn counts(&mut self) -> Option<Counts> {
        None
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // A kernel that trapped leaves the context unusable; then there is nothing to give back but the process.
        // SAFETY: everything here is ours and not used again.
        unsafe {
            for buffer in &self.allocations {
                let _ = result::free_sync(buffer.address);
            }
            for memory in &self.host_allocations {
                let _ = result::free_host(memory.start.cast());
            }
            for module in &self.modules {
                let _ = result::module::unload(*module);
            }
            let _ = result::event::destroy(self.start);
            let _ = result::event::destroy(self.end);
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.handle);
        }
    }
}

fn describe(handle: sys::CUdevice, version: i32, sensors: &Sensors) -> Result<Device> {
    let (driver, ecc) = sensors.driver_and_ecc();
    let major = attribute(handle, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(handle, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    // SAFETY: `handle` is a device.
    let memory_bytes = unsafe { result::device::total_mem(handle) }.map_err(broken)? as u64;
    Ok(Device {
        gpu: Gpu {
            name: result::device::get_name(handle).map_err(broken)?,
            compute_capability: format!("{major}.{minor}"),
            sms: attribute(handle, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: u64::from(attribute(handle, Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            memory_bytes,
            ecc,
        },
        driver: driver.unwrap_or_else(|| format!("CUDA {}.{}", version / 1000, version % 1000 / 10)),
        architecture: major * 10 + minor,
    })
}

fn attribute(handle: sys::CUdevice, which: Attribute) -> Result<u32> {
    // SAFETY: `handle` is a device.
    let value = unsafe { result::device::get_attribute(handle, which) }.map_err(broken)?;
    Ok(value.max(0) as u32)
}

/// The CUDA version the driver supports: 13,000 is 13.0.
fn driver_version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: writes one int; may be called before `cuInit`.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(no_gpu)?;
    Ok(version)
}

fn bits(argument: Argument) -> u64 {
    match argument {
        Argument::Buffer(buffer) => buffer.address,
        Argument::U32(value) => u64::from(value),
        Argument::U64(value) => value,
        Argument::F32(value) => u64::from(value.to_bits()),
    }
}

fn fits(buffer: Buffer, bytes: usize) -> Result<()> {
    if bytes as u64 > buffer.bytes {
        return Err(failed(format!("a copy of {bytes} bytes does not fit a buffer of {}", buffer.bytes)));
    }
    Ok(())
}

fn usize_of(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| lacks(format!("{bytes} bytes are more than this machine can address")))
}

fn no_gpu(error: DriverError) -> anyhow::Error {
    lacks(format!(
        "the NVIDIA driver is installed, but no GPU can be used: {}; look at `nvidia-smi`, or use `--backend sim`",
        words(error)
    ))
}

/// An error after the GPU was opened: a trap, an illegal address, a lost device.
fn broken(error: DriverError) -> anyhow::Error {
    failed(format!("the GPU stopped the work: {}", words(error)))
}

fn words(error: DriverError) -> String {
    let text =
        |words: Result<&std::ffi::CStr, DriverError>| words.map(|w| w.to_string_lossy().into_owned()).ok();
    match (text(error.error_name()), text(error.error_string())) {
        (Some(name), Some(words)) => format!("{words} ({name})"),
        _ => format!("error {}", error.0 as u32),
    }
}
