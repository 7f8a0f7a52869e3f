// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user wants of a scheduler: `latency`, `p99 response`, `ui:wakeup_p99`.

use crate::comparison::Stage;
use crate::error::Error;
use crate::load::Load;
use crate::nearest;
use rota_measure::catalogue::{self, Measure, TaskMeasure, Unit};
use rota_measure::statistics::Better;

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

/// The number by which a goal is judged.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    /// Of the whole run.
    Whole(&'static Measure),
    /// Of the instances of one task.
    Task { task: String, measure: &'static TaskMeasure, whole: &'static Measure },
}

impl Metric {
    /// `response p99`, `ui: wakeup p99`.
    pub(crate) fn label(&self) -> String {
        match self {
            Metric::Whole(measure) => measure.name.to_owned(),
            Metric::Task { task, whole, .. } => format!("{} of {task}", whole.name),
        }
    }

    /// Its key, as in JSON.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Metric::Whole(measure) => measure.key,
            Metric::Task { measure, .. } => measure.key,
        }
    }

    /// The task that it is of.
    pub(crate) fn task(&self) -> Option<&str> {
        match self {
            Metric::Whole(_) => None,
            Metric::Task { task, .. } => Some(task),
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Metric::Whole(measure) => measure.unit,
            Metric::Task { measure, .. } => measure.unit,
        }
    }

    pub(crate) fn better(&self) -> Better {
        match self {
            Metric::Whole(measure) | Metric::Task { whole: measure, .. } => measure.better,
        }
    }

    /// Of each policy, by seed.
    pub(crate) fn values(&self, stage: &Stage<'_>) -> Vec<Vec<Option<f64>>> {
        let of = |column: &crate::comparison::Column<'_>| match self {
            Metric::Whole(measure) => column.values(measure),
            Metric::Task { task, measure, .. } => column.task_values(task, measure.key),
        };
        stage.columns.iter().map(of).collect()
    }
}

impl Goal {
    /// The metric by which a stage is judged: the first that all policies have that were not
    /// ejected, and that is not 0 under each. `None`: there is none.
    pub(crate) fn metric(&self, stage: &Stage<'_>) -> Option<&Metric> {
        let is_there = |metric: &&Metric| {
            let values = metric.values(stage);
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
    if let Some((task, wanted)) = name.rsplit_once(OF_TASK) {
        let task = task.trim().to_owned();
        let of_task = |whole: &&'static Measure| {
            catalogue::find_of_tasks(whole.key).filter(|_| whole.better != Better::Neither)
        };
        let known = catalogue::measures().iter().filter(|m| of_task(m).is_some()).collect();
        let whole = find(text, wanted, known, &[])?;
        let metrics = of_task(&whole).map(|measure| Metric::Task { task, measure, whole });
        return Ok(Goal { name, metrics: metrics.into_iter().collect() });
    }
    let judged = catalogue::measures().iter().filter(|m| m.better != Better::Neither);
    let words = WORDS.map(|(word, _)| word);
    let metric = Metric::Whole(find(text, &name, judged.collect(), &words)?);
    Ok(Goal { name, metrics: vec![metric] })
}

/// The metric whose name, key or other words are these words, in any order.
fn find(
    goal: &str,
    wanted: &str,
    known: Vec<&'static Measure>,
    words: &[&'static str],
) -> Result<&'static Measure, Error> {
    let wanted_words = words_of(wanted);
    let is_it = |measure: &&&Measure| {
        let names = [measure.name, measure.key, measure.also];
        names.into_iter().any(|name| words_of(name) == wanted_words)
    };
    let has_words = |measure: &&&Measure| {
        let also = words_of(measure.also);
        !wanted_words.is_empty() && wanted_words.iter().all(|word| also.contains(word))
    };
    let mut like = known.iter().filter(has_words);
    // Some of the other words will do if no other metric has them, or is called so but is no goal.
    let is_taken = catalogue::measures().iter().any(|measure| is_it(&&measure));
    let only = like.next().filter(|_| like.next().is_none() && !is_taken);
    if let Some(measure) = known.iter().find(is_it).or(only) {
        return Ok(measure);
    }
    let names: Vec<&str> = words.iter().copied().chain(known.iter().map(|m| m.key)).collect();
    let hint = nearest::hint(wanted, &names);
    Err(Error::input(format!(
        "--goal '{goal}': no such goal{hint}; expected one of {}, or TASK:METRIC",
        names.join(", ")
    )))
}

/// The words of a name, sorted: `p99 response` and `response_p99` have the same.
fn words_of(name: &str) -> Vec<String> {
    let split = name.split(|c: char| !c.is_alphanumeric() && c != '/' && c != '|');
    let mut words: Vec<String> =
        split.filter(|word| !word.is_empty() && *word != "time").map(str::to_lowercase).collect();
    words.sort();
    words
}

/// Refuses a goal of a task that no workload has.
pub(crate) fn check(goals: &[Goal], loads: &[&Load]) -> Result<(), Error> {
    let tasks = loads.iter().flat_map(|load| {
        let workload = &load.workload;
        workload.tasks.iter().map(|task| workload.name_of(task))
    });
    let mut names: Vec<&str> = Vec::new();
    for name in tasks {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for goal in goals {
        let Some(Metric::Task { task, .. }) = goal.metrics.first() else { continue };
        if !names.contains(&task.as_str()) {
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
