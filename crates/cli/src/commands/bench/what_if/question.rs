// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be asked: how it is recorded, and what is other then.

use clap::ValueEnum;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Question {
    /// Nothing is other: what a recording itself is off by.
    Same,
    /// Recorded on one CPU: what if it had all?
    More,
    /// Recorded on all CPUs: what if it had one?
    Fewer,
    /// Recorded alone: what if there were hogs?
    Hogs,
    /// More CPUs, with hogs on them.
    MoreHogs,
    /// One CPU, with hogs on it.
    FewerHogs,
    /// Recorded twice at the same time: what if one of them had a higher nice value?
    Nice,
    /// What if it had longer slices?
    Slice,
}

/// How the command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    /// The first so many CPUs are the command's.
    pub(super) cpus: u32,
    /// Tasks that never sleep, on these CPUs.
    pub(super) hogs: u32,
    /// How many run at the same time.
    pub(super) copies: u32,
    /// By how much the second one's nice value is higher.
    pub(super) nice: i32,
    /// That all of its tasks ask for.
    pub(super) slice_ns: Option<u64>,
}

/// Those of the questions with hogs.
const HOGS: u32 = 4;
const NICE: i32 = 10;
const SLICE_NS: u64 = 3_000_000;

impl Question {
    pub(super) const ALL: [Question; 8] = [
        Question::Same,
        Question::More,
        Question::Fewer,
        Question::Hogs,
        Question::MoreHogs,
        Question::FewerHogs,
        Question::Nice,
        Question::Slice,
    ];

    /// Whether it needs a second CPU.
    pub(super) fn is_of_several_cpus(self) -> bool {
        matches!(self, Self::More | Self::Fewer | Self::MoreHogs | Self::FewerHogs)
    }

    /// How it is recorded, on a computer of so many CPUs.
    pub(super) fn recorded(self, cpus: u32) -> Setting {
        let cpus = if matches!(self, Self::More | Self::MoreHogs) { 1 } else { cpus };
        let copies = if self == Self::Nice { 2 } else { 1 };
        Setting { cpus, hogs: 0, copies, nice: 0, slice_ns: None }
    }

    /// How it is then asked for.
    pub(super) fn asked(self, cpus: u32) -> Setting {
        let recorded = self.recorded(cpus);
        let hogs = matches!(self, Self::Hogs | Self::MoreHogs | Self::FewerHogs);
        Setting {
            cpus: if matches!(self, Self::Fewer | Self::FewerHogs) { 1 } else { cpus },
            hogs: if hogs { HOGS } else { 0 },
            nice: if self == Self::Nice { NICE } else { 0 },
            slice_ns: (self == Self::Slice).then_some(SLICE_NS),
            ..recorded
        }
    }

    /// For people.
    pub(super) fn text(self, cpus: u32) -> String {
        let (recorded, asked) = (self.recorded(cpus).cpus, self.asked(cpus).cpus);
        let plural = |cpus: u32| if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") };
        match self {
            Self::Same => "nothing changed".into(),
            Self::More | Self::Fewer => format!("{}, not {recorded}", plural(asked)),
            Self::MoreHogs | Self::FewerHogs => {
                format!("{}, not {recorded}, and {HOGS} hogs", plural(asked))
            }
            Self::Hogs => format!("{HOGS} hogs"),
            Self::Nice => format!("nice {NICE} for the other of two"),
            Self::Slice => format!("slices of {} ms", SLICE_NS / 1_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_questions_but_one_ask_for_something_else_than_was_recorded() {
        for question in Question::ALL {
            let is_same = question.recorded(2) == question.asked(2);
            assert_eq!(is_same, question == Question::Same, "{question:?}");
        }
    }

    #[test]
    fn questions_name_their_cpus() {
        assert_eq!(Question::More.text(2), "2 CPUs, not 1");
        assert_eq!(Question::FewerHogs.text(4), "1 CPU, not 4, and 4 hogs");
    }
}
