// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions as people write them: `p99 wakeup of nginx > 20ms`.
//!
//! ```text
//! condition  = statistic metric [ "of" subject ] comparison duration
//! statistic  = "mean" | "p50" | "p95" | "p99" | "p99.9" | "max"
//! metric     = "wakeup" | "run delay"
//! subject    = "all" | name | '"' name '"' | "cgroup" path
//! comparison = ">" | ">=" | "<" | "<="
//! ```

use rota_workload::parse_duration;
use std::fmt;
use std::str::FromStr;

/// Bytes of a task's name (`TASK_COMM_LEN` without its zero), and of a kernel thread's with its
/// brackets.
const LONGEST_NAME: usize = 15;
const LONGEST_BRACKETED: usize = LONGEST_NAME + 2;
/// Bytes of one part of a cgroup's path (`NAME_MAX`).
const LONGEST_PART: usize = 255;
/// A subject that begins so is a cgroup.
const CGROUP: &str = "cgroup ";

/// What of the times in a window is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Their arithmetic mean.
    Mean,
    /// The least time that this many of a thousand do not exceed.
    Permille(u32),
    /// The longest.
    Max,
}

/// Times that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// From a wakeup until the task runs.
    Wakeup,
    /// From when a task could run, woken or preempted, until it runs.
    RunDelay,
}

/// Tasks that are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All that are recorded.
    All,
    /// Those of this name, as tables have it: kernel threads in brackets.
    Name(String),
    /// Those in this cgroup or below it: `/a/b`, or `/`.
    Cgroup(String),
}

/// How the number is compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// Something that a recording can wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What of the times.
    pub statistic: Statistic,
    /// Which times.
    pub metric: Metric,
    /// Of which tasks.
    pub subject: Subject,
    /// How they are compared with the limit.
    pub comparison: Comparison,
    /// The limit, in nanoseconds; not 0.
    pub limit_ns: u64,
}

/// A text that is no condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionError {
    /// It does not begin with a statistic but with this word.
    Statistic(String),
    /// Not a metric but this follows the statistic.
    Metric(String),
    /// `of` is followed by no name, or one that no task can have.
    Subject(String),
    /// `cgroup` is followed by no path, but by this.
    Cgroup(String),
    /// There is no comparison.
    Comparison,
    /// What follows the comparison is no limit, and why.
    Limit(String),
}

const STATISTICS: [(&str, Statistic); 6] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::Permille(500)),
    ("p95", Statistic::Permille(950)),
    ("p99", Statistic::Permille(990)),
    ("p99.9", Statistic::Permille(999)),
    ("max", Statistic::Max),
];
const METRICS: [(&str, Metric); 2] = [("wakeup", Metric::Wakeup), ("run delay", Metric::RunDelay)];
/// The longer ones first, as they begin with the others.
const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

/// For printing, the longest first.
const UNITS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

impl Condition {
    /// Words that a condition can begin with.
    pub const STATISTICS: [&'static str; 6] = ["mean", "p50", "p95", "p99", "p99.9", "max"];
    /// Metrics that can follow.
    pub const METRICS: [&'static str; 2] = ["wakeup", "run delay"];
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let (statistic, rest) = first_word(text);
        let found = STATISTICS.iter().find(|(name, _)| *name == statistic);
        let statistic = found.ok_or_else(|| ConditionError::Statistic(statistic.to_owned()))?.1;
        let (what, comparison, limit) = compared(rest)?;
        let (metric, subject) = match what.split_once(" of ") {
            Some((metric, subject)) => (metric, subject_of(subject)?),
            None => (what, Subject::All),
        };
        let words: Vec<&str> = metric.split_whitespace().collect();
        let metric = words.join(" ");
        let found = METRICS.iter().find(|(name, _)| *name == metric);
        let metric = found.ok_or(ConditionError::Metric(metric))?.1;
        let limit_ns = parse_duration(limit).map_err(|e| ConditionError::Limit(e.to_string()))?;
        if limit_ns == 0 {
            return Err(ConditionError::Limit("a limit of 0: expected more".into()));
        }
        Ok(Condition { statistic, metric, subject, comparison, limit_ns })
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// What is before the comparison, the comparison, and what is after it. It is the last one: a name
/// can have such characters, a limit cannot.
fn compared(text: &str) -> Result<(&str, Comparison, &str), ConditionError> {
    let last = text.rfind(['<', '>']).ok_or(ConditionError::Comparison)?;
    let sign = &text[last..];
    let found = COMPARISONS.iter().find(|(name, _)| sign.starts_with(name));
    let (name, comparison) = found.ok_or(ConditionError::Comparison)?;
    Ok((&text[..last], *comparison, &sign[name.len()..]))
}

fn subject_of(text: &str) -> Result<Subject, ConditionError> {
    let text = text.trim();
    let name = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted,
        None if text == "all" => return Ok(Subject::All),
        None if text.starts_with(CGROUP) => {
            return Ok(Subject::Cgroup(path_of(&text[CGROUP.len()..])?))
        }
        None => text,
    };
    let bracketed = name.starts_with('[') && name.ends_with(']');
    let longest = if bracketed { LONGEST_BRACKETED } else { LONGEST_NAME };
    if name.is_empty() || name.len() > longest {
        return Err(ConditionError::Subject(name.to_owned()));
    }
    Ok(Subject::Name(name.to_owned()))
}

/// A path below the root of the cgroups, with or without a slash at its ends.
fn path_of(text: &str) -> Result<String, ConditionError> {
    let parts: Vec<&str> = text.trim().split('/').filter(|part| !part.is_empty()).collect();
    let strange = |part: &&str| matches!(*part, "." | "..") || part.len() > LONGEST_PART;
    if text.trim().is_empty() || parts.iter().any(strange) {
        return Err(ConditionError::Cgroup(text.trim().to_owned()));
    }
    Ok(format!("/{}", parts.join("/")))
}

/// The word for a value.
fn name_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, of)| of == value).map_or("", |(name, _)| name)
}

/// Whether a name without quotes would be read as something else.
fn means_else(name: &str) -> bool {
    name == "all"
        || name.starts_with(CGROUP)
        || name.trim() != name
        || name.contains(['"', '<', '>'])
}

/// In the units of the grammar, exact: the text gives the same condition again.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", name_of(&STATISTICS, &self.statistic), name_of(&METRICS, &self.metric))?;
        match &self.subject {
            Subject::All => {}
            Subject::Cgroup(path) => write!(f, " of {CGROUP}{path}")?,
            Subject::Name(name) if means_else(name) => write!(f, " of \"{name}\"")?,
            Subject::Name(name) => write!(f, " of {name}")?,
        }
        let unit = UNITS.iter().find(|(_, ns)| self.limit_ns % ns == 0);
        let (unit, ns) = unit.copied().unwrap_or(("ns", 1));
        let sign = name_of(&COMPARISONS, &self.comparison);
        write!(f, " {sign} {}{unit}", self.limit_ns / ns)
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statistic(word) => {
                write!(f, "{word:?} is no statistic: expected ")?;
                write!(f, "{}", Condition::STATISTICS.join(", "))
            }
            Self::Metric(words) => {
                write!(f, "{words:?} is no metric: expected {}", Condition::METRICS.join(", "))
            }
            Self::Subject(name) if name.is_empty() => write!(f, "the name after `of` is missing"),
            Self::Subject(name) => {
                write!(f, "no task is called {name:?}: names have at most {LONGEST_NAME} bytes")
            }
            Self::Cgroup(path) => {
                write!(
                    f,
                    "{path:?} is no cgroup: expected a path below the root of the cgroups, as "
                )?;
                write!(f, "system.slice/nginx.service")
            }
            Self::Comparison => write!(f, "the comparison is missing: expected >, >=, < or <="),
            Self::Limit(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for ConditionError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn condition(text: &str) -> Condition {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_condition_reads_as_a_sentence() {
        let expected = Condition {
            statistic: Statistic::Permille(990),
            metric: Metric::Wakeup,
            subject: Subject::Name("nginx".into()),
            comparison: Comparison::Above,
            limit_ns: 20_000_000,
        };
        assert_eq!(condition("p99 wakeup of nginx > 20ms"), expected);
        assert_eq!(condition("  p99  wakeup of  nginx >20 ms "), expected);
        let all = Condition { subject: Subject::All, ..expected };
        for text in ["p99 wakeup > 20ms", "p99 wakeup of all > 0.02s"] {
            assert_eq!(condition(text), all, "{text}");
        }
        let mean = condition("mean run  delay of [ksoftirqd/0] <= 5us");
        assert_eq!((mean.statistic, mean.metric), (Statistic::Mean, Metric::RunDelay));
        assert_eq!((mean.comparison, mean.limit_ns), (Comparison::AtMost, 5_000));
    }

    #[test]
    fn names_may_hold_anything_that_names_of_tasks_do() {
        for (text, name) in [
            ("max wakeup of Web Content > 1s", "Web Content"),
            ("max wakeup of \"all\" > 1s", "all"),
            ("max wakeup of a -> b >= 1s", "a -> b"),
            ("max wakeup of king of x > 1s", "king of x"),
            ("max wakeup of \"cgroup x\" > 1s", "cgroup x"),
            ("max wakeup of cgroup > 1s", "cgroup"),
            ("max wakeup of [kworker/u8:12-e] > 1s", "[kworker/u8:12-e]"),
        ] {
            assert_eq!(condition(text).subject, Subject::Name(name.into()), "{text}");
        }
    }

    #[test]
    fn a_cgroup_is_named_by_its_path_below_the_root() {
        for (text, path) in [
            (
                "p99 wakeup of cgroup /system.slice/nginx.service > 1s",
                "/system.slice/nginx.service",
            ),
            ("p99 wakeup of cgroup  system.slice/ > 1s", "/system.slice"),
            ("p99 wakeup of cgroup a -> b/c d > 1s", "/a -> b/c d"),
            ("p99 wakeup of cgroup / > 1s", "/"),
        ] {
            assert_eq!(condition(text).subject, Subject::Cgroup(path.into()), "{text}");
        }
        for (text, path) in [
            ("p99 wakeup of cgroup ../b > 1s", "../b"),
            ("p99 wakeup of cgroup a/./b > 1s", "a/./b"),
        ] {
            let error = text.parse::<Condition>().expect_err(text);
            assert_eq!(error, ConditionError::Cgroup(path.into()), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| text.parse::<Condition>().unwrap_err();
        assert_eq!(error("p98 wakeup > 1ms"), ConditionError::Statistic("p98".into()));
        assert_eq!(error(""), ConditionError::Statistic(String::new()));
        assert_eq!(error("p99 wakeups of x > 1ms"), ConditionError::Metric("wakeups".into()));
        assert_eq!(error("p99 > 1ms"), ConditionError::Metric(String::new()));
        assert_eq!(error("p99 wakeup of nginx"), ConditionError::Comparison);
        assert_eq!(error("p99 wakeup = 1ms"), ConditionError::Comparison);
        assert_eq!(error("p99 wakeup of \"\" > 1ms"), ConditionError::Subject(String::new()));
        let long = "sixteen-letters-";
        let text = format!("p99 wakeup of {long} > 1ms");
        assert_eq!(error(&text), ConditionError::Subject(long.into()));
        for text in ["p99 wakeup > 20", "p99 wakeup > 0ms", "p99 wakeup >", "p99 wakeup > -1ms"] {
            assert!(matches!(error(text), ConditionError::Limit(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_condition_is_the_same_again_from_its_text(
            statistic in prop::sample::select(&STATISTICS),
            metric in prop::sample::select(&METRICS),
            comparison in prop::sample::select(&COMPARISONS),
            subject in prop_oneof![
                Just(Subject::All),
                "[ -~]{1,15}".prop_map(Subject::Name),
                "(/[!-.0-~]{3,20}){1,3}".prop_map(Subject::Cgroup),
            ],
            limit_ns in 1..u64::MAX,
        ) {
            let (statistic, metric, comparison) = (statistic.1, metric.1, comparison.1);
            let one = Condition { statistic, metric, subject, comparison, limit_ns };
            prop_assert_eq!(one.to_string().parse(), Ok(one));
        }

        #[test]
        fn any_text_is_a_condition_or_an_error(text in "\\PC{0,60}") {
            if let Ok(one) = text.parse::<Condition>() {
                prop_assert_eq!(one.to_string().parse(), Ok(one));
            }
        }
    }
}
