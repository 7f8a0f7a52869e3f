// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user wants of a scheduler: `latency`, `p99 response`, `ui:wakeup_p99`.

use crate::comparison::Stage;
use crate::error::Error;
use crate::load::Load;
use crate::metric::{self, Metric};
use crate::nearest;
use rota_measure::catalogue;

/// Goals that are named by a word, and the metrics that tell: the first that the runs have.
const WORDS: [(&str, &[&str]); 5] = [
    ("latency", &["response_p99", "wakeup_p99"]),
    ("throughput", &["answered_per_s", "makespan", "bursts_per_s"]),
    ("fairness", &["lag_max", "jain"]),
    ("deadlines", &["miss_rate"]),
    ("overhead", &["instructions_mean"]),
];
/// The goals if none is named.
const USUAL: [&str; 4] = ["latency", "throughput", "fairness", "deadlines"];
/// Written for goals whose metric is that of one task.
const OF_TASK: char = ':';

/// The goals that are words.
pub(crate) fn goal_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, _)| *word)
}

/// A goal.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    /// As the user named it.
    pub(crate) name: String,
    metrics: Vec<Metric>,
}

impl Goal {
    /// The metric by which a stage is judged: the first that all policies have that were not
    /// ejected, and that is not 0 under each. `None`: there is none.
    pub(crate) fn metric(&self, stage: &Stage<'_>) -> Option<&Metric> {
        let is_there = |metric: &&Metric| {
            let values = metric::values(metric, stage);
            let counts = stage.columns.iter().zip(&values);
            let mut stayed = counts.filter(|(column, _)| column.ejected().next().is_none());
            let mut is_telling = false;
            let all = stayed.all(|(_, values)| {
                is_telling |= values.iter().flatten().any(|value| *value != 0.0);
                values.iter().any(Option::is_some)
            });
            all && is_telling
        };
        self.metrics.iter().find(is_there)
    }
}

/// Goals in the order of their rank; the usual ones if `texts` is empty.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<Goal>, Error> {
    let mut goals: Vec<Goal> = Vec::new();
    let usual = USUAL.map(str::to_owned);
    for text in if texts.is_empty() { &usual[..] } else { texts } {
        let goal = one(text)?;
        if goals.iter().any(|other| other.name == goal.name) {
            return Err(Error::input(format!("--goal {text} is listed twice")));
        }
        goals.push(goal);
    }
    Ok(goals)
}

fn one(text: &str) -> Result<Goal, Error> {
    let name = text.trim().to_owned();
    if let Some((_, keys)) = WORDS.iter().find(|(word, _)| *word == name) {
        let metrics = keys.iter().filter_map(|key| catalogue::find(key)).map(Metric::Whole);
        return Ok(Goal { name, metrics: metrics.collect() });
    }
    let (task, wanted) = match name.rsplit_once(OF_TASK) {
        Some((task, wanted)) => (Some(task.trim()), wanted),
        None => (None, name.as_str()),
    };
    let words = if task.is_some() { &[][..] } else { &WORDS.map(|(word, _)| word) };
    let known = metric::known(task.is_some(), true);
    let metric = metric::find(wanted, &known).ok_or_else(|| {
        let keys = known.iter().map(|measure| measure.key);
        let names: Vec<&str> = words.iter().copied().chain(keys).collect();
        let hint = nearest::hint(wanted, &names);
        Error::input(format!(
            "--goal '{text}': no such goal{hint}; expected one of {}, or TASK:METRIC",
            names.join(", ")
        ))
    })?;
    Ok(Goal { metrics: Metric::new(metric, task).into_iter().collect(), name })
}

/// Refuses a goal of a task that no workload has.
pub(crate) fn check(goals: &[Goal], loads: &[&Load]) -> Result<(), Error> {
    let names = metric::tasks_of(loads);
    for goal in goals {
        let Some(task) = goal.metrics.first().and_then(Metric::task) else { continue };
        if !names.contains(&task) {
            let hint = nearest::hint(task, &names);
            return Err(Error::input(format!(
                "--goal '{}': no workload has a task \"{task}\"{hint}",
                goal.name
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_measure::statistics::Better;

    fn key(text: &str) -> String {
        let goals = parse(&[text.to_owned()]).expect("a goal");
        goals[0].metrics.iter().map(Metric::key).collect::<Vec<_>>().join(" ")
    }

    fn refused(text: &str) -> String {
        parse(&[text.to_owned()]).expect_err("no goal").to_string()
    }

    #[test]
    fn a_metric_may_be_named_by_key_label_or_heading_in_any_order() {
        for text in ["response_p99", "p99 response", "response p99", "response time, p99"] {
            assert_eq!(key(text), "response_p99", "{text}");
        }
        assert_eq!(key("bursts/s"), "bursts_per_s");
        assert_eq!(key("longest wakeup"), "wakeup_max");
        assert_eq!(key("Jain's index"), "jain");
        assert_eq!(key("latency"), "response_p99 wakeup_p99");
    }

    #[test]
    fn a_task_s_metric_is_named_after_the_task() {
        let goals = parse(&["a:b:p99 wakeup".to_owned()]).expect("a goal");
        assert_eq!(goals[0].metrics[0].label(), "wakeup p99 of a:b");
        assert!(refused("ui:idle").contains("no such goal"), "{}", refused("ui:idle"));
    }

    #[test]
    fn an_unknown_goal_gets_the_nearest_one() {
        assert!(refused("latencey").contains("did you mean latency?"), "{}", refused("latencey"));
        assert!(refused("p98 response").contains("did you mean response_mean?"));
        // What is neither good nor bad is no goal.
        assert!(refused("decisions").contains("no such goal"));
        let twice = parse(&["jain".to_owned(), "jain".to_owned()]).expect_err("twice").to_string();
        assert_eq!(twice, "--goal jain is listed twice");
    }

    #[test]
    fn each_word_names_metrics_that_are_there_and_can_be_better() {
        for (word, keys) in WORDS {
            for key in keys {
                let measure = catalogue::find(key).expect(key);
                assert_ne!(measure.better, Better::Neither, "{word}: {key}");
            }
        }
        assert!(USUAL.iter().all(|word| WORDS.iter().any(|(known, _)| known == word)));
    }
}
