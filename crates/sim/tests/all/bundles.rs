// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bundles: what a program had set up runs without it, on the machine that it was set up for.

use proptest::prelude::*;
use rota_machine::config::{Config, Costs};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_machine::user_half::{Live, Step, UserHalf};
use rota_object::image::StructOps;
use rota_sim::{Origin, Policy, Simulation, UserProgram, Watchers};
use rota_trace::CsvSink;
use std::sync::{Arc, OnceLock};

const HOGS: &str = r#"{"tasks": {"hog": {"instance": 3, "run": 100000}}}"#;

/// Gives the first task four times the share of the others, and attaches.
struct Loader;

impl UserHalf for Loader {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        let map = live.rt.map("rota_shares").expect("wfq has it");
        let put =
            live.rt.set_element(live.system, map, &1001u32.to_le_bytes(), &400u64.to_le_bytes(), 0);
        put.expect("there is room");
        live.rt.image().struct_ops.first().cloned().ok_or_else(|| "no table".into())
    }

    fn go_on(&mut self, _: Live<'_>) -> Step {
        Step::Sleep
    }
}

fn origin() -> Origin {
    Origin {
        program: "scx_loader".into(),
        arguments: vec!["--fair".into()],
        sha256: "00".into(),
        rota: "0.1.0".into(),
    }
}

fn config(cpus: u32) -> Config {
    let mut config = Config::new(Topology::flat(cpus).expect("CPUs"), 1_000_000_000);
    (config.costs, config.exact_slices) = (Costs::none(), true);
    config
}

fn simulation(policy: &Policy, cpus: u32) -> Simulation {
    let load = Arc::new(rota_workload::parse("load.json", HOGS).expect("legal"));
    Simulation::new(policy, &load, config(cpus))
}

fn wfq() -> Policy {
    let object = rota_catalog::find("wfq").expect("ships").object;
    Policy::link("wfq", object, &Kernel::default()).expect("links")
}

fn bundle() -> &'static [u8] {
    static BUNDLE: OnceLock<Vec<u8>> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
        simulation(&wfq(), 1).bundle_by(program, origin()).expect("can be bundled")
    })
}

fn trace(policy: &Policy) -> Vec<u8> {
    let mut csv = Vec::new();
    let mut sink = CsvSink::new(&mut csv);
    let watchers = Watchers { sinks: vec![&mut sink], figures: None };
    simulation(policy, 1).measure(watchers).expect("a run");
    drop(sink);
    csv
}

#[test]
fn what_the_program_set_up_is_there_without_it() {
    let policy = Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    let measured = simulation(&policy, 1).measure(Watchers::default()).expect("a run");

    assert_eq!(policy.origin(), Some(&origin()));
    // 400 of 400 + 100 + 100: two thirds of a second
    let cpu_ms: Vec<u64> = measured.numbers.tasks.iter().map(|t| t.cpu_ns / 1_000_000).collect();
    assert!((640..=690).contains(&cpu_ms[0]), "{cpu_ms:?}");
    assert!(measured.numbers.tasks.iter().all(|task| !task.is_program));
}

#[test]
fn a_bundle_has_the_same_bytes_each_time_and_so_has_its_run() {
    let program = UserProgram { name: "scx_loader".into(), half: Box::new(Loader) };
    let again = simulation(&wfq(), 1).bundle_by(program, origin()).expect("can be bundled");
    assert!(again == bundle());
    let policy = || Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    assert!(trace(&policy()) == trace(&policy()));
}

#[test]
fn another_machine_is_refused_with_the_one_that_fits() {
    let policy = Policy::of_bundle("loader.rota", bundle()).expect("a bundle");
    let error = simulation(&policy, 2).measure(Watchers::default()).expect_err("two CPUs");
    assert_eq!(
        error.to_string(),
        "loader.rota: set up for 1 CPU with smt=1,llc=1,node=1, not for 2 CPUs with \
         smt=1,llc=2,node=2: expected --cpus 1 --topology smt=1,llc=1,node=1"
    );
}

#[test]
fn other_files_are_refused_by_how_they_begin() {
    let error = |bytes: &[u8]| Policy::of_bundle("x.rota", bytes).expect_err("none").to_string();
    assert!(
        error(b"rota bundle 7\n...").contains("\"rota bundle 7\", expected a bundle of version 1")
    );
    assert!(error(b"\x7fELF").contains("expected a bundle of version 1"));
    assert!(error(b"rota bundle 1\n").contains("is damaged"));
    let cut = &bundle()[..bundle().len() - 9];
    assert!(error(cut).contains("is damaged"), "{}", error(cut));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Damage is told, or does no harm: the run may be ejected, as of any object.
    #[test]
    fn a_damaged_bundle_is_refused_or_runs(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let begins = b"rota bundle 1\n".len();
        let mut plain = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bundle()[begins..]), &mut plain)
            .expect("packed");
        let at = at.index(plain.len());
        plain[at] = byte;
        let mut packed =
            flate2::write::GzEncoder::new(bundle()[..begins].to_vec(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &plain).expect("memory");
        let bytes = packed.finish().expect("memory");
        if let Ok(policy) = Policy::of_bundle("x.rota", &bytes) {
            let _ = simulation(&policy, 1).measure(Watchers::default());
        }
    }
}
