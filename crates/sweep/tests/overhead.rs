// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep takes beyond the runs themselves: identities, rows, the file of finished runs, the
//! dataset. Both sides do the same runs on two threads, in turns, and CPU time is compared, which a
//! loaded computer changes little. `ROTA_RUNS` is the number of runs of a side.

use rota_session::{load::Load, Ask, MachineOptions, Session};
use rota_sim::Watchers;
use rota_sweep::{write, Journal, Runs, Sweep, Table};
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

const LOAD: &str = r#"{"tasks": {
    "hog": {"instance": 2, "run": 10000},
    "talk": {"instance": 6, "run": {"dist": "exp", "mean": 2000},
             "sleep": {"dist": "exp", "mean": 6000}}}}"#;
/// Turns of each side.
const TURNS: usize = 5;
const SETTINGS: usize = 10;

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU time and real time of some work.
fn timed(work: impl FnOnce()) -> (f64, f64) {
    let (cpu, start) = (cpu_seconds(), Instant::now());
    work();
    (cpu_seconds() - cpu, start.elapsed().as_secs_f64())
}

fn alphas() -> Vec<f64> {
    (1..=SETTINGS).map(|alpha| alpha as f64 / 2.0).collect()
}

/// Each setting with so many seeds, without a sweep.
fn alone(folder: &Path, seeds: usize) {
    let session = Session::new(Box::new(|_| ()));
    let load = Load::read(&folder.join("load.json")).expect("a workload");
    let next = AtomicUsize::new(0);
    let ready = alphas().into_iter().map(|alpha| {
        let machine = MachineOptions { duration: Some(1_000_000_000), ..MachineOptions::default() };
        let set = vec![("alpha".to_owned(), alpha.to_string())];
        let ask = Ask { policy: "pbs".into(), set, cpus: Some(2), machine, ..Ask::default() };
        session.ready(&ask, load.clone()).expect("ready")
    });
    let ready: Vec<_> = ready.collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(ready) = ready.get(at / seeds) else { return };
                let run = ready.simulation(1 + (at % seeds) as u64).expect("a run");
                run.measure(Watchers::default()).expect("measured");
            });
        }
    });
}

/// The same as `rota sweep` does it.
fn swept(folder: &Path, seeds: usize) {
    let alphas: Vec<String> = alphas().iter().map(f64::to_string).collect();
    let text = format!(
        "workloads = \"load.json\"\npolicies = \"pbs\"\nseeds = {seeds}\n[run]\n\
         duration = \"1s\"\ncpus = 2\n[set.pbs]\nalpha = [{}]\n",
        alphas.join(", ")
    );
    let sweep = Sweep::parse(&folder.join("s.toml"), &text).expect("a sweep");
    let runs = Runs::new(sweep.into(), Box::new(|_| ())).expect("files");
    let (mut journal, _) = Journal::open(&folder.join("s.part")).expect("new");
    let mut keep = |row: &rota_sweep::Row| {
        journal.add(row).expect("kept");
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let done = runs.run(&runs.cells(), &HashMap::new(), (2, &stop), &mut keep).expect("done");
    assert_eq!(done.rows.len(), seeds * SETTINGS);
    let bytes = write(&Table::new(done.rows), Vec::new()).expect("a dataset");
    std::fs::write(folder.join("s.parquet"), bytes).expect("written");
    journal.remove().expect("removed");
}

#[test]
#[ignore = "measures time: minutes of it"]
fn a_sweep_takes_at_most_five_percent_more_than_its_runs() {
    let runs = std::env::var("ROTA_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs: usize = runs.unwrap_or(1000);
    let seeds = (runs / SETTINGS / TURNS).max(1);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("load.json"), LOAD).expect("written");
    let (mut own, mut whole) = ([0.0; 2], [0.0; 2]);
    for _ in 0..TURNS {
        for (sum, work) in [(&mut own, alone as fn(&Path, usize)), (&mut whole, swept)] {
            let (cpu, real) = timed(|| work(folder.path(), seeds));
            sum[0] += cpu;
            sum[1] += real;
        }
    }
    let count = seeds * SETTINGS * TURNS;
    let more = |at: usize| 100.0 * (whole[at] / own[at] - 1.0);
    println!("{count} runs alone: {:.2} s of CPU time, {:.2} s", own[0], own[1]);
    println!(
        "as a sweep: {:.2} s of CPU time ({:+.2} %), {:.2} s ({:+.2} %)",
        whole[0],
        more(0),
        whole[1],
        more(1)
    );
    assert!(more(0) <= 5.0, "{:.2} % more CPU time", more(0));
}
