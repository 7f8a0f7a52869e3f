// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;
use rota_machine::hardware::parts::CoreType;

/// Two packages; in each an L3 cache of two cores, the first with two threads. Node 2 is memory
/// beside node 0, and node 3 has no CPUs. PU 7 is offline, PU 5 not allowed.
const TWO: &str = include_str!("../../tests/two-packages.xml");

fn read(text: &str) -> Machine {
    hwloc_xml("two.xml", text).expect("a machine")
}

fn error(text: &str) -> String {
    hwloc_xml("two.xml", text).expect_err("no machine").to_string()
}

fn kind(machine: &Machine, cpu: u32) -> CoreType {
    machine.hardware.as_ref().expect("hardware").core_type(cpu).clone()
}

/// A machine of these objects.
fn of(objects: &str) -> String {
    format!("<topology version=\"3.0\"><object type=\"Machine\">{objects}</object></topology>")
}

fn pus(cpus: std::ops::Range<u32>) -> String {
    cpus.map(|cpu| format!("<object type=\"PU\" os_index=\"{cpu}\"/>")).collect()
}

#[test]
fn cores_caches_and_nodes_are_those_of_the_objects() {
    let machine = read(TWO);
    let topology = &machine.topology;
    assert_eq!((machine.name.as_str(), machine.source.as_str()), ("two", "hwloc, Some CPU 9000"));
    assert_eq!((topology.cpus(), topology.cores()), (5, 4));
    assert_eq!((topology.llcs(), topology.nodes(), topology.distance(0, 1)), (2, 2, 21));
    assert_eq!(topology.siblings(0).iter().collect::<Vec<_>>(), [0, 4]);
    let hardware = machine.hardware.as_ref().expect("hardware");
    let cache = hardware.cache.as_ref().expect("caches");
    assert_eq!((cache.llc_kib, cache.line_bytes, kind(&machine, 0).l2_kib), (16384, 128, 1024));
    let told = [
        "CPUs 7 are offline or not allowed, and left out",
        "CPUs 5 are not allowed, and left out",
        "nodes 2-3 have no CPUs of their own, and are left out",
        "1 caches of memory are left out",
        "CPUs 0-4 of the machine are CPUs 0-3,6 of the computer",
    ];
    assert_eq!(machine.notes, told);
}

#[test]
fn a_file_without_a_third_level_has_its_second_one_as_the_last() {
    let cache = |level: u32, mask: &str, bytes: u32| {
        format!("<object type=\"L{level}Cache\" cpuset=\"{mask}\" cache_size=\"{bytes}\"/>")
    };
    let caches = [cache(2, "0xf", 1 << 20), cache(1, "0x3", 1 << 15), cache(1, "0xc", 1 << 15)];
    let machine = read(&of(&(caches.concat() + &pus(0..4))));
    assert_eq!(machine.topology.llcs(), 1);
    assert_eq!(machine.topology.cluster_cpus(3).iter().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(kind(&machine, 0).l2_kib, 32);
    assert_eq!(machine.notes, ["4 CPUs without a core are taken to be cores of one CPU"]);
}

#[test]
fn a_node_of_several_packages_is_one_and_without_caches_a_package_shares_one() {
    let node = "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0xf\"/>";
    let packages =
        "<object type=\"Package\" cpuset=\"0x3\"/><object type=\"Package\" cpuset=\"0xc\"/>";
    let machine = read(&of(&format!("{node}{packages}{}", pus(0..4))));
    assert_eq!((machine.topology.llcs(), machine.topology.nodes()), (2, 1));
    assert!(machine.hardware.as_ref().expect("hardware").cache.is_none());
}

#[test]
fn latencies_of_memory_count_more_than_distances() {
    // 80 and 130 ns from node 0: 10 * 130 / 80 = 16.25; 90 and 171 from node 1: 19. HMAT, where the
    // firmware has it; without a local latency, or for memory without CPUs, the distance stays.
    let node = |at: u32, mask: &str| {
        format!(
            r#"<object type="NUMANode" os_index="{at}" gp_index="{}" cpuset="{mask}"/>"#,
            at + 70
        )
    };
    let value = |from: &str, to: u32, ns: u32| {
        format!(
            r#"<memattr_value target_obj_type="NUMANode" target_obj_gp_index="{}" value="{ns}"
                initiator_cpuset="{from}"/>"#,
            to + 70
        )
    };
    let said = r#"<distances2 type="NUMANode" name="NUMALatency" indexing="os">
        <indexes>0 1</indexes><u64values>10 21 21 10</u64values></distances2>"#;
    let machine = |values: &str, said: &str| {
        let objects = node(0, "0x3") + &node(1, "0xc") + &pus(0..4);
        let latency = format!(r#"{said}<memattr name="Latency" flags="6">{values}</memattr>"#);
        let text = of(&objects).replace("</topology>", &format!("{latency}</topology>"));
        let topology = read(&text).topology;
        (topology.distance(0, 1), topology.distance(1, 0))
    };
    let (first, second) = (value("0x3", 0, 80) + &value("0x3", 1, 130), value("0xc", 0, 171));
    let all = first.clone() + &second + &value("0xc", 1, 90);
    assert_eq!(machine(&all, ""), (16, 19));
    assert_eq!(machine(&all, said), (16, 19));
    assert_eq!(machine(&(first + &second), said), (16, 21));
}

#[test]
fn a_cpu_of_a_node_that_is_not_there_says_which_one_it_was() {
    let node = "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\"/>";
    let other = "<object type=\"PU\" os_index=\"1\" complete_nodeset=\"0x8\"/>";
    let lost = "<object type=\"PU\" os_index=\"2\"/>";
    let machine = read(&of(&format!("{node}{}{other}{lost}", pus(0..1))));
    let topology = &machine.topology;
    assert_eq!([0, 1, 2].map(|cpu| topology.node_of(cpu)), [0, 1, 0]);
    let told = "CPUs 2 are in no node: they are taken to be in node 0";
    assert!(machine.notes.contains(&told.to_owned()), "{:?}", machine.notes);
}

#[test]
fn kinds_have_capacities_or_frequencies_or_are_taken_to_be_alike() {
    let with = |[a, b]: [&str; 2]| {
        let kind = |mask: &str, said: &str| format!("<cpukind cpuset=\"{mask}\" {said}</cpukind>");
        let kinds = kind("0x1", a) + &kind("0x2", b);
        let text = of(&pus(0..2)).replace("</topology>", &format!("{kinds}</topology>"));
        let machine = read(&text);
        let speeds = [kind_of(&machine, 0), kind_of(&machine, 1)];
        (speeds, machine.notes)
    };
    fn kind_of(machine: &Machine, cpu: u32) -> (String, u32, u32) {
        let kind = kind(machine, cpu);
        (kind.name, kind.speed, kind.capacity)
    }
    let info = |name: &str, value: u32| format!("><info name=\"{name}\" value=\"{value}\"/>");
    let (speeds, _) = with([&info("LinuxCapacity", 1024), &info("LinuxCapacity", 446)]);
    assert_eq!(speeds, [("core0".into(), 1024, 1024), ("core1".into(), 446, 446)]);
    // 3900 * 1024 / 5200 = 768
    let mhz = |core: &str, max| {
        format!("{}<info name=\"CoreType\" value=\"{core}\"/>", info("FrequencyMaxMHz", max))
    };
    let (speeds, notes) = with([&mhz("IntelCore", 5200), &mhz("IntelAtom", 3900)]);
    assert_eq!(speeds, [("p".into(), 1024, 1024), ("e".into(), 768, 1024)]);
    assert!(notes.iter().any(|note| note.contains("work per MHz")), "{notes:?}");
    let (speeds, notes) = with(["forced_efficiency=\"1\">", "forced_efficiency=\"9\">"]);
    assert_eq!(speeds[0], speeds[1]);
    assert!(notes.iter().any(|note| note.contains("differ in efficiency")), "{notes:?}");
}

#[test]
fn what_is_no_machine_is_an_error_with_its_line() {
    assert_eq!(error(&of("")), "two.xml: no CPU that can run tasks");
    assert_eq!(error(&of(&pus(0..600))), "two.xml: 600 CPUs, expected at most 512");
    assert!(error("<topology>").starts_with("two.xml:1: "));
    assert!(error("<a/>").contains("element a: expected topology"));
    let old = error("<topology><object type=\"System\"/></topology>");
    assert_eq!(old, "two.xml:1: version 1 of hwloc's XML: expected 2 or 3, of a newer lstopo");
    let wrong = TWO.replacen("</object>", "</objekt>", 1);
    let line = wrong.lines().position(|line| line.contains("objekt")).expect("a line") + 1;
    let refused = error(&wrong);
    assert!(refused.starts_with(&format!("two.xml:{line}: ")), "{refused}");
}

#[test]
fn hostile_text_is_an_error_and_takes_no_time() {
    // Entities that double 64 times.
    let laughs: String =
        (0..64).map(|n| format!("<!ENTITY a{} \"&a{n};&a{n};\">", n + 1)).collect();
    let laughs = format!("<!DOCTYPE topology [{laughs}]>\n{}", of("&a64;"));
    assert!(error(&laughs).contains("<!ENTITY: expected none"));
    let deep = "<object type=\"Group\">".repeat(100_000);
    assert!(hwloc_xml("deep.xml", &of(&deep)).is_err());
    let deep = deep + &pus(0..4) + &"</object>".repeat(100_000);
    assert_eq!(read(&of(&deep)).topology.cpus(), 4);
    let wide: String = (0..200_000).map(|n| format!(" a{n}=\"\"")).collect();
    assert!(error(&of(&format!("<object{wide}/>"))).contains("more than 256 attributes"));
    let spaces: String = (0..100).map(|n| format!("<a xmlns:b{n}=\"c\">")).collect();
    assert!(error(&of(&spaces)).contains("xmlns: expected none"));
    let large = of(&" ".repeat(LARGEST_XML));
    assert!(error(&large).contains("expected at most 4194304"));
    let masks = format!("<object type=\"Core\" cpuset=\"{}\"/>", "0xffffffff,".repeat(100_000));
    assert_eq!(read(&of(&(masks + &pus(0..2)))).topology.cores(), 2);
}

proptest! {
    /// Some bytes of the file changed, some lines of it gone or twice.
    #[test]
    fn any_text_is_a_machine_that_can_be_written_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 32_u8..127), 0..4),
        lines in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3), 0..4),
    ) {
        let mut all: Vec<&str> = TWO.lines().collect();
        for (at, times) in lines {
            let at = at.index(all.len());
            let line = all[at];
            all.splice(at..=at, std::iter::repeat_n(line, times));
        }
        let mut text = all.join("\n").into_bytes();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let text = String::from_utf8_lossy(&text);
        match hwloc_xml("m.xml", &text) {
            Ok(machine) => {
                let again = rota_machine_file::parse("m.toml", &machine.to_toml());
                let again = again.expect("as written");
                prop_assert_eq!(again.topology, machine.topology);
                prop_assert_eq!(again.hardware, machine.hardware);
            }
            Err(error) => prop_assert!(!error.what.is_empty()),
        }
    }
}
