// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare`: one workload under several policies, each once with the same seed.

use crate::args::CompareArgs;
use crate::error::{Error, Status};
use crate::object::{self, Named};
use crate::output::{comparison, json, messages, Run};
use crate::progress::{self, Clock};
use crate::simulation::{self, Finished};
use rota_bpf::image::Image;
use rota_manifest::Setup;
use std::io::Write;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

pub(crate) fn run(args: &CompareArgs) -> Result<Status, Error> {
    let kernel = object::kernel_btf(&args.object)?;
    let shipped = rota_catalog::policies().iter().map(|p| p.name.to_owned());
    let policies = if args.policies.is_empty() { shipped.collect() } else { args.policies.clone() };
    let mut objects = Vec::new();
    for policy in &policies {
        let Named { name, source, image } =
            object::open(policy, &args.object, &kernel, args.machine.hz)?;
        objects.push((name, source, Arc::new(image)));
    }
    let load = simulation::load(&args.workload)?;
    let config = simulation::config(&args.machine, &load.workload)?;

    let clock = Clock::default();
    let total_ns = config.duration_ns.saturating_mul(objects.len() as u64);
    let images: Vec<&Arc<Image>> = objects.iter().map(|(_, _, image)| image).collect();
    let finished = progress::show(&clock, total_ns, || {
        on_all_cpus(&images, |image| {
            let setup = Setup::default();
            simulation::run(Arc::clone(image), &setup, config.clone(), &load, &mut [], &clock)
        })
    });
    let finished = finished.into_iter().collect::<Result<Vec<Finished>, Error>>()?;

    let runs: Vec<Run<'_>> = objects
        .iter()
        .zip(&finished)
        .map(|((policy, source, image), finished)| Run {
            policy,
            source,
            image,
            set: &[],
            config: &config,
            load: &load,
            finished,
        })
        .collect();
    let mut out = std::io::stdout().lock();
    if args.json {
        json::print(&mut out, &json::Comparison::new(&load.file, &runs))?;
    } else {
        comparison::print(&mut out, &runs)?;
    }
    out.flush()?;
    Ok(tell(&runs))
}

/// Does independent work on as many threads as there are CPUs; results keep the order.
fn on_all_cpus<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            done.push((at, work(item)));
        }
        done
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(items.len())).map(|_| scope.spawn(worker)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().flat_map(join).collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Names the policies that left before the end.
fn tell(runs: &[Run<'_>]) -> Status {
    let mut status = Status::Done;
    for run in runs {
        let exit = &run.finished.outcome.exit;
        if exit.kind != rota_machine::exit::ExitKind::Unreg {
            messages::exit_of(run.policy, exit);
        }
        if exit.kind.is_error() {
            status = Status::Ejected;
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_their_items() {
        let items: Vec<u64> = (0..100).collect();
        let doubled: Vec<u64> = (0..100).map(|n| n * 2).collect();
        assert_eq!(on_all_cpus(&items, |n| n * 2), doubled);
        assert!(on_all_cpus(&[], |n: &u64| *n).is_empty());
    }
}
