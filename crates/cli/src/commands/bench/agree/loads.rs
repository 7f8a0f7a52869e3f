// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is played: loads of this program, or files of the user.

use super::{AgreeArgs, AgreeLoad};
use crate::commands::bench::computer::Computer;
use crate::error::Error;
use crate::load::Load;
use crate::output::units;
use rota_workload::{Policy, Workload};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Length of a run of a load that does not say.
const DURATION_NS: u64 = 6_000_000_000;

/// The begin of a run of a load of ours, which is left out: where the threads are then, and what
/// the kernel knows of them, is not what the simulator has.
const WARMUP_NS: u64 = 1_000_000_000;

/// Something to play.
pub(super) struct Played {
    pub(super) name: String,
    pub(super) workload: Arc<Workload>,
    pub(super) duration_ns: u64,
    pub(super) warmup_ns: u64,
    file: File,
}

enum File {
    Users(PathBuf),
    Ours(NamedTempFile),
}

impl Played {
    pub(super) fn path(&self) -> &Path {
        match &self.file {
            File::Users(path) => path,
            File::Ours(file) => file.path(),
        }
    }
}

/// The files that the user named, else this program's loads.
pub(super) fn of(args: &AgreeArgs, computer: &Computer) -> Result<Vec<Played>, Error> {
    let played = |name: String, file: File| -> Result<Played, Error> {
        let path = match &file {
            File::Users(path) => path.as_path(),
            File::Ours(file) => file.path(),
        };
        let workload = Load::read(path)?.workload;
        check(&workload, computer.cpus).map_err(|why| Error::Input(format!("{name}: {why}")))?;
        let duration_ns = args.duration.or(workload.duration_ns).unwrap_or(DURATION_NS);
        let usual_ns = match file {
            File::Users(_) => 0,
            File::Ours(_) => WARMUP_NS,
        };
        let warmup_ns = args.warmup.unwrap_or(usual_ns);
        if warmup_ns >= duration_ns {
            return Err(Error::Input(format!(
                "{name}: a warm-up of {} leaves nothing of a run of {}, expected less",
                units::duration(warmup_ns),
                units::duration(duration_ns)
            )));
        }
        Ok(Played { name, workload, duration_ns, warmup_ns, file })
    };
    if args.workload.is_empty() {
        let ours = |load: &AgreeLoad| {
            let file = temporary(&text(*load, computer.cpus))
                .map_err(|e| Error::Failure(format!("cannot write a temporary file: {e}")))?;
            played(load.name().to_owned(), File::Ours(file))
        };
        return args.load.iter().map(ours).collect();
    }
    let users = |path: &PathBuf| played(path.display().to_string(), File::Users(path.clone()));
    args.workload.iter().map(users).collect()
}

fn temporary(text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_suffix(".json")?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// What threads of one process cannot do, or not alike on both sides.
fn check(workload: &Workload, cpus: u32) -> Result<(), String> {
    for task in workload.tasks.iter() {
        let settings = &task.settings;
        let why = if settings.policy == Policy::Ext {
            "the class SCHED_EXT"
        } else if settings.migrate_disable {
            "disabled migration"
        } else if settings.core_cookie.is_some() {
            "a core scheduling cookie"
        } else if settings.weight.is_some() || settings.share.is_some() {
            "a weight or share of its own"
        } else if settings.cpus.iter().any(|list| list.iter().any(|cpu| *cpu >= cpus)) {
            "CPUs that this computer does not have"
        } else {
            continue;
        };
        let name = workload.name_of(task);
        return Err(format!("task \"{name}\" has {why}: that cannot be played"));
    }
    Ok(())
}

/// The tasks of this program's loads, for a computer with so many CPUs.
fn text(load: AgreeLoad, cpus: u32) -> String {
    let hogs = |n: u32| format!(r#""hog": {{"instance": {n}, "loop": -1, "run": 100000}}"#);
    let frames = |n: u32| {
        format!(
            r#""frame": {{"instance": {n}, "loop": -1, "run": 4000, "timer": {{"ref": "unique", "period": 16667}}}}"#
        )
    };
    let packets = |n: u32| {
        format!(
            r#""packet": {{"instance": {n}, "loop": -1, "run": 60, "timer": {{"ref": "unique", "period": 1000}}}}"#
        )
    };
    let nice = |n: u32| {
        format!(r#""nice": {{"instance": {n}, "priority": 10, "loop": -1, "run": 100000}}"#)
    };
    let tasks = match load {
        AgreeLoad::Hogs => vec![hogs(2 * cpus + 1)],
        AgreeLoad::Frames => vec![frames(cpus), hogs(cpus)],
        AgreeLoad::Packets => vec![packets(cpus), hogs(cpus)],
        AgreeLoad::Nice => vec![nice(cpus), hogs(cpus)],
        AgreeLoad::Together => vec![hogs(cpus), frames(cpus), packets(cpus), nice(cpus)],
    };
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    fn parsed(text: &str) -> Workload {
        rota_workload::parse("load.json", text).unwrap()
    }

    #[test]
    fn every_load_of_ours_can_be_played_on_any_number_of_cpus() {
        for load in AgreeLoad::value_variants().iter().copied() {
            for cpus in [1, 2, 64] {
                let workload = parsed(&text(load, cpus));

                assert_eq!(check(&workload, cpus), Ok(()), "{load:?} {cpus}");
                assert!(workload.tasks.len() > cpus as usize, "{load:?} {cpus}");
            }
        }
    }

    #[test]
    fn what_cannot_be_played_is_refused_with_the_task_and_the_reason() {
        for (task, why) in [
            (r#""policy": "SCHED_EXT", "run": 10"#, "the class SCHED_EXT"),
            (r#""weight": 50, "run": 10"#, "a weight or share"),
            (r#""cpus": [7], "run": 10"#, "CPUs that this computer"),
        ] {
            let workload = parsed(&format!(r#"{{"tasks": {{"odd": {{{task}}}}}}}"#));

            let refused = check(&workload, 2).unwrap_err();

            assert!(refused.starts_with(&format!("task \"odd\" has {why}")), "{refused}");
        }
    }
}
