// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks do: asked as time goes by, as what comes next may depend on the time.

/// What a task does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// It wants that much processing time; infinite: for ever.
    Run(f64),
    /// It sleeps until then.
    SleepUntil(f64),
    /// It is over.
    Exit,
}

/// The tasks of a scenario, by number.
pub trait Tasks {
    /// How many there are.
    fn count(&self) -> usize;
    /// Name of a task.
    fn name(&self, task: usize) -> &str;
    /// When it begins.
    fn arrival(&self, task: usize) -> f64;
    /// Times the processor share of others in the long run: kappa [PBS §5.2 eq. 6].
    fn weight(&self, task: usize) -> f64;
    /// What it does next: asked when it begins and whenever the step before is done.
    fn next(&mut self, task: usize, now: f64) -> Next;
}

/// Tasks that want some processing time when they arrive, and end when they have had it.
#[derive(Clone, Debug, Default)]
pub struct Script {
    tasks: Vec<Scripted>,
}

#[derive(Clone, Debug)]
struct Scripted {
    name: String,
    arrival: f64,
    weight: f64,
    steps: Vec<Next>,
    done: usize,
}

impl Script {
    /// Adds a task that computes once.
    pub fn once(self, name: &str, arrival: f64, demand: f64) -> Self {
        self.task(name, arrival, 1.0, vec![Next::Run(demand)])
    }

    /// Adds a task with a weight and several steps.
    pub fn task(mut self, name: &str, arrival: f64, weight: f64, steps: Vec<Next>) -> Self {
        let name = name.to_owned();
        self.tasks.push(Scripted { name, arrival, weight, steps, done: 0 });
        self
    }
}

impl Tasks for Script {
    fn count(&self) -> usize {
        self.tasks.len()
    }

    fn name(&self, task: usize) -> &str {
        &self.tasks[task].name
    }

    fn arrival(&self, task: usize) -> f64 {
        self.tasks[task].arrival
    }

    fn weight(&self, task: usize) -> f64 {
        self.tasks[task].weight
    }

    fn next(&mut self, task: usize, _now: f64) -> Next {
        let task = &mut self.tasks[task];
        let step = task.steps.get(task.done).copied().unwrap_or(Next::Exit);
        task.done += 1;
        step
    }
}
