// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls of a scheduler's program need, and what is told of them.

use crate::bpf::{ObjectId, Played as PlayedBpf};
use crate::files::Files;
use crate::play::epoll::Watched;
use crate::play::scheduling::Asked;
use crate::remote::Remote;
use crate::report::Report;
use crate::shown::Shown;
use rand_chacha::ChaCha8Rng;
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_machine::user_half::Live;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What calls of the program need.
pub(crate) struct Kept {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
    pub(crate) memory: Remote,
    pub(crate) files: Files,
    /// What those say that follow the machine.
    pub(crate) shown: Shown,
    /// It has asked to be told of changes in cgroups.
    pub(crate) watches_groups: bool,
    pub(crate) topology: Topology,
    pub(crate) hardware: Option<Arc<Hardware>>,
    pub(crate) kernel: Kernel,
    pub(crate) random: ChaCha8Rng,
    pub(crate) played: PlayedBpf,
    pub(crate) pages: BTreeMap<ObjectId, File>,
    /// The link that attaches its scheduler.
    pub(crate) link: Option<ObjectId>,
    /// CPUs that it allows itself; all if there is none.
    pub(crate) affinity: Vec<u32>,
    /// Its priority and class.
    pub(crate) asked: Asked,
    /// Ring buffers that it watches, by the descriptor of the epoll instance.
    pub(crate) epolls: BTreeMap<i32, Vec<Watched>>,
    /// Where its sockets are: not where it may write to.
    pub(crate) socket_folder: PathBuf,
    /// Sockets that it has bound: where they are, by its path.
    pub(crate) sockets: BTreeMap<Vec<u8>, PathBuf>,
    /// For how long calls wait for its sockets, in nanoseconds.
    pub(crate) patience: BTreeMap<PathBuf, u64>,
    /// How many it has bound.
    pub(crate) bound: u32,
    /// It has started other processes.
    pub(crate) has_started: bool,
    /// It was to execute another program, and nobody knows yet whether it has.
    pub(crate) executes: bool,
    pub(crate) report: Report,
    /// How many of the played kernel's notes are in the report.
    pub(crate) told_notes: usize,
}

impl Kept {
    /// Keeps that something is not played.
    pub(crate) fn unplayed(&mut self, what: &str) {
        self.report.tell_unplayed(what);
    }

    /// The files say what is so in the machine now.
    pub(crate) fn follow(&mut self, live: &Live<'_>) {
        let hardware = (&self.topology, self.hardware.as_deref());
        if self.shown.follow(live.system, hardware, &self.files).is_err() {
            self.unplayed("files of CPUs or cgroups after a change");
        }
    }

    /// Keeps that the simulated machine has no such file.
    pub(crate) fn missed(&mut self, path: &[u8]) {
        let path = String::from_utf8_lossy(path);
        if !NOT_OF_LINUX.contains(&&*path) {
            self.unplayed(&format!("the file {}, which is not there", of_any_number(&path)));
        }
    }
}

/// A path as that of all CPUs, nodes and the like: `/sys/devices/system/cpu/cpuN/online`.
fn of_any_number(path: &str) -> String {
    let of_any = |part: &str| match part.trim_end_matches(|c: char| c.is_ascii_digit()) {
        name if name.len() < part.len() => format!("{name}N"),
        name => name.to_owned(),
    };
    path.split('/').map(of_any).collect::<Vec<_>>().join("/")
}

/// What libraries look for, and no kernel has, or not each: of Ubuntu's kernels, and where a
/// container's BPF token would be.
const NOT_OF_LINUX: [&str; 2] = ["/proc/version_signature", "/sys/fs/bpf"];
