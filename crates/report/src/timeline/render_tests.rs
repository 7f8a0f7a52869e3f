// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the drawing: it is read back with a strict XML parser.

use proptest::prelude::*;
use rota_trace::{Event, EventKind, OffCpu};
use roxmltree::{Document, Node};

use super::collect_tests::*;
use super::layout::{CPU_BAR_PX, MOST_TASKS, TASK_BAR_PX, WAIT_BAR_PX};
use super::{Caption, Timeline, TimelineSink};

fn caption() -> Caption {
    Caption { policy: "rr".into(), workload: "two.json".into(), machine: "1 CPU".into() }
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts.filter_map(|n| n.text()).map(str::to_owned).collect()
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

/// Start, end, height and tooltip of every bar.
fn bars(svg: &str) -> Vec<(f64, f64, f64, String)> {
    let document = Document::parse(svg).unwrap();
    let rects = document.descendants().filter(|n| n.has_tag_name("rect"));
    let bar = |n: Node<'_, '_>| {
        let title = n.first_element_child()?.text()?.to_owned();
        let x = number(n, "x");
        Some((x, x + number(n, "width"), number(n, "height"), title))
    };
    rects.filter_map(bar).collect()
}

#[test]
fn bars_lie_where_their_times_are() {
    let timeline = gather(TimelineSink::new(1, 0, 50), &two_tasks(), 50);
    let svg = timeline.render(&caption());
    // Names are five characters at most, 8 px each: the axis goes from 16 + 40 + 8 = 64 to
    // 984, so 920 px are 50 ns and 1 ns is 18.4 px.
    let (cpu, on, wait) = (f64::from(CPU_BAR_PX), f64::from(TASK_BAR_PX), f64::from(WAIT_BAR_PX));
    let [at_10, at_12, at_20, at_35, at_50] = [248.0, 284.8, 432.0, 708.0, 984.0];
    let expected = [
        (at_10, at_20, cpu, "a-0 on CPU 0\n10 ns to 20 ns (10 ns)\n1 slice begins"),
        (at_20, at_35, cpu, "b-1 on CPU 0\n20 ns to 35 ns (15 ns)\n2 slices begin"),
        (at_35, at_50, cpu, "a-0 on CPU 0\n35 ns to 50 ns (15 ns)\n1 slice begins"),
        (at_10, at_20, on, "a-0 on CPU 0\n10 ns to 20 ns (10 ns)"),
        (at_20, at_35, wait, "a-0 waiting\n20 ns to 35 ns (15 ns)"),
        (at_35, at_50, on, "a-0 on CPU 0\n35 ns to 50 ns (15 ns)"),
        (at_12, at_20, wait, "b-1 waiting\n12 ns to 20 ns (8 ns)"),
        (at_20, at_35, on, "b-1 on CPU 0\n20 ns to 35 ns (15 ns)"),
    ];
    assert_eq!(
        bars(&svg),
        expected.map(|(from, to, height, title)| (from, to, height, title.into()))
    );
    // Slices begin at 10, 20, 30 and 35: 3 px above the bar, 6 px long.
    assert!(svg.contains(r#"d="M248 65v6M432 65v6M616 65v6M708 65v6""#), "{svg}");
}

#[test]
fn a_picture_says_what_it_shows() {
    let timeline = gather(TimelineSink::new(1, 0, 50), &two_tasks(), 50);
    let texts = texts(&timeline.render(&caption()));
    let expected = [
        "rr · two.json",
        "1 CPU · 0 to 50 ns",
        "CPU 0",
        "a-0",
        "b-1",
        "20 ns",
        "waiting for a CPU",
    ];
    for expected in expected {
        assert!(texts.iter().any(|text| text == expected), "{expected} is not in {texts:?}");
    }
}

#[test]
fn names_cannot_break_out_of_the_picture() {
    let evil = "</title><script>\"&'\u{1}";
    let events = [vec![task(1, evil), wakeup(0, 1)], enter(0, 0, 1).into()].concat();
    let timeline = gather(TimelineSink::new(1, 0, 50), &events, 50);
    let svg = timeline.render(&Caption { policy: evil.into(), ..caption() });
    let shown = evil.replace('\u{1}', "\u{fffd}");
    assert!(bars(&svg).iter().all(|(.., title)| title.starts_with(&shown)));
    assert!(texts(&svg).iter().any(|text| text.starts_with(&shown)));
    assert!(!svg.contains("<script"));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let timeline = gather(TimelineSink::new(1, 0, 50), &two_tasks(), 50);
    let svg = timeline.render(&caption()).replace("http://www.w3.org/2000/svg", "");
    for forbidden in ["http", "href", "url(", "@import", "<script"] {
        assert!(!svg.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn an_empty_window_is_a_picture_that_says_so() {
    for (from, to) in [(0, 0), (0, 100), (500, 900)] {
        let svg = gather(TimelineSink::new(2, from, to), &[], 100).render(&caption());
        assert!(bars(&svg).is_empty());
        assert!(texts(&svg).iter().any(|text| text.ends_with("nothing ran in this time")));
    }
}

#[test]
fn rows_of_many_tasks_are_limited_with_a_note() {
    let pids = 1..=60u32;
    let events: Vec<Event> = pids.flat_map(|pid| [task(pid, "hog"), wakeup(0, pid)]).collect();
    let svg = gather(TimelineSink::new(1, 0, 50), &events, 50).render(&caption());
    assert_eq!(bars(&svg).len(), MOST_TASKS);
    assert!(texts(&svg).iter().any(|text| text.ends_with("20 tasks have no row")));
}

#[test]
fn a_short_stay_on_a_cpu_can_still_be_seen() {
    // One of 10000 ns is 0.09 px; the next, 0.46 px later, leaves it that much.
    let visit =
        |at_ns, pid| [enter(at_ns, 0, pid).into(), vec![leave(at_ns + 1, 0, pid, OffCpu::Sleep)]];
    let events = [visit(100, 1), visit(105, 1), visit(5000, 1)].concat().concat();
    let svg = gather(TimelineSink::new(1, 0, 10_000), &events, 10_000).render(&caption());
    let widths: Vec<f64> = bars(&svg).iter().map(|bar| ((bar.1 - bar.0) * 100.0).round()).collect();
    // As the name of the task is "pid 1", the axis is 920 px long.
    assert_eq!(widths, [46.0, 90.0, 90.0, 46.0, 90.0, 90.0]);
}

#[test]
fn slice_starts_too_near_to_each_other_are_left_out() {
    let busy = (0..100).flat_map(|at| enter(10 * at, 0, 1)).collect::<Vec<_>>();
    let calm = enter(0, 1, 2);
    let draw =
        |events: &[Event], to| gather(TimelineSink::new(2, 0, to), events, to).render(&caption());
    let shown = |svg: &str| texts(svg).iter().any(|text| text == "a slice begins");
    let both = [&busy[..], &calm].concat();
    assert!(shown(&draw(&both, 1_000)) && shown(&draw(&calm, 10_000)));
    assert!(!shown(&draw(&both, 10_000)));
}

#[test]
fn the_exit_of_the_policy_is_marked() {
    let kind =
        EventKind::PolicyExit { kind: 1026, code: 0, reason: "runnable <task> stall".into() };
    let events = [two_tasks(), vec![at(40, 0, kind), leave(50, 0, 1, OffCpu::Exit)]].concat();
    let svg = gather(TimelineSink::new(1, 0, 50), &events, 50).render(&caption());
    assert!(texts(&svg).iter().any(|text| text == "the policy left: runnable <task> stall"));
}

proptest! {
    #[test]
    fn any_stream_makes_a_valid_picture(
        events in streams(), from in 0..600u64, length in 0..600u64, end: u64,
        policy in "\\PC{0,9}|[<>&\0-\x1f]{0,9}",
    ) {
        let timeline = gather(TimelineSink::new(2, from, from + length), &events, end);
        let svg = timeline.render(&Caption { policy, ..Caption::default() });
        let mut rows = std::collections::BTreeMap::new();
        let document = Document::parse(&svg).unwrap();
        for node in document.descendants().filter(|n| n.has_tag_name("rect")) {
            if node.first_element_child().is_none() {
                continue;
            }
            let (x, width) = (number(node, "x"), number(node, "width"));
            prop_assert!(width > 0.0 && x + width < 984.001);
            // Running and waiting bars of a task share their middle.
            let middle = number(node, "y") + number(node, "height") / 2.0;
            let end = rows.entry(middle as u64).or_insert(0.0);
            prop_assert!(x > *end - 0.001, "{} begins before {}", x, end);
            *end = x + width;
        }
    }

    #[test]
    fn any_timeline_can_be_drawn(from_ns: u64, to_ns: u64) {
        let timeline = Timeline { from_ns: from_ns.min(to_ns), to_ns: from_ns.max(to_ns), ..Timeline::default() };
        prop_assert!(Document::parse(&timeline.render(&caption())).is_ok());
    }
}
