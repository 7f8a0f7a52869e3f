// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds whatever sub-schedulers come and go: the machine's books agree at each instant
//! (`Config::audit`), and each task is in one scheduler.

use super::{hosting_fifo, Make};
use crate::common::plan::{cases, plan};
use crate::common::script::{is_refusal, lawful, script, scripted};
use crate::common::Tape;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;
use rota_machine::run::Machine;
use std::sync::Arc;

const RUN_NS: u64 = 100_000_000;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_books_agree_whatever_comes_and_goes(
        plan in plan(),
        script in script(RUN_NS / 1000),
        told_of_hotplug in any::<bool>(),
        loads in prop::collection::vec((0..RUN_NS / 1000, any::<bool>(), any::<bool>()), 0..10),
    ) {
        let mut load = scripted(&plan, &script);
        let change = |(at_us, inner, loads): &(u64, bool, bool)| {
            let path = if *inner { "/s1/x" } else { "/s1" };
            let what = if *loads { "load" } else { "unload" };
            format!(r#", {{"at": {at_us}, "cgroup": "{path}", "scheduler": "{what}"}}"#)
        };
        let changes: String = loads.iter().map(change).collect();
        let body = load.strip_suffix("]}").unwrap().trim_end_matches([',', '\n']);
        load = format!("{body}{changes}]}}");
        let workload = Arc::new(rota_workload::parse("random.json", &load).unwrap());
        let btf = rota_object::btf::reference();
        let mut machine = Machine::new(plan.config(RUN_NS), workload, &btf).unwrap();
        let subs: [(&str, Make); 2] =
            [("/s1", || hosting_fifo("sub")), ("/s1/x", || hosting_fifo("deep"))];
        for (cgroup, make) in subs {
            machine.system.add_sub_scheduler(cgroup, Box::new(move |_, _| Ok(Box::new(make()))));
        }
        let mut tape = Tape::default();
        let mut root = hosting_fifo("root");
        // else it leaves for hotplug, and all others with it; they are not asked
        if told_of_hotplug {
            root.add(&[Op::CpuOnline, Op::CpuOffline]);
        }
        let outcome = match machine.run(&mut root, &mut tape) {
            Ok(outcome) => outcome,
            Err(error) if is_refusal(&error) => return Ok(()),
            Err(error) => panic!("{error}\n{load}"),
        };
        let left = outcome.exit.kind == ExitKind::UnregKern && !told_of_hotplug;
        prop_assert!(left || outcome.exit.kind == ExitKind::Unreg, "{}\n{}", outcome.exit, load);
        for gone in &outcome.sub_exits {
            prop_assert!(!gone.exit.kind.is_error(), "{}\n{}", gone.exit, load);
        }
        prop_assert_eq!(lawful(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
        // init_task() and exit_task() of each scheduler come in pairs for each task
        let mut open = std::collections::BTreeSet::new();
        for line in &outcome.printed {
            let words: Vec<&str> = line.split(' ').collect();
            if let [name, op, pid] = words[..] {
                let held = (name.to_owned(), pid.to_owned());
                match op {
                    "init_task" => prop_assert!(open.insert(held), "{} twice\n{}", line, load),
                    "exit_task" => prop_assert!(open.remove(&held), "{} before\n{}", line, load),
                    _ => {}
                }
            }
        }
        prop_assert!(open.is_empty(), "{:?}\n{}", open, load);
    }
}
