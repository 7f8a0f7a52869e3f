// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number by which policies are judged: a metric of the whole run, or of one task, by whatever
//! words it is named.

use rota_measure::catalogue::{self, Measure, TaskMeasure, Unit};
use rota_measure::statistics::Better;
use rota_session::Load;

/// The number by which a goal is judged.
#[derive(Clone, Debug)]
pub enum Metric {
    /// Of the whole run.
    Whole(&'static Measure),
    /// Of the instances of one task; `whole` is the same of the run, if there is that.
    Task {
        /// Its name.
        task: String,
        /// The number.
        measure: &'static TaskMeasure,
        /// The same of the run.
        whole: Option<&'static Measure>,
    },
}

impl Metric {
    /// Of one task, if there is a task; `None`: tasks have no such number.
    pub fn new(whole: &'static Measure, task: Option<&str>) -> Option<Self> {
        let Some(task) = task else { return Some(Self::Whole(whole)) };
        let measure = catalogue::find_of_tasks(whole.key)?;
        Some(Self::Task { task: task.to_owned(), measure, whole: Some(whole) })
    }

    /// `response p99`, `ui: wakeup p99`.
    pub fn label(&self) -> String {
        match self {
            Metric::Whole(measure) => measure.name.to_owned(),
            Metric::Task { task, whole, measure } => {
                format!("{} of {task}", whole.map_or(measure.key, |whole| whole.name))
            }
        }
    }

    /// Its key, as in JSON.
    pub fn key(&self) -> &'static str {
        match self {
            Metric::Whole(measure) => measure.key,
            Metric::Task { measure, .. } => measure.key,
        }
    }

    /// The task that it is of.
    pub fn task(&self) -> Option<&str> {
        match self {
            Metric::Whole(_) => None,
            Metric::Task { task, .. } => Some(task),
        }
    }

    /// Of the run, or what it is of the run.
    pub fn whole(&self) -> Option<&'static Measure> {
        match self {
            Metric::Whole(measure) => Some(measure),
            Metric::Task { whole, .. } => *whole,
        }
    }

    /// What it is counted in.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Whole(measure) => measure.unit,
            Metric::Task { measure, .. } => measure.unit,
        }
    }

    /// Which of two values is the better one.
    pub fn better(&self) -> Better {
        match self {
            Metric::Whole(measure) | Metric::Task { whole: Some(measure), .. } => measure.better,
            Metric::Task { whole: None, .. } => Better::Neither,
        }
    }
}

/// Names of the tasks of some workloads, each once.
pub fn tasks_of<'a>(loads: &[&'a Load]) -> Vec<&'a str> {
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
