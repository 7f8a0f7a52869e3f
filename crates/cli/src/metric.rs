// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number by which policies are judged: a metric of the whole run, or of one task, by whatever
//! words it is named.

use crate::comparison::{Column, Stage};
use crate::load::Load;
use rota_measure::catalogue::{self, Measure, TaskMeasure, Unit};
use rota_measure::statistics::Better;

/// The number by which a goal is judged.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    /// Of the whole run.
    Whole(&'static Measure),
    /// Of the instances of one task; `whole` is the same of the run, if there is that.
    Task { task: String, measure: &'static TaskMeasure, whole: Option<&'static Measure> },
}

impl Metric {
    /// Of one task, if there is a task; `None`: tasks have no such number.
    pub(crate) fn new(whole: &'static Measure, task: Option<&str>) -> Option<Self> {
        let Some(task) = task else { return Some(Self::Whole(whole)) };
        let measure = catalogue::find_of_tasks(whole.key)?;
        Some(Self::Task { task: task.to_owned(), measure, whole: Some(whole) })
    }

    /// `response p99`, `ui: wakeup p99`.
    pub(crate) fn label(&self) -> String {
        match self {
            Metric::Whole(measure) => measure.name.to_owned(),
            Metric::Task { task, whole, measure } => {
                format!("{} of {task}", whole.map_or(measure.key, |whole| whole.name))
            }
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
            Metric::Whole(measure) | Metric::Task { whole: Some(measure), .. } => measure.better,
            Metric::Task { whole: None, .. } => Better::Neither,
        }
    }

    /// Of each policy, by seed.
    pub(crate) fn values(&self, stage: &Stage<'_>) -> Vec<Vec<Option<f64>>> {
        let of = |column: &Column<'_>| match self {
            Metric::Whole(measure) => column.values(measure),
            Metric::Task { task, measure, .. } => column.task_values(task, measure.key),
        };
        stage.columns.iter().map(of).collect()
    }
}

/// Metrics of runs; those that one task has too; those of which one value can be better.
pub(crate) fn known(of_task: bool, judged: bool) -> Vec<&'static Measure> {
    let fits = |measure: &&Measure| {
        (!of_task || catalogue::find_of_tasks(measure.key).is_some())
            && (!judged || measure.better != Better::Neither)
    };
    catalogue::measures().iter().filter(fits).collect()
}

/// The metric whose name, key or other words are these words, in any order.
pub(crate) fn find(wanted: &str, known: &[&'static Measure]) -> Option<&'static Measure> {
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
    // Some of the other words will do if no other metric has them, or is called so but is not known.
    let is_taken = catalogue::measures().iter().any(|measure| is_it(&&measure));
    let only = like.next().filter(|_| like.next().is_none() && !is_taken);
    known.iter().find(is_it).or(only).copied()
}

/// The words of a name, sorted: `p99 response` and `response_p99` have the same.
fn words_of(name: &str) -> Vec<String> {
    let split = name.split(|c: char| !c.is_alphanumeric() && c != '/' && c != '|');
    let mut words: Vec<String> =
        split.filter(|word| !word.is_empty() && *word != "time").map(str::to_lowercase).collect();
    words.sort();
    words
}

/// Names of the tasks of some workloads, each once.
pub(crate) fn tasks_of<'a>(loads: &[&'a Load]) -> Vec<&'a str> {
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
    names
}

/// The metric of tasks whose key has these words, in any order.
pub(crate) fn find_of_task(wanted: &str) -> Option<&'static TaskMeasure> {
    let wanted = words_of(wanted);
    catalogue::of_tasks().iter().find(|measure| words_of(measure.key) == wanted)
}
