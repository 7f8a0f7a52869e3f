// SPDX-License-Identifier: MIT OR Apache-2.0
//! X and what runs beside it, as a workload file. With the defaults they are the shipped
//! `workloads/xwindow-*.json`.

use std::fmt::Write as _;

/// Until X begins, as Interbench has its load run for a second before it measures.
pub(super) const LEAD_US: u64 = 1_000_000;
/// Of a test [O1CFS §4.1].
pub(super) const TEST_S: u64 = 60;
/// X wants 0 % first, then one more in each step, 100 % in the last.
pub(super) const STEPS: u64 = 101;

/// What runs beside X [O1CFS §4.1, Table 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Load {
    /// 5 %, every 50 ms.
    Audio,
    /// 40 %, 60 times a second.
    Video,
    /// All there is.
    Full,
}

pub(super) const LOADS: [Load; 3] = [Load::Audio, Load::Video, Load::Full];

impl Load {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Full => "full",
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Full => "a full load",
            named => named.name(),
        }
    }
}

/// What X does when it was kept from ending a step in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Late {
    /// It rests as long as ever.
    Rests,
    /// The next step begins when it was to begin, or at once.
    HurriesOn,
}

/// What the paper does not say of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tasks {
    /// Length of a step of X: its work and its rest.
    pub(super) step_us: u64,
    pub(super) late: Late,
    /// Threads of the full load.
    pub(super) busy: u32,
}

/// Interbench's steps of X, and one busy thread for the one CPU, as its manual has it.
pub(super) const TASKS: Tasks = Tasks { step_us: 100_000, late: Late::Rests, busy: 1 };

impl Tasks {
    /// The file, without words about it. Where a task begins in its period is drawn from the
    /// run's seed: nothing else differs from one repetition to the next.
    pub(super) fn file(&self, load: Load) -> String {
        let seconds = TEST_S + (LEAD_US + self.step_us).div_ceil(1_000_000);
        let mut text = format!("{{\n\t\"global\" : {{ \"duration\" : {seconds} }},\n");
        text.push_str("\t\"tasks\" : {\n\t\t\"x\" : {\n");
        let _ = writeln!(text, "\t\t\t{},", delay(LEAD_US, LEAD_US + self.step_us));
        text.push_str("\t\t\t\"phases\" : {\n");
        for percent in 0..STEPS {
            let run = self.step_us * percent / 100;
            let rest = match self.late {
                Late::Rests => format!("\"sleep\" : {}", self.step_us - run),
                Late::HurriesOn => timer(self.step_us),
            };
            let comma = if percent + 1 < STEPS { "," } else { "" };
            let _ = writeln!(text, "\t\t\t\t\"x{percent}\" : {{ \"run\" : {run}, {rest} }}{comma}");
        }
        text.push_str("\t\t\t}\n\t\t},\n");
        let beside = match load {
            Load::Audio => periodic(2_500, 50_000),
            Load::Video => periodic(6_667, 16_667),
            Load::Full => {
                let delay = delay(0, TASKS.step_us);
                format!(
                    "{{\n\t\t\t\"instance\" : {}, {delay},\n\t\t\t\"run\" : 100000\n\t\t}}",
                    self.busy
                )
            }
        };
        let _ = writeln!(text, "\t\t\"{}\" : {beside}\n\t}}\n}}", load.name());
        text
    }
}

fn delay(from_us: u64, to_us: u64) -> String {
    format!("\"delay\" : {{ \"dist\" : \"uniform\", \"min\" : {from_us}, \"max\" : {to_us} }}")
}

fn timer(period_us: u64) -> String {
    let reference = "\"ref\" : \"unique\"";
    format!("\"timer\" : {{ {reference}, \"period\" : {period_us}, \"mode\" : \"absolute\" }}")
}

fn periodic(run_us: u64, period_us: u64) -> String {
    let (delay, timer) = (delay(0, period_us), timer(period_us));
    format!("{{\n\t\t\t{delay},\n\t\t\t\"run\" : {run_us}, {timer}\n\t\t}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_shipped_workloads() {
        for load in LOADS {
            let path = format!(
                "{}/../../workloads/xwindow-{}.json",
                env!("CARGO_MANIFEST_DIR"),
                load.name()
            );
            let shipped = std::fs::read_to_string(&path).expect("it is there");
            assert!(shipped.ends_with(&format!("*/\n{}", TASKS.file(load))), "{path}");
        }
    }

    #[test]
    fn every_step_is_as_long_as_any_other() {
        for late in [Late::Rests, Late::HurriesOn] {
            let tasks = Tasks { step_us: 10_000, late, busy: 4 };
            for load in LOADS {
                let file = tasks.file(load);
                rota_workload::parse("x", &file).expect("is a workload");
                assert_eq!(file.matches("\"run\"").count() as u64, STEPS + 1);
            }
        }
        let file = TASKS.file(Load::Full);
        assert!(file.contains("\"x37\" : { \"run\" : 37000, \"sleep\" : 63000 }"), "{file}");
    }
}
