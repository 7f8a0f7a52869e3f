// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a policy was ejected, from the kernel's log: for objects that do not record it.

use crate::exit::Exit;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// `O_NONBLOCK` on all architectures that have sched_ext.
const O_NONBLOCK: i32 = 0o4000;
/// Largest record of `/dev/kmsg`.
const RECORD: usize = 8192;
/// Reads that find their record overwritten, before this gives up.
const MOST_LOST: u32 = 100;
/// How the lines begin.
const ABOUT: &str = "sched_ext: ";

/// The kernel's log from a moment on.
#[derive(Debug)]
pub struct KernelLog {
    file: Option<File>,
    /// Lines about sched_ext that were read: the kernel gives each one once.
    lines: RefCell<Vec<String>>,
}

impl KernelLog {
    /// The log from now on. Without the right to read it, it stays empty.
    pub fn from_now() -> Self {
        let open = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open("/dev/kmsg");
        let at_end = |mut file: File| file.seek(SeekFrom::End(0)).is_ok().then_some(file);
        Self { file: open.ok().and_then(at_end), lines: RefCell::default() }
    }

    /// What it says about the end of a scheduler.
    pub fn exit_of(&self, scheduler: &str) -> Option<Exit> {
        self.read();
        exit_in(&self.lines.borrow(), scheduler)
    }

    /// The schedulers that ended by now, as often as they did.
    pub fn ended(&self) -> Vec<String> {
        self.read();
        let lines = self.lines.borrow();
        lines.iter().filter_map(|line| Some(disabled(line)?.0.to_owned())).collect()
    }

    fn read(&self) {
        if let Some(file) = &self.file {
            self.lines.borrow_mut().extend(messages(file));
        }
    }
}

/// What can be read now about sched_ext.
fn messages(mut log: impl Read) -> Vec<String> {
    let (mut lines, mut record) = (Vec::new(), [0; RECORD]);
    // Each read gives one record; one that was overwritten is an error, then comes the next.
    let mut lost = 0;
    loop {
        match log.read(&mut record) {
            Ok(0) => return lines,
            Ok(len) => lines.extend(message(&record[..len]).filter(|m| m.starts_with(ABOUT))),
            Err(e) if e.kind() == ErrorKind::BrokenPipe && lost < MOST_LOST => lost += 1,
            Err(_) => return lines,
        }
    }
}

/// The text of a record, `6,1234,5678,-;text`.
fn message(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (_, text) = text.split_once(';')?;
    Some(text.lines().next()?.to_string())
}

/// The scheduler's name and the reason in `sched_ext: BPF scheduler "NAME" disabled (REASON)`.
fn disabled(line: &str) -> Option<(&str, &str)> {
    let named = line.strip_prefix("sched_ext: BPF scheduler \"")?;
    let (name, reason) = named.split_once("\" disabled (")?;
    Some((name, reason.trim_end().strip_suffix(')')?))
}

/// The kernel prints that a scheduler was disabled, and after an error `sched_ext: NAME: MESSAGE`.
fn exit_in(lines: &[String], scheduler: &str) -> Option<Exit> {
    let of = |line: &String| disabled(line).is_some_and(|(name, _)| name == scheduler);
    let at = lines.iter().rposition(of)?;
    let (_, reason) = disabled(&lines[at])?;
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

    /// As `/dev/kmsg`: a record for each read, an error for a lost one.
    struct Device(Vec<Result<&'static str, ErrorKind>>);

    impl Read for Device {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            match self.0.pop() {
                Some(Ok(record)) => {
                    to[..record.len()].copy_from_slice(record.as_bytes());
                    Ok(record.len())
                }
                Some(Err(kind)) => Err(kind.into()),
                None => Err(ErrorKind::WouldBlock.into()),
            }
        }
    }

    #[test]
    fn a_lost_record_does_not_end_the_log() {
        let device = Device(vec![
            Ok("3,3,3,-;sched_ext: mine: too late"),
            Ok("6,2,2,-;usb 1-1: new device"),
            Err(ErrorKind::BrokenPipe),
            Ok("3,1,1,-;sched_ext: BPF scheduler \"mine\" disabled (scx_bpf_error)"),
        ]);
        let lines = messages(device);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(exit_in(&lines, "mine").expect("an end").kind, 1025);
    }

    #[test]
    fn a_log_that_is_only_lost_records_ends() {
        assert!(messages(Device(vec![Err(ErrorKind::BrokenPipe); 1000])).is_empty());
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
        let named: Vec<_> = lines.iter().filter_map(|line| Some(disabled(line)?.0)).collect();
        assert_eq!(named, ["mine", "mine", "other"]);
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
