// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the values of the options of `rota bench` mean.

use crate::options::duration;
use rota_bench::interactivity::{Load, Task};
use rota_bench::servers::{Background, Mode, Server};
use rota_bench::shares;
use rota_workload::parse_duration;

const TASKS: [(&str, Task); 3] = [("audio", Task::Audio), ("video", Task::Video), ("x", Task::X)];

const LOADS: [(&str, Load); 6] = [
    ("none", Load::None),
    ("audio", Load::Audio),
    ("video", Load::Video),
    ("x", Load::X),
    ("burn", Load::Burn),
    ("full", Load::Full),
];

/// What `--task` calls an interactive task.
pub(super) fn task_name(task: Task) -> &'static str {
    TASKS.iter().find(|(_, of)| *of == task).map_or("", |(name, _)| name)
}

/// What `--load` calls a load.
pub(super) fn load_name(load: Load) -> &'static str {
    LOADS.iter().find(|(_, of)| *of == load).map_or("", |(name, _)| name)
}

/// An interactive task.
pub(super) fn task(text: &str) -> Result<Task, String> {
    named(text, TASKS.into_iter())
}

/// A load beside interactive tasks.
pub(super) fn load(text: &str) -> Result<Load, String> {
    named(text, LOADS.into_iter())
}

/// A real server.
pub(super) fn server(text: &str) -> Result<Server, String> {
    named(text, Server::ALL.iter().map(|server| (server.name(), *server)))
}

/// What is done for a server.
pub(super) fn mode(text: &str) -> Result<Mode, String> {
    named(text, Mode::ALL.iter().map(|mode| (mode.name(), *mode)))
}

/// What runs beside a server.
pub(super) fn background(text: &str) -> Result<Background, String> {
    named(text, Background::ALL.iter().map(|background| (background.name(), *background)))
}

/// A task that begins and has work: `BEGIN:TIME`.
pub(super) fn timed_task(text: &str) -> Result<shares::Task, String> {
    let expected = "expected BEGIN:TIME, for instance 1s:2.5s";
    let (start, work) = text.split_once(':').ok_or(expected)?;
    let start_ns = parse_duration(start).map_err(|e| e.to_string())?;
    Ok(shares::Task { start_ns, work_ns: duration(work)? })
}

/// The one of that name.
fn named<'a, T>(text: &str, all: impl Iterator<Item = (&'a str, T)> + Clone) -> Result<T, String> {
    let found = all.clone().find(|(name, _)| *name == text).map(|(_, of)| of);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.map(|(name, _)| name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_name_is_read_as_it_is_printed() {
        assert!(TASKS.iter().all(|(name, of)| task(name) == Ok(*of) && task_name(*of) == *name));
        assert!(LOADS.iter().all(|(name, of)| load(name) == Ok(*of) && load_name(*of) == *name));
        for bad in ["X", "", "none", "audio "] {
            assert_eq!(task(bad).expect_err(bad), "expected one of audio, video, x");
        }
        assert_eq!(server("video"), Ok(Server::Video));
        assert_eq!(mode("boost-autogroups"), Ok(Mode::BoostAutogroups));
        let error = background("quiet").expect_err("there is no such");
        assert_eq!(error, "expected one of compile, chatty");
    }

    #[test]
    fn a_task_is_its_begin_and_its_work() {
        let both = |text| timed_task(text).map(|task| (task.start_ns, task.work_ns));
        assert_eq!(both("1s:2.5s"), Ok((1_000_000_000, 2_500_000_000)));
        assert_eq!(both("0s:1ms"), Ok((0, 1_000_000)));
        for bad in ["", "1s", ":", "1s:0s", "0x:1s", "1s:2s:3s", "-1s:1s"] {
            assert!(timed_task(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_given_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = timed_task(&text);
        }
    }
}
