//! The labs, a module each, named as their kernel files.

pub mod day14_barrier;
pub mod day23_shuffle;
pub mod day26_sum;
pub mod day27_address;
pub mod day28_cas_loop;
pub mod day29_histogram;
pub mod day30_determinism;
pub mod day31_placement;
pub mod day32_no_return;
pub mod day33_slice_map;
pub mod day34_aggregation;
pub mod day35_filter;
pub mod day36_compaction;
pub mod day37_litmus;
pub mod day38_order_cost;
pub mod day39_spin;
pub mod day40_lookback;
