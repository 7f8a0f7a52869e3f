// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the cost of a decision grows with the number of clients [VTRR §3.3, Fig. 3], in
//! instructions, which the simulator counts: no permission to use BPF is needed.
#![allow(missing_docs)]

use rota_decision_cost::measure::load;
use rota_decision_cost::simulate::simulate;
use rota_decision_cost::subject::Subject;

/// Slices of 10 ms that are simulated; linux22 takes 21 of them at once, o1 ten.
const SLICES: u64 = 630;

fn instructions(named: &str, tasks: usize) -> f64 {
    let Subject { name, object } = Subject::named(named).unwrap();
    simulate(&name, &object, &load(tasks), SLICES).unwrap().instructions
}

#[test]
fn vtrr_costs_the_same_with_ten_and_with_ten_thousand_clients() {
    let ten = instructions("vtrr", 10);
    for tasks in [100, 1_000, 10_000] {
        let many = instructions("vtrr", tasks);
        assert!((many / ten - 1.0).abs() < 0.1, "{tasks} clients: {many}, 10: {ten}");
    }
}

#[test]
fn o1_costs_the_same_with_ten_and_with_ten_thousand_tasks() {
    let ten = instructions("o1", 10);
    for tasks in [100, 1_000, 10_000] {
        let many = instructions("o1", tasks);
        assert!((many / ten - 1.0).abs() < 0.1, "{tasks} tasks: {many}, 10: {ten}");
    }
}

#[test]
fn pbs_in_constant_time_costs_the_same_with_a_hundred_and_with_ten_thousand_clients() {
    // [PBS §5.5]: L + M + 1 are looked at
    let hundred = instructions("pbs:mode=constant", 100);
    for tasks in [1_000, 10_000] {
        let many = instructions("pbs:mode=constant", tasks);
        assert!((many / hundred - 1.0).abs() < 0.1, "{tasks} clients: {many}, 100: {hundred}");
    }
}

#[test]
fn linux_pbs_and_fair_queueing_in_a_list_cost_as_much_as_there_are_clients() {
    for named in ["linux22", "wfq:queue=list", "pbs"] {
        let [some, more] = [1_000, 5_000].map(|tasks| instructions(named, tasks));
        let each = (more - some) / 4_000.0;
        assert!(each > 2.0, "{named}: {each} instructions per client");
        // a straight line from next to nothing: what is left without the walk is small
        let none = some - 1_000.0 * each;
        assert!(none.abs() < 0.1 * some, "{named}: {none} + {each} per client");
    }
}

#[test]
fn a_heap_or_a_tree_costs_as_much_as_it_is_deep() {
    for named in ["wfq", "stride", "cfs", "eevdf", "las"] {
        let [some, more, most] = [16, 512, 8_192].map(|tasks| instructions(named, tasks));
        // 16 times 32 and 512 times 16: five levels more, and four
        assert!(more > some, "{named}: {some}, {more}");
        assert!(most - more < 1.5 * (more - some), "{named}: {some}, {more}, {most}");
    }
}

#[test]
fn a_lottery_takes_its_steps_whatever_is_there() {
    let [some, more] = [10, 10_000].map(|tasks| instructions("lottery", tasks));
    assert!((more / some - 1.0).abs() < 0.1, "{some}, {more}");
}
