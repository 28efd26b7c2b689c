//! Clocks, power and temperature through NVML; without it, the reason.

use std::time::{Duration, Instant};

use labs_record::record::Reading;
use labs_record::statistics::median;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

/// How often clocks, power and temperature are read at most: each takes the driver longer than many a sample.
const INTERVAL: Duration = Duration::from_millis(100);

/// The sensors of the first GPU, and what they have shown.
pub struct Sensors {
    nvml: Result<Nvml, String>,
    last: Option<Instant>,
    sm_mhz: Vec<f64>,
    memory_mhz: Vec<f64>,
    power_w: Vec<f64>,
    temperature_c: Vec<f64>,
}

/// Why samples taken at this moment say little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled(pub String);

impl Sensors {
    /// Opens NVML; a machine without it has sensors that are not readable.
    pub fn open() -> Sensors {
        Sensors {
            nvml: Nvml::init().map_err(|error| format!("not readable: {error}")),
            last: None,
            sm_mhz: Vec::new(),
            memory_mhz: Vec::new(),
            power_w: Vec::new(),
            temperature_c: Vec::new(),
        }
    }

    /// The driver's version and whether memory errors are corrected.
    pub fn driver_and_ecc(&self) -> (Option<String>, Option<bool>) {
        let Ok(nvml) = &self.nvml else { return (None, None) };
        let ecc = nvml.device_by_index(0).and_then(|device| device.is_ecc_enabled());
        (nvml.sys_driver_version().ok(), ecc.ok().map(|state| state.currently_enabled))
    }

    /// Says so if the GPU is being slowed down, and reads the other sensors if that was long enough ago.
    pub fn read(&mut self) -> Option<Throttled> {
        let Ok(nvml) = &self.nvml else { return None };
        let device = nvml.device_by_index(0).ok()?;
        if self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            self.last = Some(Instant::now());
            self.sm_mhz.extend(device.clock_info(Clock::SM).ok().map(f64::from));
            self.memory_mhz.extend(device.clock_info(Clock::Memory).ok().map(f64::from));
            self.power_w.extend(device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1000.0));
            self.temperature_c.extend(device.temperature(TemperatureSensor::Gpu).ok().map(f64::from));
        }
        let slowed = ThrottleReasons::HW_SLOWDOWN
            | ThrottleReasons::HW_THERMAL_SLOWDOWN
            | ThrottleReasons::SW_THERMAL_SLOWDOWN
            | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
        let now = device.current_throttle_reasons().ok()?;
        now.intersects(slowed).then(|| Throttled(format!("the GPU was slowed down: {:?}", now & slowed)))
    }

    /// What was seen, in the order SM clock, memory clock, power, temperature.
    pub fn readings(&self) -> [Reading; 4] {
        [&self.sm_mhz, &self.memory_mhz, &self.power_w, &self.temperature_c].map(|values| {
            match (median(values), &self.nvml) {
                (Some(median), _) => Reading::Seen {
                    min: values.iter().copied().fold(f64::INFINITY, f64::min),
                    median,
                    max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                },
                (None, Err(reason)) => Reading::Absent(reason.clone()),
                (None, Ok(_)) => Reading::Absent("not readable: this GPU has no such sensor".to_owned()),
            }
        })
    }
}
