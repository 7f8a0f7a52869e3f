// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions on what a comparison found, by which a run of continuous integration passes or fails:
//! `p99_wakeup worse by 5%`, `wakeup_p99("ui") < 5ms`, `exit == ok`.

mod parse;

use crate::metric::{self, Metric};
use rota_session::{nearest, Error, Given, Load};

/// A condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// As the user wrote it.
    pub text: String,
    /// What it says.
    pub what: What,
}

/// What it is about.
#[derive(Clone, Debug)]
pub enum What {
    /// How the runs ended.
    Exit {
        /// They did so, or they did not.
        is: bool,
        /// How.
        ending: Ending,
    },
    /// The mean over the seeds, compared with a number.
    Limit {
        /// Of what.
        metric: Metric,
        /// How.
        sign: Sign,
        /// In the metric's unit.
        limit: f64,
    },
    /// The mean over the seeds, which is in a range.
    Within {
        /// Of what.
        metric: Metric,
        /// The lowest value, in the metric's unit.
        low: f64,
        /// The highest one.
        high: f64,
    },
    /// Compared with another policy.
    Against {
        /// By what.
        metric: Metric,
        /// It is, or it is not.
        is: bool,
        /// What it is or is not.
        way: Way,
        /// The other policy; `None`: whoever judges says which.
        than: Option<String>,
        /// By this part of the other's mean at least.
        by: f64,
    },
}

/// How runs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Of every run: after its whole time.
    Ok,
    /// Of one run at least.
    Ejected,
}

/// How a mean is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `>`.
    Above,
    /// `>=`.
    AtLeast,
    /// `<`.
    Below,
    /// `<=`.
    AtMost,
    /// `==`.
    Is,
    /// `!=`.
    IsNot,
}

/// Which way another policy's number is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is the worse one.
    Worse,
    /// The better one.
    Better,
}

impl Condition {
    /// Reads one; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
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
    pub fn is_relative(&self) -> bool {
        matches!(self.what, What::Against { .. })
    }

    /// The policy that it compares with, if it names one.
    pub fn than(&self) -> Option<&str> {
        match &self.what {
            What::Against { than, .. } => than.as_deref(),
            _ => None,
        }
    }

    /// Refuses what no workload, no machine, or too few seeds, can answer. Errors name the condition.
    pub fn check(
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
