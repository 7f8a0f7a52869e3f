// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends records to the host.

use anyhow::{Context, Result};
use rota_guest::record::Record;
use rota_guest::RECORDS_PORT;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// Serial line for records, and the kernel's log for what a reader of the console wants to see.
pub(crate) struct Records {
    records: File,
    log: File,
}

impl Records {
    pub(crate) fn open() -> Result<Records> {
        let open = |path| File::options().write(true).open(path).context(path);
        let _ = std::process::Command::new("/bin/busybox")
            .args(["stty", "-F", RECORDS_PORT, "raw"])
            .status();
        Ok(Records { records: open(RECORDS_PORT)?, log: open("/dev/kmsg")? })
    }

    pub(crate) fn send(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_string(record)?;
        line.push('\n');
        self.records.write_all(line.as_bytes()).context(RECORDS_PORT)
    }

    /// A line on the console, in order with the kernel's own.
    pub(crate) fn say(&mut self, text: &str) {
        // Level 3 is shown like an error. Without a log nothing is lost but comfort.
        for line in text.lines() {
            // One write is one record.
            let _ = self.log.write_all(format!("<3>rota-guest: {line}\n").as_bytes());
        }
    }
}

/// Time since boot.
pub(crate) fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
