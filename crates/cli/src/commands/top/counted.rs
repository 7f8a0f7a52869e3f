// SPDX-License-Identifier: MIT OR Apache-2.0
//! This machine as the kernel counts it: no event reaches this program.

use super::around::Around;
use super::schedulers::News;
use crate::stop::{Stop, LOOK};
use rota_kernel::counts::{Counter, Does, Look, TaskCounts};
use rota_top::{About, Counts, Snapshot, Step, Tally, TaskNews, HALF_NS};
use std::sync::Arc;
use std::time::Duration;

/// How often there is another picture.
const PICTURE: Duration = Duration::from_millis(200);

/// Shows what is counted until the user has enough, or for so long; returns the last picture, and how
/// much was not counted for want of room.
pub(super) fn follow(
    mut counter: Counter,
    stop: &Stop,
    until_ns: Option<u64>,
    around: &mut Around<'_>,
) -> (Snapshot, u64) {
    let mut tally = Tally::new(counter.cpus(), counter.begin_ns());
    let mut next_ns = PICTURE.as_nanos() as u64;
    loop {
        let is_over = |now_ns: u64| until_ns.is_some_and(|until_ns| now_ns >= until_ns);
        let wait_ns =
            next_ns.min(until_ns.unwrap_or(u64::MAX)).saturating_sub(counter.elapsed_ns());
        std::thread::sleep(Duration::from_nanos(wait_ns).min(LOOK));
        around.recordings.look();
        let over = stop.wanted() || around.shared.is_stopped() || is_over(counter.elapsed_ns());
        if !over && counter.elapsed_ns() < next_ns {
            continue;
        }
        // Pictures that are late are left out.
        next_ns = counter.elapsed_ns() + PICTURE.as_nanos() as u64;
        let look = counter.look(HALF_NS);
        take(&mut tally, &look);
        around.schedulers(|news| match news {
            News::Loaded => tally.loaded(),
            News::Left { kind, reason, .. } => tally.left(kind, reason),
            News::Replaced(_) => {}
        });
        let snapshot = tally.snapshot();
        if over {
            return (snapshot, look.lost);
        }
        around.show(Arc::new(snapshot), look.lost);
    }
}

fn take(tally: &mut Tally, look: &Look) {
    look.tasks.iter().for_each(|task| take_task(tally, task));
    let steps: Vec<Vec<Step>> = look.steps.iter().map(|of| of.iter().map(step).collect()).collect();
    tally.steps(&steps);
    for (cpu, (runs, online)) in look.runs.iter().zip(&look.online).enumerate() {
        tally.cpu(cpu, *runs, *online);
    }
    tally.pass(look.now_ns);
}

fn take_task(tally: &mut Tally, task: &TaskCounts) {
    let about = task.about.as_ref();
    let news = TaskNews {
        about: about.map(|of| About { pid: of.pid, name: &of.name, group: &of.group }),
        counts: Counts {
            run_ns: task.run_ns,
            delay_ns: task.delay_ns,
            switches: task.switches,
            latencies: &task.latencies,
        },
        waits_since_ns: match task.does {
            Does::Waits { since_ns } => Some(since_ns),
            Does::Sleeps | Does::Runs => None,
        },
        ended: task.ended,
    };
    tally.task(task.place, &news);
}

fn step(of: &rota_kernel::counts::Step) -> Step {
    let rota_kernel::counts::Step { top, top_ns, busy_ns, wasted_ns } = *of;
    Step { top, top_ns, busy_ns, wasted_ns }
}
