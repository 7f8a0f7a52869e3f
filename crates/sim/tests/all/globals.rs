// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global variables of a policy, read by name after a run.

use crate::common::{compiled, scheduler};
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_sim::{Loaded, Simulation};
use rota_trace::Tee;
use std::sync::Arc;

const FUNCTIONS: &str = r#"
enum stage { BORN = 2, GONE = 5 };
u64 enabled;
s32 below = -3;
bool seen;
enum stage stage = BORN;
struct { u32 counts[3]; char name[8]; void *at; } inner;

void BPF_STRUCT_OPS(odd_enable, struct task_struct *p)
{
	enabled++;
	seen = true;
	inner.counts[1] += 10;
	inner.name[0] = 'o';
	inner.name[1] = 'k';
	inner.at = (void *)0x1000;
}

void BPF_STRUCT_OPS(odd_exit, struct scx_exit_info *ei)
{
	stage = GONE;
}
"#;

fn loaded() -> Option<Loaded> {
    let members = ".enable = (void *)odd_enable, .exit = (void *)odd_exit,";
    let policy = compiled(&scheduler("sched_ext_ops", FUNCTIONS, members))?;
    let load = r#"{"tasks": {"t": {"instance": 4, "run": 1000, "sleep": 1000}}}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(2).expect("CPUs"), 20_000_000);
    Some(Simulation::new(&policy, &load, config).load().expect("loads"))
}

fn number(loaded: &mut Loaded, path: &str) -> i128 {
    loaded.global(path).expect("is there").number.expect("a number")
}

/// Four tasks are enabled, once each.
#[test]
fn a_global_has_the_value_that_the_program_left_in_it() {
    let Some(mut loaded) = loaded() else { return };
    assert_eq!(number(&mut loaded, "enabled"), 0);
    assert_eq!(loaded.global("stage").expect("is there").text, "BORN");
    loaded.run(&mut Tee::new()).expect("a run");

    let expected = [("enabled", 4), ("below", -3), ("seen", 1), ("stage", 5), ("inner.at", 0x1000)];
    for (path, value) in expected.into_iter().chain([("inner.counts[1]", 40)]) {
        assert_eq!(number(&mut loaded, path), value, "{path}");
    }
    let name = loaded.global("inner.name").expect("is there");
    assert_eq!((name.text.as_str(), name.number), ("ok", None));
    assert_eq!(loaded.global("stage").expect("is there").text, "GONE");
}

#[test]
fn all_globals_are_listed_with_their_sections() {
    let Some(mut loaded) = loaded() else { return };
    let globals = loaded.globals();
    let of = |name: &str| globals.iter().find(|g| g.name == name).map(|g| &g.section);
    assert!(of("enabled").is_some_and(|section| section.contains("bss")), "{globals:?}");
    assert!(of("below").is_some_and(|section| section.contains("data")), "{globals:?}");
}

#[test]
fn a_global_that_there_is_not_gets_the_name_that_is_like_it() {
    let Some(mut loaded) = loaded() else { return };
    let error = loaded.global("enable").expect_err("no such thing").to_string();
    assert!(error.contains("did you mean 'enabled'?"), "{error}");
}
