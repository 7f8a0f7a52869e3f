// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a task is behind the fluid ideal: its lag, as a function of time.
//!
//! `lag = ideal - received`, both since the task last woke; its negative is the service time
//! error of VTRR §2.1 eq. 2. A task that goes to sleep takes its lag with it, and what it leaves
//! behind belongs to those who stay, so it is spread over them as in I. Stoica, H. Abdel-Wahab,
//! *Earliest Eligible Virtual Deadline First*, TR-95-22, 1995, §3 (eq. 18): without that, serving
//! short sleepers first would push a busy task's lag up and up, although nobody keeps anything
//! from it in the long run. What is spread never makes a task's ideal negative, or longer than the
//! time since it woke: with more than one CPU, some of it may be of no use to anybody.

use crate::fluid::{Claim, Fluid};
use crate::numbers::LagNumbers;

/// The lag of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lag {
    /// In the fluid machine, while the task is there.
    claim: Claim,
    since_ns: u64,
    /// Reading of the fluid machine that its ideal counts from.
    from: f64,
    /// Received since it is there.
    received_ns: u64,
    last: Sample,
    measured: Measured,
}

/// The lag at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) time_ns: u64,
    pub(crate) lag_ns: f64,
}

/// What is reported in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    max_ns: f64,
    min_ns: f64,
    /// Integral of the absolute value over time.
    absolute: f64,
    time_ns: u64,
}

impl Default for Measured {
    fn default() -> Self {
        Measured { max_ns: f64::MIN, min_ns: f64::MAX, absolute: 0.0, time_ns: 0 }
    }
}

impl Lag {
    /// The task wants to run from now on; its lag is 0.
    pub(crate) fn join(&mut self, fluid: &mut Fluid, claim: Claim, now_ns: u64) {
        self.claim = claim;
        self.from = fluid.join(claim, now_ns);
        self.begin(now_ns);
    }

    fn begin(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
        self.received_ns = 0;
        self.last = Sample { time_ns: now_ns, lag_ns: 0.0 };
    }

    /// It wants to run no more.
    pub(crate) fn leave(&mut self, fluid: &mut Fluid, now_ns: u64) {
        let lag_ns = self.ideal_ns(fluid, now_ns) - self.received_ns as f64;
        fluid.leave(self.claim, now_ns);
        fluid.spread(self.claim, lag_ns);
    }

    /// It goes on with another weight or other CPUs, and keeps its lag.
    pub(crate) fn change_claim(&mut self, fluid: &mut Fluid, claim: Claim, now_ns: u64) {
        let ideal_ns = self.ideal_ns(fluid, now_ns);
        fluid.leave(self.claim, now_ns);
        self.from = fluid.join(claim, now_ns) - ideal_ns;
        self.claim = claim;
    }

    /// It ran.
    pub(crate) fn receive(&mut self, ns: u64) {
        self.received_ns += ns;
    }

    /// The lag counts from now on, and so does what is measured.
    pub(crate) fn restart(&mut self, fluid: &Fluid, now_ns: u64) {
        self.from = fluid.service_ns(self.claim, now_ns);
        self.begin(now_ns);
        self.measured = Measured::default();
    }

    /// Forgets what was measured, of a task that is not there.
    pub(crate) fn forget(&mut self) {
        self.measured = Measured::default();
    }

    /// Looks at the lag now. Between two looks it is taken to be a straight line, whose ends
    /// are returned.
    pub(crate) fn look(&mut self, fluid: &Fluid, now_ns: u64) -> (Sample, Sample) {
        let lag_ns = self.ideal_ns(fluid, now_ns) - self.received_ns as f64;
        let now = Sample { time_ns: now_ns, lag_ns };
        let before = std::mem::replace(&mut self.last, now);
        self.measured.add(before, now);
        (before, now)
    }

    /// What it should have received.
    fn ideal_ns(&mut self, fluid: &Fluid, now_ns: u64) -> f64 {
        let reading = fluid.service_ns(self.claim, now_ns);
        let most_ns = now_ns.saturating_sub(self.since_ns) as f64;
        let ideal_ns = (reading - self.from).clamp(0.0, most_ns);
        self.from = reading - ideal_ns;
        ideal_ns
    }

    /// At the last look.
    pub(crate) fn last_ns(&self) -> f64 {
        self.last.lag_ns
    }

    pub(crate) fn measured(&self) -> Measured {
        self.measured
    }
}

impl Measured {
    fn add(&mut self, from: Sample, to: Sample) {
        for lag_ns in [from.lag_ns, to.lag_ns] {
            self.max_ns = self.max_ns.max(lag_ns);
            self.min_ns = self.min_ns.min(lag_ns);
        }
        let ns = to.time_ns.saturating_sub(from.time_ns);
        self.absolute += mean_absolute(from.lag_ns, to.lag_ns) * ns as f64;
        self.time_ns += ns;
    }

    /// Of several tasks as one.
    pub(crate) fn merge(&mut self, other: &Measured) {
        self.max_ns = self.max_ns.max(other.max_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.absolute += other.absolute;
        self.time_ns += other.time_ns;
    }

    /// `None`: it never wanted to run.
    pub(crate) fn numbers(&self) -> Option<LagNumbers> {
        (self.min_ns <= self.max_ns).then(|| LagNumbers {
            max: self.max_ns.round() as i64,
            min: self.min_ns.round() as i64,
            mean_abs: if self.time_ns > 0 { self.absolute / self.time_ns as f64 } else { 0.0 },
        })
    }
}

/// Mean absolute height of a straight line between two heights.
fn mean_absolute(a: f64, b: f64) -> f64 {
    if a * b >= 0.0 {
        return (a.abs() + b.abs()) / 2.0;
    }
    // Two triangles, on either side of the axis.
    (a * a + b * b) / (2.0 * (a.abs() + b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(weight: u64) -> Claim {
        Claim { weight, ..Claim::default() }
    }

    #[test]
    fn mean_height_of_a_line_that_crosses_the_axis() {
        assert_eq!(mean_absolute(2.0, 4.0), 3.0);
        assert_eq!(mean_absolute(-1.0, 0.0), 0.5);
        // From -1 to 3: triangles of width 1/4 and 3/4: (1 · 1/4 + 3 · 3/4) / 2.
        assert_eq!(mean_absolute(-1.0, 3.0), 1.25);
    }

    #[test]
    fn lag_goes_up_while_waiting_and_down_while_running() {
        let mut fluid = Fluid::new(1);
        let (mut a, mut b) = (Lag::default(), Lag::default());
        a.join(&mut fluid, weight(1), 0);
        b.join(&mut fluid, weight(1), 0);
        a.receive(100);
        for lag in [&mut a, &mut b] {
            lag.look(&fluid, 100);
        }
        b.receive(100);
        for lag in [&mut a, &mut b] {
            lag.look(&fluid, 200);
        }
        // a: 0, -50, 0; b: 0, 50, 0.
        let numbers = a.measured().numbers().expect("it was there");
        assert_eq!((numbers.max, numbers.min, numbers.mean_abs), (0, -50, 25.0));
        let numbers = b.measured().numbers().expect("it was there");
        assert_eq!((numbers.max, numbers.min, numbers.mean_abs), (50, 0, 25.0));
    }

    #[test]
    fn a_sleeper_served_first_leaves_no_lag_behind() {
        // A busy task, and one that comes for 10, is served at once, and goes: in 10 the ideal
        // would have given each 5. It leaves 5 ahead, which is taken off the other's due.
        let mut fluid = Fluid::new(1);
        let (mut busy, mut guest) = (Lag::default(), Lag::default());
        busy.join(&mut fluid, weight(1), 0);
        guest.join(&mut fluid, weight(1), 0);
        guest.receive(10);
        busy.look(&fluid, 10);
        assert_eq!(busy.last.lag_ns, 5.0);
        guest.leave(&mut fluid, 10);
        busy.look(&fluid, 10);
        assert_eq!(busy.last.lag_ns, 0.0);
    }

    #[test]
    fn a_change_of_weight_keeps_the_lag() {
        let mut fluid = Fluid::new(1);
        let (mut a, mut b) = (Lag::default(), Lag::default());
        a.join(&mut fluid, weight(1), 0);
        b.join(&mut fluid, weight(1), 0);
        b.receive(40);
        a.change_claim(&mut fluid, weight(3), 40);
        b.receive(40);
        // 40 · 1/2, then 40 · 3/4.
        assert_eq!(a.look(&fluid, 80).1.lag_ns, 50.0);
        assert_eq!(b.look(&fluid, 80).1.lag_ns, -50.0);
    }
}
