// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a policy could not be brought into the kernel.

use rota_object::settings::SettingError;
use thiserror::Error;

/// Why a policy could not be brought into the kernel. Nothing was changed then.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The object cannot be read, or does not fit the running kernel.
    #[error(transparent)]
    Object(#[from] rota_object::error::LoadError),
    /// A setting cannot be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// What was asked for cannot be done with this object.
    #[error("{object}: {what}")]
    Unfit {
        /// Policy or file name.
        object: String,
        /// What is missing, and what was expected.
        what: String,
    },
    /// The running kernel's types cannot be read.
    #[error("cannot read the kernel's types from {path}: {why}")]
    KernelTypes {
        /// File.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The kernel refused the object; its log says why.
    #[error("{object}: the kernel refused {what}{}{}", rota_libbpf_log::tail(.log), hint(.what, .log))]
    Refused {
        /// Policy or file name.
        object: String,
        /// What it refused, and the error.
        what: String,
        /// All that libbpf and the verifier said.
        log: String,
    },
}

/// Causes that are known by a phrase of the error or the log, and what to do.
const HINTS: [(&str, &str); 5] = [
    (
        "incompatible with vmlinux",
        "this build of the kernel describes its functions wrongly (a defect of the build, not of \
         the policy); another version of the kernel package will do",
    ),
    (
        "failed to open system Kconfig",
        "the policy asks how the kernel was configured: make /proc/config.gz or \
         /boot/config-$(uname -r) readable",
    ),
    ("attach it: failed to attach struct_ops: Device or resource busy", "a scheduler is loaded"),
    ("os error 1)", "loading BPF programs needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"),
    (
        "BPF program is too large",
        "the verifier gave up: the policy has too many paths for this kernel",
    ),
];

fn hint(what: &str, log: &str) -> String {
    let known = HINTS.iter().find(|(phrase, _)| what.contains(phrase) || log.contains(phrase));
    known.map_or_else(String::new, |(_, hint)| format!("\n  hint: {hint}"))
}

impl LoadError {
    /// Is it the input's fault (usage), rather than this machine's?
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Setting(_) | Self::Unfit { .. })
    }

    /// The kernel's and libbpf's log; empty if the kernel was not asked.
    pub fn log(&self) -> &str {
        match self {
            Self::Refused { log, .. } => log,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(what: &str, log: &str) -> String {
        let (what, log) = (what.to_string(), log.to_string());
        LoadError::Refused { object: "mine".into(), what, log }.to_string()
    }

    #[test]
    fn the_end_of_the_log_is_shown() {
        let log: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
        let error = refused("to load it", &log);
        assert!(error.starts_with("mine: the kernel refused to load it\n  line 88\n"), "{error}");
        assert!(error.ends_with("\n  line 99"), "{error}");
    }

    #[test]
    fn known_causes_have_a_hint() {
        let log =
            "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': func_proto [7] incompatible with \
                   vmlinux [8]";
        let error = refused("to load it: EINVAL", log);
        assert!(error.contains("hint: this build of the kernel"), "{error}");
        assert!(refused("to load it: Operation not permitted (os error 1)", "").contains("root"));
        assert!(!refused("to load it: Permission denied (os error 13)", "").contains("hint"));
    }

    #[test]
    fn only_what_the_user_gave_is_bad_input() {
        let unfit = LoadError::Unfit { object: "a".into(), what: "b".into() };
        let refused = LoadError::Refused { object: "a".into(), what: "b".into(), log: "c".into() };
        assert!(unfit.is_input() && !refused.is_input());
        assert_eq!((unfit.log(), refused.log()), ("", "c"));
    }
}
