// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the real rt-app and reads the logs it leaves.

use anyhow::{bail, ensure, Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One line: a phase that a task went through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// Time in its run events, in µs of the clock.
    pub(crate) run_us: u64,
    /// From its start to its end, in µs.
    pub(crate) period_us: u64,
}

/// rt-app does not always come to its end.
const PATIENCE: Duration = Duration::from_secs(8);

/// Runs rt-app on a file in a directory, and kills it if it hangs.
pub(crate) fn run(directory: &Path, file: &str) -> Result<()> {
    let mut child = Command::new("rt-app")
        .arg(file)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("rt-app (Debian package rt-app)")?;
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "rt-app {file} ended with {status}");
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("rt-app {file} did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The log of a task.
pub(crate) fn read(directory: &Path, task: &str) -> Result<Vec<Loop>> {
    let path = directory.join(format!("log-{task}.log"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let line = |line: &str| -> Result<Loop> {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let column = |index: usize| -> Result<u64> {
            Ok(columns.get(index).context("a column is missing")?.parse()?)
        };
        Ok(Loop { run_us: column(2)?, period_us: column(3)? })
    };
    lines.map(line).collect()
}

/// CPU time in user mode that rt-app took for a file.
pub(crate) fn cpu_seconds(directory: &Path, file: &str) -> Result<f64> {
    let script = "timeout 20 rt-app \"$0\" >rt-app.log 2>&1 && times";
    let output = Command::new("bash").args(["-c", script, file]).current_dir(directory).output()?;
    ensure!(output.status.success(), "rt-app {file} ended with {}", output.status);
    // Two lines of user and system time: of the shell, then of what it started.
    let text = String::from_utf8_lossy(&output.stdout);
    let user = text.lines().nth(1).and_then(|line| line.split_whitespace().next());
    let (minutes, seconds) = user.and_then(|time| time.split_once('m')).context("times")?;
    Ok(minutes.parse::<f64>()? * 60.0 + seconds.trim_end_matches('s').parse::<f64>()?)
}
