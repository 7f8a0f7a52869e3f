// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a policy was ejected, from the kernel's log: for objects that do not record it.

use crate::exit::Exit;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// `O_NONBLOCK` on all architectures that have sched_ext.
const O_NONBLOCK: i32 = 0o4000;
/// Largest record of `/dev/kmsg`.
const RECORD: usize = 8192;

/// The kernel's log from a moment on.
#[derive(Debug)]
pub(crate) struct KernelLog {
    file: Option<File>,
}

impl KernelLog {
    /// The log from now on. Without the right to read it, it stays empty.
    pub(crate) fn from_now() -> Self {
        let open = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open("/dev/kmsg");
        let at_end = |mut file: File| file.seek(SeekFrom::End(0)).is_ok().then_some(file);
        Self { file: open.ok().and_then(at_end) }
    }

    /// What it says about the end of a scheduler.
    pub(crate) fn exit_of(&self, scheduler: &str) -> Option<Exit> {
        let mut file = self.file.as_ref()?;
        let (mut lines, mut record) = (Vec::new(), [0; RECORD]);
        // Each read gives one record; one that was overwritten is an error, then comes the next.
        let mut lost = 0;
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(len) => lines.extend(message(&record[..len])),
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe && lost < 100 => lost += 1,
                Err(_) => break,
            }
        }
        exit_in(&lines, scheduler)
    }
}

/// The text of a record, `6,1234,5678,-;text`.
fn message(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (_, text) = text.split_once(';')?;
    Some(text.lines().next()?.to_string())
}

/// The kernel prints `sched_ext: BPF scheduler "NAME" disabled (REASON)`, and after an error
/// `sched_ext: NAME: MESSAGE`.
fn exit_in(lines: &[String], scheduler: &str) -> Option<Exit> {
    let disabled = format!("sched_ext: BPF scheduler \"{scheduler}\" disabled (");
    let at = lines.iter().rposition(|line| line.starts_with(&disabled))?;
    let reason = lines[at].strip_prefix(&disabled)?.trim_end().strip_suffix(')')?;
    let details = format!("sched_ext: {scheduler}: ");
    let message = lines[at + 1..].iter().find_map(|line| line.strip_prefix(&details));
    Some(Exit::said(reason, message.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(records: &[&str]) -> Vec<String> {
        records.iter().filter_map(|r| message(r.as_bytes())).collect()
    }

    #[test]
    fn the_last_end_of_that_scheduler_counts() {
        let lines = log(&[
            "6,700,12000,-;sched_ext: BPF scheduler \"mine\" disabled (unregistered from user space)",
            "3,701,13000,-;sched_ext: BPF scheduler \"mine\" disabled (runtime error)\n SUBSYSTEM=x\n",
            "3,702,13001,-;sched_ext: mine: invalid DSQ ID 0x7b",
            "3,703,14000,-;sched_ext: BPF scheduler \"other\" disabled (scx_bpf_error)",
        ]);
        let exit = exit_in(&lines, "mine").expect("an end");
        assert_eq!(exit.to_string(), "runtime error (invalid DSQ ID 0x7b)");
        assert_eq!(exit.kind, 1024);
        assert_eq!(exit_in(&lines, "other").expect("an end").message, "");
        assert_eq!(exit_in(&lines, "third"), None);
    }

    #[test]
    fn an_unknown_reason_is_kept_as_it_is() {
        let lines = log(&["3,1,2,-;sched_ext: BPF scheduler \"a\" disabled (something (new))"]);
        let exit = exit_in(&lines, "a").expect("an end");
        assert_eq!((exit.reason.as_str(), exit.kind), ("something (new)", 0));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(records in prop::collection::vec(".{0,80}", 0..8), name in ".{0,8}") {
            let lines: Vec<String> =
                records.iter().filter_map(|r| message(r.as_bytes())).collect();
            let _ = exit_in(&lines, &name);
        }
    }
}
