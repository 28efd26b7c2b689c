//! A device that does nothing but keep time, for tests of how samples are taken.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses its part")]

use anyhow::Result;
use labs::backend::nvml::Throttled;
use labs::backend::{Backend, Buffer, Counts, Device, Image, Resources, Step};
use labs_record::record::Gpu;

/// The step that empties the L2.
pub const FLUSH: Step = Step::Zero(Buffer { address: 0, bytes: 1 << 20 });

/// A device on which the n-th timed run takes n microseconds.
pub struct Clock {
    device: Device,
    /// Timed runs so far.
    pub runs: u32,
    /// What came before the latest one.
    pub before: Vec<Step>,
    /// Whether its sensors say that it is slowed down, reading by reading; no more when these are used up.
    pub slowed: Vec<bool>,
}

impl Clock {
    pub fn new() -> Clock {
        let gpu = Gpu {
            name: "clock".to_owned(),
            compute_capability: "9.0".to_owned(),
            sms: 1,
            l2_bytes: 0,
            memory_bytes: 0,
            ecc: None,
        };
        Clock {
            device: Device { gpu, driver: "none".to_owned(), architecture: 90 },
            runs: 0,
            before: Vec::new(),
            slowed: Vec::new(),
        }
    }
}

impl Backend for Clock {
    fn device(&self) -> &Device {
        &self.device
    }

    fn load(&mut self, _image: &Image) -> Result<()> {
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        Ok(Buffer { address: 256, bytes })
    }

    fn allocate_host(&mut self, bytes: u64) -> Result<Buffer> {
        self.allocate(bytes)
    }

    fn write(&mut self, _buffer: Buffer, _data: &[u8]) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, _buffer: Buffer, _data: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, _steps: &[Step]) -> Result<()> {
        Ok(())
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn time(&mut self, before: &[Step], _timed: &[Step]) -> Result<f64> {
        self.runs += 1;
        self.before = before.to_vec();
        Ok(f64::from(self.runs) * 1000.0)
    }

    fn slowed(&mut self) -> Option<Throttled> {
        let slow = !self.slowed.is_empty() && self.slowed.remove(0);
        slow.then(|| Throttled("hot".to_owned()))
    }

    fn flush(&mut self) -> Result<Vec<Step>> {
        Ok(vec![FLUSH])
    }

    fn resources(&mut self, _kernel: &str, _block: u32) -> Result<Option<Resources>> {
        Ok(None)
    }

    fn counts(&mut self) -> Option<Counts> {
        None
    }
}
