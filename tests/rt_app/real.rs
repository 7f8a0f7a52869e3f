// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the real rt-app, watches how much it is disturbed, and reads the logs it leaves.

use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Global part of a file: what rt-app needs to run and to tell. Nothing of it means
/// anything to a simulation, but for the size of the buffer that is written. The more time
/// rt-app takes its loop to need, the more often `runtime` looks at the clock.
pub(crate) const GLOBAL: &str = r#""global": {"calibration": 100, "logdir": "./",
    "log_basename": "log", "log_size": 2, "lock_pages": false, "gnuplot": false,
    "mem_buffer_size": 16384}"#;

/// rt-app does not always come to its end: a `resume` that comes too early is lost.
const PATIENCE: Duration = Duration::from_secs(8);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// One line: a phase that a task went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// Time in its run events, in µs of the clock.
    pub(crate) run_us: u64,
    /// From its start to its end, in µs.
    pub(crate) period_us: u64,
    /// Its start, in µs from that of rt-app.
    pub(crate) start_us: u64,
    /// What its run events should take, in µs.
    pub(crate) planned_us: u64,
}

/// How long rt-app's threads waited for a CPU, by the kernel's account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbance {
    delay_us: u64,
    ran_us: u64,
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ran {} us, waited {} us for a CPU", self.ran_us, self.delay_us)
    }
}

/// Whether this user may have real-time priority. With it, only the host of a virtual
/// machine and interrupts can disturb rt-app; its tasks are still those of the file.
fn may_be_real_time() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let silent = Stdio::null;
        let mut chrt = Command::new("chrt");
        chrt.args(["-f", "50", "true"]).stdout(silent()).stderr(silent());
        chrt.status().is_ok_and(|status| status.success())
    })
}

/// Runs rt-app on a file in a directory, and kills it if it hangs.
pub(crate) fn run(directory: &Path, file: &str) -> Result<Disturbance> {
    let wrapper: &[&str] = if may_be_real_time() { &["chrt", "-f", "50"] } else { &[] };
    let words: Vec<&str> = wrapper.iter().copied().chain(["rt-app", file]).collect();
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("rt-app (Debian package rt-app)")?;
    let begin = Instant::now();
    let mut threads = BTreeMap::new();
    loop {
        look(child.id(), &mut threads);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "rt-app {file} ended with {status}");
            let sum = |of: fn(&(u64, u64)) -> u64| threads.values().map(of).sum::<u64>() / 1000;
            return Ok(Disturbance { delay_us: sum(|t| t.1), ran_us: sum(|t| t.0) });
        }
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("rt-app {file} did not end within {PATIENCE:?}");
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Notes of each thread that is there how long it ran and waited, in ns.
fn look(pid: u32, threads: &mut BTreeMap<String, (u64, u64)>) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for task in tasks.flatten() {
        // A thread that has just ended has no file any more: its last look counts.
        let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
        let mut fields = text.split_whitespace().filter_map(|field| field.parse::<u64>().ok());
        if let (Some(ran), Some(waited)) = (fields.next(), fields.next()) {
            threads.insert(task.file_name().to_string_lossy().into_owned(), (ran, waited));
        }
    }
}

/// The log of a task: the phases that do something.
pub(crate) fn read(directory: &Path, task: &str) -> Result<Vec<Line>> {
    let path = directory.join(format!("log-{task}.log"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let line = |line: &str| -> Result<Line> {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let column = |index: usize| -> Result<u64> {
            Ok(columns.get(index).context("a column is missing")?.parse()?)
        };
        Ok(Line {
            run_us: column(2)?,
            period_us: column(3)?,
            start_us: column(6)?,
            planned_us: column(8)?,
        })
    };
    lines.map(line).collect()
}
