// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts a program.

use crate::bpf::Played;
use crate::computer;
use crate::confine::Confinement;
use crate::error::ProgramError;
use crate::files::Files;
use crate::kept::Kept;
use crate::log::Log;
use crate::play::scheduling::Asked;
use crate::program::{Parts, Program};
use crate::remote::Remote;
use crate::report::Report;
use crate::shown::Shown;
use crate::spawn::{refused_call, spawn, Spawned};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_machine::user_half::groups::at_start;
use rota_workload::Group;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Variables of the environment that a program gets, if they are set.
const PASSED_ON: [&str; 6] =
    ["PATH", "LD_LIBRARY_PATH", "RUST_LOG", "RUST_BACKTRACE", "LIBBPF_LOG_LEVEL", "PYTHONPATH"];

/// A program to start, and the machine that it finds.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program, a path or a name in `PATH`, and its arguments.
    pub command: Vec<OsString>,
    /// CPUs of the machine.
    pub topology: Topology,
    /// What `/sys` tells of them besides; `None`: of a flat machine.
    pub hardware: Option<Arc<Hardware>>,
    /// Its kernel.
    pub kernel: Kernel,
    /// Cgroups of the workload, which are there from the start.
    pub groups: Vec<Group>,
    /// CPU time that each system call takes, in nanoseconds.
    pub call_ns: u64,
    /// Decides its random numbers.
    pub seed: u64,
    /// File for what it prints.
    pub log: Option<PathBuf>,
    /// How long it may take, in real time, from one system call to the next.
    pub timeout: Duration,
}

impl Launch {
    /// The program as it was asked for.
    fn name(&self) -> String {
        self.command.first().map_or(String::new(), |word| word.to_string_lossy().into_owned())
    }
}

impl Program {
    /// Starts it: it is there, and has done nothing yet that the machine could see. It may write in
    /// a folder of its own only, which is removed when it ends and which `HOME` and `TMPDIR` name,
    /// and has no network.
    pub fn start(launch: Launch) -> Result<Self, ProgramError> {
        let log = Log::create(launch.log.as_deref()).map_err(|why| ProgramError::Io {
            program: launch.name(),
            doing: "making its log",
            why,
        })?;
        Self::start_with(launch, Report::default(), log)
    }

    /// One that follows another, and prints to the same file.
    pub(crate) fn start_after(
        launch: Launch,
        report: Report,
        log: &Log,
    ) -> Result<Self, ProgramError> {
        let (program, doing) = (launch.name(), "making its log");
        let log = log.share().map_err(|why| ProgramError::Io { program, doing, why })?;
        Self::start_with(launch, report, log)
    }

    fn start_with(launch: Launch, report: Report, log: Log) -> Result<Self, ProgramError> {
        let name = launch.name();
        let Launch { command, topology, hardware, kernel, groups, call_ns, seed, log: _, timeout } =
            launch;
        let mut words = command.iter();
        let program = words.next().cloned().unwrap_or_default();
        let io = |doing: &'static str| {
            let program = name.clone();
            move |why: io::Error| ProgramError::Io { program, doing, why }
        };
        let folder = folder(&topology).map_err(io("making its folder"))?;
        let (home, tree) = (folder.path().join("home"), folder.path().join("tree"));
        let socket_folder = folder.path().join("sockets");
        for path in [&home, &tree, &socket_folder] {
            std::fs::create_dir(path).map_err(io("making its folder"))?;
        }
        let played = Played::new(&kernel, topology.cpus());
        let mut all: Vec<(String, Vec<u8>)> =
            computer::files(&topology, hardware.as_deref(), &kernel)
                .into_iter()
                .map(|(path, text)| (path, text.into_bytes()))
                .collect();
        let groups = at_start(&groups, &CpuSet::first_n(topology.cpus()));
        let shown = Shown::first(&topology, groups);
        all.extend(shown.files().into_iter().map(|(path, text)| (path, text.into_bytes())));
        all.push(("/sys/kernel/btf/vmlinux".into(), played.btf_file().to_vec()));
        let files = Files::write(&tree, &all).map_err(io("making its files"))?;
        let confinement = confinement(&name, &home)?;
        let mut command = Command::new(&program);
        command.args(words).env_clear().stdin(Stdio::null());
        command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env("HOME", &home).env("TMPDIR", &home).env("LC_ALL", "C").env("TZ", "UTC");
        command.stdout(log.output().map_err(io("making its log"))?);
        command.stderr(log.output().map_err(io("making its log"))?);
        let Spawned { child, listener, first } =
            spawn(command, confinement).map_err(|why| not_started(&name, why))?;
        let pid = child.id();
        let memory = Remote::open(pid).map_err(io("reading its memory"))?;
        let raw = Pid::from_raw(pid as i32).ok_or(io::ErrorKind::NotFound);
        let pidfd = raw
            .map_err(io::Error::from)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from));
        let kept = Kept {
            pid,
            pidfd: pidfd.map_err(io("watching it"))?,
            memory,
            files,
            shown,
            watches_groups: false,
            topology,
            hardware,
            kernel,
            random: ChaCha8Rng::seed_from_u64(seed),
            played,
            pages: BTreeMap::new(),
            link: None,
            affinity: Vec::new(),
            asked: Asked::default(),
            epolls: BTreeMap::new(),
            socket_folder,
            sockets: BTreeMap::new(),
            patience: BTreeMap::new(),
            bound: 0,
            has_started: false,
            executes: false,
            report: report.clone(),
            told_notes: 0,
        };
        Program::of(Parts {
            name,
            child,
            listener,
            first,
            kept,
            log,
            timeout,
            call_ns,
            report,
            folder,
        })
    }
}

/// Where its files are: in memory, as making some thousand of them takes longer than many a run, but
/// not where a large machine would fill a small container's.
fn folder(topology: &Topology) -> io::Result<TempDir> {
    const FEW_CPUS: u32 = 128;
    let memory = Path::new("/dev/shm");
    let in_memory = (topology.cpus() <= FEW_CPUS).then(|| tempfile::tempdir_in(memory));
    match in_memory {
        Some(Ok(folder)) => Ok(folder),
        _ => tempfile::tempdir(),
    }
}

fn confinement(name: &str, home: &Path) -> Result<Confinement, ProgramError> {
    Confinement::to(home).map_err(|error| ProgramError::Computer {
        program: name.to_owned(),
        lacks: format!(
            "is not run, as this computer cannot keep it from writing files: Landlock of Linux 6.2 \
             or later is needed ({error})"
        ),
    })
}

/// Where the filter could not be installed it says so, else why there is no such program.
fn not_started(name: &str, why: io::Error) -> ProgramError {
    let program = name.to_owned();
    if let Some((call, why)) = refused_call(&why) {
        let lacks = format!(
            "is not run, as this computer refuses {call} ({why}): in a container a seccomp profile \
             that allows personality, bpf and pidfd_getfd is needed, as --security-opt \
             seccomp=unconfined; no capabilities are"
        );
        return ProgramError::Computer { program, lacks };
    }
    match why.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EBUSY | libc::EPERM) => ProgramError::Computer {
            program,
            lacks: format!(
                "is not run, as this computer lets nobody answer a program's system calls: seccomp \
                 user notification of Linux 5.14 or later is needed, and not inside another one \
                 ({why})"
            ),
        },
        _ => ProgramError::Start { program, why },
    }
}
