// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

fn cores(kind: usize, first: u32, count: u32, smt: u32) -> Vec<Core> {
    let core = |at| Core { kind, cpus: (0..smt).map(|of| first + at * smt + of).collect() };
    (0..count).map(core).collect()
}

/// As the preset `hybrid`: 6 cores with 2 threads, 8 in clusters of 4.
fn hybrid() -> Machine {
    let alone = cores(0, 0, 6, 2).into_iter().map(|core| vec![core]);
    let clusters = alone.chain([cores(1, 12, 4, 1), cores(1, 16, 4, 1)]).collect();
    let cache = Cache { name: "cache 0, 24 MiB".into(), clusters };
    let kind = |name: &str, speed| Kind { name: name.into(), speed, about: "CPUs".into() };
    Machine {
        title: "hybrid (preset)".into(),
        about: "20 CPUs".into(),
        nodes: vec![Node { name: String::new(), caches: vec![cache] }],
        kinds: vec![kind("p", 1024), kind("e", 624)],
    }
}

/// Rectangles of a class as left, upper, right and lower edge.
fn boxes(picture: &str, class: &str) -> Vec<[u32; 4]> {
    let document = roxmltree::Document::parse(picture).expect("well-formed");
    let of = |node: roxmltree::Node<'_, '_>| {
        let value =
            |name| node.attribute(name).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
        let (x, y) = (value("x"), value("y"));
        [x, y, x + value("width"), y + value("height")]
    };
    let all = document.descendants().filter(|node| node.has_tag_name("rect"));
    all.filter(|node| node.attribute("class") == Some(class)).map(of).collect()
}

fn texts(picture: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(picture).expect("well-formed");
    let all = document.descendants().filter(|node| node.tag_name().name() == "text");
    all.filter_map(|node| node.text().map(str::to_owned)).collect()
}

#[test]
fn every_cpu_is_there_once_in_the_colour_of_its_kind() {
    let picture = render(&hybrid());
    let texts = texts(&picture);
    for cpu in 0..20 {
        assert_eq!(texts.iter().filter(|text| **text == cpu.to_string()).count(), 1, "{cpu}");
    }
    // One box for each core, and the bar of the legend.
    assert_eq!((boxes(&picture, "f0").len(), boxes(&picture, "f1").len()), (6 + 1, 8 + 1));
    assert_eq!(boxes(&picture, "g").len(), 2);
}

#[test]
fn a_bar_is_as_long_as_the_kind_is_fast() {
    let picture = render(&hybrid());
    let length = |class| boxes(&picture, class).last().map(|[left, _, right, _]| right - left);
    // 624 * 96 / 1024 = 58.5
    assert_eq!((length("f0"), length("f1")), (Some(96), Some(58)));
}

#[test]
fn a_drawing_for_a_page_has_no_style_of_its_own() {
    assert!(render(&hybrid()).contains("<style>"));
    assert!(!drawing(&hybrid()).contains("<style"));
    assert!(style().lines().all(|line| line.starts_with(".rota-machine ")
        || line == "}"
        || line.starts_with("@media")));
}

/// How many cores each line has.
fn lines(machine: &Machine) -> Vec<u32> {
    let mut lines = std::collections::BTreeMap::<u32, u32>::new();
    for [_, y, _, _] in boxes(&render(machine), "f0") {
        *lines.entry(y).or_default() += 1;
    }
    lines.into_values().collect()
}

#[test]
fn lines_of_equal_cores_are_even() {
    // Cores are 36 pixels wide and 24 high with a thread, 66 with two; 6 between them.
    for (smt, expected) in [
        (1, [&[3][..], &[4], &[3, 2], &[3, 3], &[4, 4], &[6, 6]]),
        (2, [&[2, 1], &[2, 2], &[3, 2], &[3, 3], &[4, 4], &[4, 4, 4]]),
    ] {
        for (count, expected) in [3, 4, 5, 6, 8, 12].into_iter().zip(expected) {
            let clusters = vec![cores(0, 0, count, smt)];
            let cache = Cache { name: "cache 0".into(), clusters };
            let nodes = vec![Node { name: String::new(), caches: vec![cache] }];
            assert_eq!(lines(&Machine { nodes, ..Machine::default() }), expected, "{count} {smt}");
        }
    }
}

#[test]
fn a_hybrid_has_its_large_cores_in_one_line() {
    let picture = render(&hybrid());
    let tops = |class| boxes(&picture, class).iter().map(|of| of[1]).collect::<Vec<_>>();
    let (large, clusters) = (tops("f0"), tops("g"));
    assert!(large[..6].iter().all(|y| *y == large[0]), "{large:?}");
    assert_eq!(clusters[0], clusters[1]);
}

proptest! {
    #[test]
    fn boxes_lie_in_the_picture_and_cores_do_not_overlap(
        nodes in 1_usize..20, caches in 1_usize..4, count in 1_u32..9, smt in 1_u32..5,
        name in "\\PC{0,12}",
    ) {
        let mut first = 0;
        let mut cache = |_| {
            let clusters = cores(0, first, count, smt).into_iter().map(|core| vec![core]).collect();
            first += count * smt;
            Cache { name: name.clone(), clusters }
        };
        let mut node = |_| Node { name: name.clone(), caches: (0..caches).map(&mut cache).collect() };
        let nodes = (0..nodes).map(&mut node).collect();
        let machine = Machine { nodes, ..Machine::default() };
        let picture = render(&machine);
        let whole = boxes(&picture, "a")[0];
        let cores = boxes(&picture, "f0");
        prop_assert!(cores.iter().all(|of| of[2] <= whole[2] && of[3] <= whole[3]));
        for (at, a) in cores.iter().enumerate() {
            let apart = |b: &[u32; 4]| a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            prop_assert!(cores[..at].iter().all(apart));
        }
    }
}
