//! How a test that needs a GPU says that there is none.

use std::io::Write as _;

/// Says so past the test harness, which keeps to itself what a passing test prints. Where `HOT_ADDRESSES_REQUIRE_GPU` is
/// set, a GPU that is missing is a failure.
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("HOT_ADDRESSES_REQUIRE_GPU").is_none(), "no GPU: {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED, not passed: {why}");
}
