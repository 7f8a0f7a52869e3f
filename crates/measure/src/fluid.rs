// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ideal that schedulers are measured against: a fluid machine that serves all tasks which
//! want to run at the same time, each at a rate in proportion to its weight.
//!
//! Generalized processor sharing for several CPUs (A. Chandra et al., *Surplus Fair Scheduling*,
//! OSDI 2000, §2): no task is faster than one CPU, and what a heavy one cannot use goes to the
//! others, so the machine is busy as long as anybody wants it. Tasks of one weight have one
//! rate, so the state is one entry per weight.

/// A fluid machine. A task's service since it came is the difference of two readings of
/// [`Fluid::service_ns`] for its weight.
#[derive(Clone, Debug)]
pub(crate) struct Fluid {
    cpus: u32,
    now_ns: u64,
    /// Of the weights that somebody has, the heaviest first.
    classes: Vec<Class>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    weight: u64,
    tasks: u32,
    /// Service of a task that was there all the time.
    service_ns: f64,
    /// Of each of them, in CPUs.
    rate: f64,
}

impl Fluid {
    pub(crate) fn new(cpus: u32) -> Self {
        Fluid { cpus, now_ns: 0, classes: Vec::new() }
    }

    /// As many CPUs as have been heard of.
    pub(crate) fn grow(&mut self, cpus: u32, now_ns: u64) {
        if cpus > self.cpus {
            self.settle(now_ns);
            self.cpus = cpus;
            self.share_out();
        }
    }

    /// A task wants to run from now on. Gives the reading that its service counts from.
    pub(crate) fn join(&mut self, weight: u64, now_ns: u64) -> f64 {
        self.settle(now_ns);
        let at = match self.find(weight) {
            Ok(at) => at,
            Err(at) => {
                self.classes.insert(at, Class { weight, tasks: 0, service_ns: 0.0, rate: 0.0 });
                at
            }
        };
        self.classes[at].tasks += 1;
        self.share_out();
        self.classes[at].service_ns
    }

    /// A task of this weight wants to run no more.
    pub(crate) fn leave(&mut self, weight: u64, now_ns: u64) {
        self.settle(now_ns);
        if let Ok(at) = self.find(weight) {
            self.classes[at].tasks -= 1;
            if self.classes[at].tasks == 0 {
                self.classes.remove(at);
            }
            self.share_out();
        }
    }

    /// Gives all tasks together this much service, in proportion to their rates; a negative
    /// one is taken from them.
    pub(crate) fn spread(&mut self, service_ns: f64) {
        let all: f64 = self.classes.iter().map(|c| f64::from(c.tasks) * c.rate).sum();
        for class in &mut self.classes {
            class.service_ns += service_ns * class.rate / all;
        }
    }

    /// Service up to now of a task of this weight that was there all the time. Only for
    /// weights that somebody has.
    pub(crate) fn service_ns(&self, weight: u64, now_ns: u64) -> f64 {
        let class = self.find(weight).ok().map(|at| &self.classes[at]);
        class.map_or(0.0, |c| c.service_ns + c.rate * now_ns.saturating_sub(self.now_ns) as f64)
    }

    fn find(&self, weight: u64) -> Result<usize, usize> {
        self.classes.binary_search_by(|class| weight.cmp(&class.weight))
    }

    fn settle(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.now_ns) as f64;
        self.now_ns = self.now_ns.max(now_ns);
        if passed_ns > 0.0 {
            self.classes.iter_mut().for_each(|c| c.service_ns += c.rate * passed_ns);
        }
    }

    /// Rates of the tasks that are there: water-filling. From the heaviest on, whoever would
    /// get more than a CPU in proportion to its weight gets one, and the rest is for the rest.
    fn share_out(&mut self) {
        let mut cpus = f64::from(self.cpus);
        let mut weights: f64 = self.classes.iter().map(Class::weight_of_all).sum();
        for class in &mut self.classes {
            let weight = class.weight as f64;
            if weight * cpus >= weights {
                class.rate = 1.0;
                weights -= class.weight_of_all();
                cpus = (cpus - f64::from(class.tasks)).max(0.0);
            } else {
                class.rate = weight * cpus / weights;
            }
        }
    }
}

impl Class {
    fn weight_of_all(&self) -> f64 {
        f64::from(self.tasks) * self.weight as f64
    }
}

#[cfg(test)]
#[path = "fluid_tests.rs"]
mod tests;
