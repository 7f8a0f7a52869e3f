// SPDX-License-Identifier: MIT OR Apache-2.0
//! From samples to what interrupts between CPUs take: of the thread that waits for one, of the CPU
//! that sends it, and of the task that it interrupts.

use crate::costs::{less, set, NOISE, NO_PAIR};
use crate::distance::Distance;
use crate::estimate::Estimate;
use crate::number::Number;
use crate::series::{Samples, Series};
use crate::steps::IDLE_US;
use rota_machine::config::Costs;
use rota_machine::hardware::parts::ByDistance;
use rota_machine::hardware::Hardware;

/// The nearest pair of CPUs that are no siblings, or siblings.
const NEAR: [Distance; 4] = [Distance::Llc, Distance::OtherLlc, Distance::Node, Distance::Sibling];

fn line_ns(of: &ByDistance, far: Distance) -> u64 {
    match far {
        Distance::Sibling => of.sibling,
        Distance::Llc => of.llc,
        Distance::OtherLlc => of.other_llc,
        Distance::Node => of.node,
    }
}

/// Of the nearest pair of CPUs that was measured; `None`: of none.
fn near(samples: &Samples, of: fn(Distance) -> Series) -> Option<Estimate> {
    NEAR.iter().find_map(|far| samples.estimate(of(*far)))
}

/// A call that wakes a thread and interrupts no CPU, in nanoseconds.
fn quiet_call_ns(samples: &Samples, costs: &Costs) -> Option<f64> {
    let alone = samples.estimate(Series::FutexAlone)?;
    Some(alone.median + costs.wakeup_ns as f64)
}

/// Interrupts between CPUs.
pub(crate) fn interrupts(samples: &Samples, costs: &Costs, hardware: &mut Hardware) -> Vec<Number> {
    let switch_ns = costs.context_switch_ns as f64;
    let latency = |far: Distance| {
        let cache = hardware.cache.as_ref();
        let lines = cache.map_or(0, |cache| cache.handoff_lines * line_ns(&cache.c2c_ns, far));
        let wake = samples.estimate(Series::WakeBusy(far))?;
        Some(less(&wake, switch_ns + lines as f64)).filter(|ipi| ipi.median > 0.0)
    };
    let positive = |estimate: &Estimate| estimate.median > 0.0;
    let close = latency(Distance::Llc).or_else(|| latency(Distance::Sibling));
    let far = latency(Distance::OtherLlc).or_else(|| latency(Distance::Node));
    let quiet_ns = quiet_call_ns(samples, costs);
    let sent = near(samples, Series::CallBusy).zip(quiet_ns);
    let sent = sent.map(|(call, quiet_ns)| less(&call, quiet_ns)).filter(positive);
    // The woken thread comes and goes, and calls the kernel once to wait again.
    let alone = samples.estimate(Series::FutexAlone);
    let turn_ns = alone.map(|alone| 2.0 * switch_ns + alone.median);
    let received = near(samples, Series::Interrupted).zip(turn_ns);
    let received = received.map(|(gap, turn_ns)| less(&gap, turn_ns)).filter(positive);
    let before = hardware.ipi;
    let mut ipi = before.unwrap_or_default();
    let how = "wakeup of a thread on a busy CPU, less the switch and the hand-off";
    let mut numbers = vec![set(&mut ipi.llc_ns, "cost_ns.ipi.llc", close, how, NO_PAIR)];
    ipi.other_llc_ns = ipi.other_llc_ns.max(ipi.llc_ns);
    numbers.push(set(&mut ipi.other_llc_ns, "cost_ns.ipi.other_llc", far, how, NO_PAIR));
    ipi.other_llc_ns = ipi.other_llc_ns.max(ipi.llc_ns);
    let how = "a call that wakes a thread on a busy CPU, less one that interrupts no CPU";
    numbers.push(set(&mut ipi.send_ns, "cost_ns.ipi.send", sent, how, NOISE));
    let how =
        "how long a thread stands still for one that is woken, less two switches and its call";
    numbers.push(set(&mut ipi.receive_ns, "cost_ns.ipi.receive", received, how, NOISE));
    if before.is_some() || numbers.iter().any(|number| number.estimate.is_some()) {
        hardware.ipi = Some(ipi);
    }
    numbers
}

/// How long a CPU that became idle needs no interrupt, in microseconds: the longest idle time that
/// was tried up to which calls that wake, and the time until the woken thread runs, are both nearer
/// to what they take without an interrupt than to what they take of a busy CPU; 0: there is none.
/// `handoff_ns` come along with each wakeup. Where a host delivers interrupts late, a call can be
/// short though it interrupts.
pub(crate) fn poll_us(samples: &Samples, costs: &Costs, handoff_ns: u64) -> u64 {
    let busy = near(samples, Series::CallBusy).zip(near(samples, Series::WakeBusy));
    let Some((call, wake)) = busy else { return 0 };
    let Some(quiet_ns) = quiet_call_ns(samples, costs) else { return 0 };
    let prompt_ns = (costs.wakeup_ns + costs.context_switch_ns + handoff_ns) as f64;
    let limit_ns = |quiet_ns: f64, busy: &Estimate| (quiet_ns + busy.median) / 2.0;
    let (call_ns, wake_ns) = (limit_ns(quiet_ns, &call), limit_ns(prompt_ns, &wake));
    let is_quiet = |us: &u64| {
        let of = |series| samples.estimate(series).map(|estimate| estimate.median);
        of(Series::CallIdle(*us)).is_some_and(|ns| ns < call_ns)
            && of(Series::WakeIdle(*us)).is_some_and(|ns| ns < wake_ns)
    };
    IDLE_US.into_iter().take_while(is_quiet).last().unwrap_or(0)
}

/// The number of [`poll_us`].
pub(crate) fn poll_number(samples: &Samples, poll_us: u64, key: String, how: &str) -> Number {
    match samples.estimate(Series::CallIdle(poll_us)) {
        Some(call) => Number::measured(key, poll_us, call, how),
        None => Number::kept(key, poll_us, "each call that wakes an idle CPU interrupts it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(Series, f64)]) -> Samples {
        let mut samples = Samples::default();
        of.iter().for_each(|(series, value)| samples.add(*series, vec![*value; 100]));
        samples
    }

    fn costs() -> Costs {
        Costs { context_switch_ns: 800, wakeup_ns: 700, ..Costs::none() }
    }

    #[test]
    fn senders_and_interrupted_tasks_pay_what_calls_and_gaps_are_longer() {
        let samples = samples(&[
            (Series::FutexAlone, 300.0),
            (Series::CallBusy(Distance::Llc), 6_000.0),
            (Series::Interrupted(Distance::Llc), 9_000.0),
        ]);
        let machine = rota_machine_file::preset("cloud-2").expect("it ships");
        let mut hardware = machine.hardware.as_deref().expect("it has").clone();
        interrupts(&samples, &costs(), &mut hardware);
        let ipi = hardware.ipi.expect("it was measured");
        // 6000 - (300 + 700); 9000 - 2 x 800 - 300
        assert_eq!((ipi.send_ns, ipi.receive_ns), (5_000, 7_100));
    }

    /// Of idle times with what calls and wakeups take.
    fn polls(of: &[(u64, f64, f64)]) -> u64 {
        let busy = [
            (Series::FutexAlone, 300.0),
            (Series::CallBusy(Distance::Llc), 6_000.0),
            (Series::WakeBusy(Distance::Llc), 9_000.0),
        ];
        let idle = of.iter().flat_map(|(us, call_ns, wake_ns)| {
            [(Series::CallIdle(*us), *call_ns), (Series::WakeIdle(*us), *wake_ns)]
        });
        poll_us(&samples(&busy.into_iter().chain(idle).collect::<Vec<_>>()), &costs(), 400)
    }

    #[test]
    fn a_cpu_watches_for_work_as_long_as_calls_are_short() {
        // the limit is (300 + 700 + 6000) / 2
        let prompt = 2_000.0;
        let of = [(5, 1_200.0), (10, 3_499.0), (20, 6_000.0), (40, 1_200.0)];
        assert_eq!(polls(&of.map(|(us, call_ns)| (us, call_ns, prompt))), 10);
        assert_eq!(polls(&[(5, 5_900.0, prompt), (10, 1_200.0, prompt)]), 0);
    }

    #[test]
    fn a_cpu_that_a_wakeup_reaches_as_late_as_a_busy_one_does_not_watch() {
        // the limit is (700 + 800 + 400 + 9000) / 2
        assert_eq!(polls(&[(5, 1_200.0, 5_449.0), (10, 1_200.0, 5_451.0)]), 5);
        assert_eq!(polls(&[(5, 1_200.0, 9_500.0)]), 0);
    }
}
