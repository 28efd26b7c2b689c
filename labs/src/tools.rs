//! Other programs that a verification uses where they are found: compute-sanitizer and the peers.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use labs_record::figure::Figure;
use labs_record::record::{Peer, Sanitizer};
use tempfile::NamedTempFile;

use crate::session::Job;

/// A program on the search path or in a CUDA toolkit.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
    let on_path = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let toolkit =
        ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(env::var_os).map(|root| PathBuf::from(root).join("bin"));
    let usual = [PathBuf::from("/usr/local/cuda/bin"), PathBuf::from("/usr/local/cuda/compute-sanitizer")];
    on_path
        .into_iter()
        .chain(toolkit)
        .chain(usual)
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
}

/// compute-sanitizer's tools that a verification runs.
const SANITIZER_TOOLS: [&str; 2] = ["memcheck", "racecheck"];

/// Runs a job that only checks under compute-sanitizer: memory accesses and shared-memory races, side by side.
///
/// # Errors
/// When the program does not run, or says nothing that can be read.
pub fn sanitize(sanitizer: &Path, job: &Job) -> Result<Sanitizer> {
    let running = SANITIZER_TOOLS.map(|tool| Sanitizing::start(sanitizer, tool, job));
    let logs = running.map(|running| running?.log());
    for (tool, log) in SANITIZER_TOOLS.into_iter().zip(logs) {
        if let Some(found) = complaint(tool, &log?) {
            return Ok(found);
        }
    }
    Ok(Sanitizer::Clean(format!(
        "{}: {}",
        version(sanitizer, "compute-sanitizer"),
        SANITIZER_TOOLS.join(", ")
    )))
}

/// One of the sanitizer's tools at work.
struct Sanitizing {
    child: Child,
    log: NamedTempFile,
}

impl Sanitizing {
    fn start(sanitizer: &Path, tool: &str, job: &Job) -> Result<Sanitizing> {
        let log = NamedTempFile::new().context("no temporary file for compute-sanitizer")?;
        let mut child = Command::new(sanitizer)
            .args(["--tool", tool, "--log-file"])
            .arg(log.path())
            .arg(env::current_exe().context("cannot find this program's own file")?)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start `{}`", sanitizer.display()))?;
        let mut input = child.stdin.take().context("compute-sanitizer has no standard input")?;
        input.write_all(serde_json::to_string(job)?.as_bytes()).context("cannot hand the job over")?;
        Ok(Sanitizing { child, log })
    }

    /// Waits for its end.
    fn log(mut self) -> Result<String> {
        self.child.wait().context("compute-sanitizer did not end")?;
        std::fs::read_to_string(self.log.path()).context("cannot read compute-sanitizer's log")
    }
}

/// What a log complains of; none if it says that there is nothing.
fn complaint(tool: &str, log: &str) -> Option<Sanitizer> {
    let summary = log.lines().rev().find(|line| line.contains("SUMMARY:"));
    match summary {
        Some(line) if line.contains(" 0 errors") || line.contains(" 0 hazards") => None,
        Some(_) => {
            let mut lines = log.lines().map(|line| line.trim_start_matches('=').trim());
            let first = lines.find(|line| !line.is_empty() && *line != "COMPUTE-SANITIZER");
            Some(Sanitizer::Found(format!("{tool}: {}", first.unwrap_or("it found errors"))))
        }
        None => Some(Sanitizer::Absent(format!("{tool} gave no summary"))),
    }
}

/// `compute-sanitizer 2025.3.0`: a tool of NVIDIA's with the version that it prints.
pub fn version(program: &Path, name: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = text.lines().find(|line| line.to_lowercase().contains("version")).unwrap_or("").trim();
    format!("{name} {}", line.trim_start_matches("Version").trim())
}

/// What a peer program prints: one JSON object.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerReport {
    /// Who it is and whether its results were right.
    pub peer: Peer,
    /// Its figures, with this session's samples.
    pub figures: Vec<Figure>,
}

/// Where `scripts/verify-on-gpu` leaves a lab's peer program.
pub fn peer_program(root: &Path, stem: &str) -> Option<PathBuf> {
    let path =
        root.join("target/peers").join(if cfg!(windows) { format!("{stem}.exe") } else { stem.to_owned() });
    path.is_file().then_some(path)
}

/// Runs a peer program for one session.
///
/// # Errors
/// When it does not run, fails, or prints something else than a report.
pub fn run_peer(program: &Path) -> Result<PeerReport> {
    let output = Command::new(program)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start the peer `{}`", program.display()))?;
    anyhow::ensure!(output.status.success(), "the peer `{}` ended with {}", program.display(), output.status);
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the peer `{}` printed something else than a report", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_log_has_no_complaint() {
        assert_eq!(
            complaint("memcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"),
            None
        );
        assert_eq!(
            complaint(
                "racecheck",
                "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
            ),
            None
        );
    }

    #[test]
    fn a_log_with_errors_or_without_a_summary_is_not_clean() {
        let log = "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 10 errors\n";
        let found = Sanitizer::Found("memcheck: Invalid __global__ write of size 4 bytes".to_owned());
        assert_eq!(complaint("memcheck", log), Some(found));
        assert!(matches!(complaint("memcheck", "========= COMPUTE-SANITIZER\n"), Some(Sanitizer::Absent(_))));
    }
}
