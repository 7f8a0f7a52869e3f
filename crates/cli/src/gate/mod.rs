// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions on what a comparison found, by which a run of continuous integration passes or fails:
//! `p99_wakeup worse by 5%`, `wakeup_p99("ui") < 5ms`, `exit == ok`.

mod judge;
mod parse;

pub(crate) use judge::{judge, Judgement, Seen, Verdict};

use crate::error::Error;
use crate::load::Load;
use crate::metric::{self, Metric};
use crate::nearest;
use rota_session::Given;

/// A condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// As the user wrote it.
    pub(crate) text: String,
    what: What,
}

/// What it is about.
#[derive(Clone, Debug)]
enum What {
    /// How the runs ended.
    Exit { is: bool, ending: Ending },
    /// The mean over the seeds, compared with a number.
    Limit { metric: Metric, sign: Sign, limit: f64 },
    /// The mean over the seeds, which is in a range.
    Within { metric: Metric, low: f64, high: f64 },
    /// Compared with another policy.
    Against { metric: Metric, is: bool, way: Way, than: Option<String>, by: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Of every run: after its whole time.
    Ok,
    /// Of one run at least.
    Ejected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Above,
    AtLeast,
    Below,
    AtMost,
    Is,
    IsNot,
}

/// Which way another policy's number is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Worse,
    Better,
}

/// A condition, judged for a policy of a stage, which are places in the comparison.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) stage: usize,
    pub(crate) policy: usize,
    pub(crate) condition: String,
    /// It was to hold and does not, or the other way round; or nothing tells.
    pub(crate) failed: bool,
    pub(crate) found: Judgement,
}

impl Condition {
    /// Reads one; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.trim().to_owned(), what: parse::what(text)? })
    }

    fn metric(&self) -> Option<&Metric> {
        match &self.what {
            What::Exit { .. } => None,
            What::Limit { metric, .. }
            | What::Within { metric, .. }
            | What::Against { metric, .. } => Some(metric),
        }
    }

    /// Whether it compares with another policy.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self.what, What::Against { .. })
    }

    /// The policy that it compares with, if it names one.
    pub(crate) fn than(&self) -> Option<&str> {
        match &self.what {
            What::Against { than, .. } => than.as_deref(),
            _ => None,
        }
    }

    /// Refuses what no workload, no machine, or too few seeds, can answer. Errors name the condition.
    pub(crate) fn check(
        &self,
        option: &str,
        (loads, given): (&[&Load], &Given),
        seeds: u32,
    ) -> Result<(), Error> {
        let refused = |why: String| Err(Error::input(format!("{option} '{}': {why}", self.text)));
        if self.is_relative() && seeds < 2 {
            return refused("one seed has no paired test: expected two seeds or more".into());
        }
        let whole = self.metric().and_then(Metric::whole);
        if let Some(Err(why)) = whole.map(|metric| given.check(&[metric])) {
            return refused(why);
        }
        let names = metric::tasks_of(loads);
        match self.metric().and_then(Metric::task) {
            Some(task) if !names.contains(&task) => {
                let hint = nearest::hint(task, &names);
                refused(format!("no workload has a task \"{task}\"{hint}"))
            }
            _ => Ok(()),
        }
    }
}
