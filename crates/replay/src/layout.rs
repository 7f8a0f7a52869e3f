// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where in its work a task moved bytes.
//!
//! A recording tells of calls in a row when the first and the last of them ended, and how many there
//! were. They are laid out evenly between the two; calls at several streams, as of a task that sends
//! to all of its peers in turn, go into one flow if they are about as close as each other.

use crate::flows::{Flow, Moved};
use crate::life::{Done, Life, Step};
use crate::load::Taken;
use std::collections::BTreeMap;

/// Calls are of another flow if the gap before them is longer than this …
const GAP_NS: u64 = 4_000;
/// … and than so many of the gaps before.
const WIDER: u64 = 4;

/// One call.
#[derive(Clone, Copy, Debug)]
struct Call {
    time_ns: u64,
    stream: u64,
    puts: bool,
    bytes: u64,
}

/// Makes the steps of a life from what it was seen to do, without the waits that follow from its flows.
pub(crate) fn lay_out(life: &mut Life, follows: &[bool], taken: Taken) {
    let mut calls = calls(&life.moved).into_iter().peekable();
    let mut steps = Steps::default();
    // What is still to be taken off.
    let mut cost_ns = 0;
    for Done { step, from_ns, to_ns, wait, told } in &life.done {
        let (from_ns, to_ns) = (*from_ns, *to_ns);
        match step {
            Step::Run(work_ns) => {
                let mut own = Vec::new();
                while let Some(call) = calls.next_if(|call| call.time_ns <= to_ns) {
                    own.push(Call { time_ns: call.time_ns.max(from_ns), ..call });
                }
                cost_ns += taken.call_ns * own.len() as u64 + taken.of(*told);
                let less_ns = cost_ns.min(*work_ns);
                cost_ns -= less_ns;
                steps.work(*work_ns - less_ns, (from_ns, to_ns), &own);
            }
            step => {
                // Calls that ended as the task left its CPU.
                let mut own = Vec::new();
                while let Some(call) = calls.next_if(|call| call.time_ns <= from_ns) {
                    own.push(Call { time_ns: from_ns, ..call });
                }
                cost_ns += taken.call_ns * own.len() as u64;
                steps.work(0, (from_ns, from_ns), &own);
                if !wait.is_some_and(|wait| follows[wait.get() as usize - 1]) {
                    steps.push(step.clone());
                }
            }
        }
    }
    let rest: Vec<Call> = calls.collect();
    if let Some(last) = rest.last() {
        steps.work(0, (last.time_ns, last.time_ns), &rest);
    }
    life.steps = steps.of;
}

/// All calls of a life in the order of their times.
fn calls(moved: &[Moved]) -> Vec<Call> {
    let mut calls = Vec::new();
    for moved in moved {
        let Moved { stream, puts, first_ns, last_ns, .. } = *moved;
        let gaps = u64::from(moved.calls - 1);
        let each = rota_workload::spread(&[(moved.bytes, moved.calls)]);
        calls.extend((0..).zip(each).map(|(number, (_, bytes))| {
            let time_ns = first_ns + part(last_ns - first_ns, number, gaps);
            Call { time_ns, stream, puts, bytes }
        }));
    }
    calls.sort_by_key(|call| call.time_ns);
    calls
}

/// So much of a whole.
fn part(whole: u64, number: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(number) / u128::from(of.max(1))) as u64
}

/// Steps that are being put together.
#[derive(Default)]
struct Steps {
    of: Vec<Step>,
}

impl Steps {
    fn push(&mut self, step: Step) {
        match (self.of.last_mut(), &step) {
            (Some(Step::Run(before)), Step::Run(ns)) => *before += ns,
            (_, Step::Run(0)) => {}
            _ => self.of.push(step),
        }
    }

    /// Work between two times, with these calls during it.
    fn work(&mut self, work_ns: u64, (from_ns, to_ns): (u64, u64), calls: &[Call]) {
        let until = |time_ns: u64| part(work_ns, time_ns - from_ns, to_ns - from_ns);
        let mut now_ns = from_ns;
        for flow in flows(calls) {
            let [first, .., last] = flow else {
                let [only] = flow else { continue };
                self.push(Step::Run(until(only.time_ns) - until(now_ns)));
                now_ns = only.time_ns;
                self.flow(0, (now_ns, now_ns), flow);
                continue;
            };
            self.push(Step::Run(until(first.time_ns) - until(now_ns)));
            let inside = until(last.time_ns) - until(first.time_ns);
            now_ns = last.time_ns;
            let span = (first.time_ns, last.time_ns);
            let (begin, end) = ((span.0, span.0), (span.1, span.1));
            // Bytes are put after the work that belongs to them, and taken before it.
            if first.puts {
                self.flow(0, begin, &flow[..1]);
                self.flow(inside, span, &flow[1..]);
            } else {
                self.flow(inside, span, &flow[..flow.len() - 1]);
                self.flow(0, end, &flow[flow.len() - 1..]);
            }
        }
        self.push(Step::Run(until(to_ns).max(work_ns) - until(now_ns)));
    }

    fn flow(&mut self, work_ns: u64, (from_ns, to_ns): (u64, u64), calls: &[Call]) {
        let Some(puts) = calls.first().map(|call| call.puts) else { return };
        let mut parts: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        for call in calls {
            let (bytes, count) = parts.entry(call.stream).or_default();
            (*bytes, *count) = (*bytes + call.bytes, *count + 1);
        }
        let parts = parts.into_iter().collect();
        self.of.push(Step::Flow(Flow { puts, work_ns, from_ns, to_ns, parts }));
    }
}

/// Calls that go into one flow each: of one direction, at about the same distances.
fn flows(calls: &[Call]) -> impl Iterator<Item = &[Call]> {
    let mut cuts = Vec::new();
    let mut begin = 0;
    for at in 1..calls.len() {
        let gap_ns = calls[at].time_ns - calls[at - 1].time_ns;
        let gaps = (at - 1 - begin) as u64;
        let usual_ns = (calls[at - 1].time_ns - calls[begin].time_ns) / gaps.max(1);
        let is_far = gaps > 0 && gap_ns > GAP_NS.max(WIDER * usual_ns);
        let is_far = is_far || (gaps == 0 && gap_ns > GAP_NS && is_denser(&calls[at..], gap_ns));
        if calls[at].puts != calls[begin].puts || is_far {
            cuts.push(begin..at);
            begin = at;
        }
    }
    if begin < calls.len() {
        cuts.push(begin..calls.len());
    }
    cuts.into_iter().map(|cut| &calls[cut])
}

/// Whether the next calls are closer than this: a single call before them stands alone.
fn is_denser(calls: &[Call], gap_ns: u64) -> bool {
    let [first, second, ..] = calls else { return true };
    (second.time_ns - first.time_ns) * WIDER < gap_ns
}
