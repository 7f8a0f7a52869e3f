// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of `load_statistics.bpf.c`: found, described, added up.

use super::support::{load, load_with};
use rota_object::image::map_type;
use rota_object::statistics::{Place, Statistics};

/// Bytes of `struct fixture_stats`, from its members.
fn bytes(picks: u64, small: u32, depth: i64, last_level: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(picks.to_le_bytes());
    bytes.extend(u64::from(small).to_le_bytes());
    bytes.extend(0u64.to_le_bytes()); // wait_ns
    bytes.extend(depth.to_le_bytes());
    bytes.extend(0u64.to_le_bytes()); // not_a_number
    [0, 0, last_level].iter().for_each(|level: &u64| bytes.extend(level.to_le_bytes()));
    bytes.extend(0u64.to_le_bytes()); // inner and padding
    bytes
}

fn value(statistics: &Statistics, sums: &[i128], name: &str) -> i128 {
    let at = statistics.counters.iter().position(|c| c.name == name).expect(name);
    sums[at]
}

#[test]
fn global_struct_is_described_member_by_member() {
    let image = load("load_statistics.bpf.c");
    let found = image.statistics().expect("stats");
    let names: Vec<&str> = found.counters.iter().map(|c| c.name.as_str()).collect();
    let expected = [
        "picks",
        "small",
        "wait_ns",
        "depth",
        "by_level[0]",
        "by_level[1]",
        "by_level[2]",
        "inner.deep",
    ];
    assert_eq!(names, expected);
    let variable = image.variables.iter().find(|v| v.name == "stats").expect("stats");
    assert_eq!(found.place, Place::Global(variable.map, variable.offset));
    assert_eq!((found.entries(), found.size), (1, 72));
    let [picks, _, wait, depth, level, ..] = found.counters.as_slice() else { panic!("counters") };
    assert_eq!((picks.help.as_str(), picks.unit.as_deref()), ("quanta begun", None));
    assert_eq!(wait.unit.as_deref(), Some("ns"), "the name tells the unit");
    assert_eq!((depth.gauge, depth.unit.as_deref()), (true, Some("tasks")));
    assert_eq!((picks.bits(), found.counters[1].bits()), (64, 32));
    assert_eq!((level.gauge, level.help.as_str()), (false, "one per level"));
}

#[test]
fn copies_of_all_cpus_are_added_up() {
    let image = load_with("load_statistics.bpf.c", &["-DMAP"]);
    let found = image.statistics().expect("stats");
    let id = image.map_named("stats").expect("map");
    assert_eq!(image.maps[id.0 as usize].kind, map_type::PERCPU_ARRAY);
    assert_eq!(found.place, Place::PerCpu(id, 1));
    let copies = [bytes(5, 1, 9, 2), bytes(7, 0, -11, 0), bytes(30, 2, 1, 40)].concat();
    let sums = found.sum(|_| copies.clone());
    assert_eq!(value(&found, &sums, "picks"), 42);
    assert_eq!(value(&found, &sums, "small"), 3);
    assert_eq!(value(&found, &sums, "depth"), -1);
    assert_eq!(value(&found, &sums, "by_level[2]"), 42);
}

#[test]
fn what_one_cpu_adds_and_another_takes_away_cancels_out() {
    let image = load_with("load_statistics.bpf.c", &["-DMAP"]);
    let found = image.statistics().expect("stats");
    let copies = [bytes(3, 0, 0, 0), bytes(u64::MAX, u32::MAX, 0, 0)].concat();
    let sums = found.sum(|_| copies.clone());
    assert_eq!(value(&found, &sums, "picks"), 2);
    assert_eq!(value(&found, &sums, "small"), i128::from(u32::MAX));
}

#[test]
fn array_of_numbers_counts_by_index() {
    let image = load_with("load_statistics.bpf.c", &["-DPLAIN"]);
    let found = image.statistics().expect("stats");
    let names: Vec<&str> = found.counters.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["stats[0]", "stats[1]", "stats[2]"]);
    assert_eq!(found.entries(), 3);
    let sums = found.sum(|entry| (u64::from(entry) * 10).to_le_bytes().to_vec());
    assert_eq!(sums, [0, 10, 20]);
}

#[test]
fn object_without_counters_has_none() {
    assert!(load("load_settings.bpf.c").statistics().is_none());
}

#[test]
fn missing_bytes_count_nothing() {
    let found = load("load_statistics.bpf.c").statistics().expect("stats");
    assert!(found.sum(|_| Vec::new()).iter().all(|sum| *sum == 0));
    assert!(found.sum(|_| vec![1; 20]).iter().all(|sum| *sum == 0), "half a copy is none");
}
