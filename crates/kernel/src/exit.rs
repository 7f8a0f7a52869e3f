// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a policy left the kernel: `struct scx_exit_info`, as the object recorded it.

use rota_object::btf::{Btf, Type, TypeId};
use rota_object::image::{Image, Variable};
use std::fmt;

/// `SCX_EXIT_UNREG`: user space took it away.
const UNREG: u32 = 64;
/// `SCX_EXIT_UNREG_BPF`: it asked to leave.
const UNREG_BPF: u32 = 65;
/// `SCX_EXIT_UNREG_KERN`: the kernel took it away.
const UNREG_KERN: u32 = 66;
/// `scx_exit_reason()`.
const REASONS: [(u32, &str); 8] = [
    (UNREG, "unregistered from user space"),
    (UNREG_BPF, "unregistered from BPF"),
    (UNREG_KERN, "unregistered from the main kernel"),
    (67, "disabled by sysrq-S"),
    (68, "parent exiting"),
    (ERROR, "runtime error"),
    (1025, "scx_bpf_error"),
    (1026, "runnable task stall"),
];
/// `SCX_EXIT_ERROR`: the first kind that is the policy's failure.
const ERROR: u32 = 1024;
/// `SCX_ECODE_RSN_HOTPLUG`.
const RSN_HOTPLUG: u64 = 1 << 32;
/// `SCX_ECODE_ACT_RESTART`.
const ACT_RESTART: u64 = 1 << 48;
/// Bits of the action in an exit code.
const ACT_MASK: u64 = 0xffff << 48;

/// Why and how a policy left the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// `enum scx_exit_kind`; 0 if the kernel did not say.
    pub kind: u32,
    /// Exit code of a graceful exit.
    pub code: i64,
    /// The kind in words.
    pub reason: String,
    /// Details; empty for an ordinary end.
    pub message: String,
    /// Debug dump, as `ops.dump()` and the kernel wrote it.
    pub dump: String,
}

impl Exit {
    /// The end that the user wanted, of an object that records nothing.
    pub(crate) fn by_user() -> Self {
        Self::said(REASONS[0].1, "")
    }

    /// An end that the kernel told of in these words.
    pub(crate) fn said(reason: &str, message: &str) -> Self {
        let kind = REASONS.iter().find(|(_, words)| *words == reason).map_or(0, |(kind, _)| *kind);
        Self { kind, reason: reason.into(), message: message.into(), ..Self::default() }
    }

    /// The same, knowing that a CPU came or went: if it was the kernel that ended it, that
    /// is why.
    pub(crate) fn because_of_hotplug(self) -> Self {
        let code = if self.kind == UNREG_KERN { (ACT_RESTART | RSN_HOTPLUG) as i64 } else { 0 };
        Self { code, ..self }
    }

    /// An end that nobody told of.
    pub(crate) fn unknown() -> Self {
        Self::said("no longer loaded, for a reason that is not in the kernel's log", "")
    }

    /// Does the kernel count it as the policy's failure? An unknown reason is one.
    pub fn is_error(&self) -> bool {
        self.kind >= ERROR || self.kind == 0
    }

    /// Was it the ordinary end, on behalf of the user?
    pub fn by_user_space(&self) -> bool {
        self.kind == UNREG
    }

    /// Does the kernel, or the policy, ask to be loaded again: a CPU came or went.
    pub fn restart_requested(&self) -> bool {
        !self.is_error() && self.code as u64 & ACT_MASK == ACT_RESTART
    }
}

/// As `rota sim` and loaders of sched_ext schedulers print it.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.message)
    }
}

/// Where an object records its exit: the convention of sched_ext schedulers, a global
/// `struct user_exit_info`, and beside it `<name>_dump` and `<name>_dump_len`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The variable.
    pub(crate) name: String,
    ty: TypeId,
}

impl Record {
    /// The record of an object; `None` if it has none.
    pub(crate) fn of(image: &Image) -> Option<Self> {
        let is_record = |v: &&Variable| matches!(image.btf.resolved(v.ty), Type::Struct(s) if s.name == "user_exit_info");
        let found = image.variables.iter().find(is_record)?;
        Some(Self { name: found.name.clone(), ty: found.ty })
    }

    /// Name of the text array of the debug dump.
    pub(crate) fn dump(&self) -> String {
        format!("{}_dump", self.name)
    }

    /// Name of the read-only variable with the size of that array.
    pub(crate) fn dump_len(&self) -> String {
        format!("{}_dump_len", self.name)
    }

    /// What the record says, but for the dump; `None` while the policy runs: the kind is written last.
    pub(crate) fn read(&self, btf: &Btf, record: &[u8]) -> Option<Exit> {
        let kind = self.number(btf, record, "kind")? as u32;
        (kind != 0).then(|| Exit {
            kind,
            code: self.number(btf, record, "exit_code").unwrap_or(0) as i64,
            reason: self.text(btf, record, "reason"),
            message: self.text(btf, record, "msg"),
            dump: String::new(),
        })
    }

    fn member<'a>(&self, btf: &Btf, record: &'a [u8], member: &str) -> Option<&'a [u8]> {
        let field = btf.field_at(self.ty, member).ok()?;
        let start = field.offset() as usize;
        record.get(start..start + field.size as usize)
    }

    fn number(&self, btf: &Btf, record: &[u8], member: &str) -> Option<u64> {
        let bytes = self.member(btf, record, member).filter(|b| b.len() <= 8)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn text(&self, btf: &Btf, record: &[u8], member: &str) -> String {
        text_of(self.member(btf, record, member).unwrap_or(&[]))
    }
}

/// Text up to the first NUL.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::image;
    use proptest::prelude::*;

    /// A record of a shipped policy, with its members filled by name.
    fn record(members: &[(&str, &[u8])]) -> (Image, Record, Vec<u8>) {
        let image = image("wfq");
        let record = Record::of(&image).expect("policies record their exit");
        let mut bytes = vec![0; image.btf.size_of(record.ty).expect("a size") as usize];
        for (member, value) in members {
            let field = image.btf.field_at(record.ty, member).expect("a member");
            let start = field.offset() as usize;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        (image, record, bytes)
    }

    #[test]
    fn members_of_the_record_are_found_by_name() {
        let (image, record, bytes) = record(&[
            ("kind", &1025u32.to_le_bytes()),
            ("exit_code", &(-7i64).to_le_bytes()),
            ("reason", b"scx_bpf_error"),
            ("msg", b"too late"),
        ]);
        let exit = record.read(&image.btf, &bytes).expect("it ended");
        assert_eq!((exit.kind, exit.code), (1025, -7));
        assert_eq!(exit.to_string(), "scx_bpf_error (too late)");
    }

    #[test]
    fn a_record_without_a_kind_is_no_exit_yet() {
        let (image, record, bytes) = record(&[("reason", b"scx_bpf_error"), ("msg", b"x")]);
        assert_eq!(record.read(&image.btf, &bytes), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
            let (image, found, _) = record(&[]);
            if let Some(exit) = found.read(&image.btf, &bytes) {
                prop_assert_ne!(exit.kind, 0);
                prop_assert!(!exit.reason.contains('\0') && !exit.message.contains('\0'));
            }
        }
    }

    #[test]
    fn words_are_those_of_the_kernel() {
        let plain = Exit { kind: 64, reason: "a reason".into(), ..Exit::default() };
        assert_eq!(plain.to_string(), "a reason");
        assert_eq!(Exit { message: "b".into(), ..plain }.to_string(), "a reason (b)");
        assert_eq!(Exit::said("runnable task stall", "x").kind, 1026);
        assert_eq!(Exit::by_user().to_string(), "unregistered from user space");
        assert!(Exit::by_user().by_user_space() && !Exit::by_user().is_error());
        assert!(Exit::unknown().is_error());
    }

    #[test]
    fn restart_is_asked_for_by_the_action_in_the_code() {
        let with = |kind, code| Exit { kind, code, ..Exit::default() }.restart_requested();
        assert!(with(66, 1 << 48 | 1 << 32), "hotplug");
        assert!(with(65, 1 << 48 | 7), "a policy may ask for it too");
        assert!(!with(66, 1 << 32) && !with(66, 1 << 49) && !with(66, 0));
        assert!(!with(1024, 1 << 48), "a failure is no request");
        let said = |reason| Exit::said(reason, "").because_of_hotplug().restart_requested();
        assert!(said("unregistered from the main kernel"));
        assert!(!said("unregistered from user space") && !said("runtime error"));
    }
}
