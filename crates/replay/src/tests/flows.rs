// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks give to each other through pipes and connections.

use super::*;
use rota_trace::{StreamKind, Transfer};

/// A call, or several, at a pipe: when it is told, and how long before the first and the last ended.
fn moved(
    time_us: u64,
    cpu: u32,
    pid: u32,
    (puts, bytes, calls): (bool, u64, u32),
    (first_us, last_us): (u64, u64),
) -> (u64, u32, EventKind) {
    let transfer = Transfer {
        pid,
        stream: 7,
        kind: StreamKind::Pipe,
        puts,
        bytes,
        calls,
        first_ago_ns: (time_us - first_us) * 1000,
        last_ago_ns: (time_us - last_us) * 1000,
        buffer: 65536,
    };
    (time_us, cpu, EventKind::Transfer(transfer))
}

/// A writer on CPU 0 puts 100 bytes at 400 us; a reader on CPU 1 waits for them from 100 us on.
fn one_message() -> Vec<(u64, u32, EventKind)> {
    vec![
        named(1, "reader"),
        named(2, "writer"),
        on(0, 1, 1),
        on(0, 0, 2),
        block(100, 1, "read", false),
        off(100, 1, 1, OffCpu::Sleep),
        wakeup(400, 1, 2),
        on(410, 1, 1),
        moved(500, 1, 1, (false, 100, 1), (415, 415)),
        off(500, 1, 1, OffCpu::Exit),
        moved(700, 0, 2, (true, 100, 1), (401, 401)),
        off(700, 0, 2, OffCpu::Exit),
    ]
}

#[test]
fn a_wait_for_bytes_is_left_out_as_the_bytes_are_there() {
    let found = replay(&one_message(), &Facts::default());
    assert_eq!(
        task(&found, "reader-1"),
        [
            "\"loop\" : 1",
            "\"run1\" : 105, \"flow2\" : { \"take\" : { \"pipe7\" : 100 } }",
            "\"run3\" : 85"
        ]
    );
    assert_eq!(
        task(&found, "writer-2"),
        [
            "\"loop\" : 1",
            "\"run1\" : 401, \"flow2\" : { \"put\" : { \"pipe7\" : 100 } }",
            "\"run3\" : 299"
        ]
    );
    // Messages of 100 bytes: 40 in each of 16 pages, and a page is free before a writer goes on.
    let stream = "\"pipe7\" : { \"capacity\" : 64000, \"refill\" : 4000 }";
    assert!(found.text.contains(stream), "{}", found.text);
    assert_eq!((found.waits.tasks, found.waits.streams), (1, 1));
}

#[test]
fn calls_that_moved_nothing_are_none() {
    let mut events = one_message();
    // A recorder that was interrupted may tell of a call before its bytes; and nobody moves 2 bytes in
    // 3 calls.
    events.insert(10, moved(500, 1, 1, (false, 0, 1), (450, 450)));
    events.insert(12, moved(700, 0, 2, (true, 2, 3), (500, 600)));
    events.insert(9, moved(500, 1, 1, (false, 2, 0), (416, 416)));
    let found = replay(&events, &Facts::default());
    rota_workload::parse("w.json", &found.text).expect("a valid file");
    let moves = |name: &str| task(&found, name).join(" ").matches("pipe7").count();
    assert_eq!((moves("reader-1"), moves("writer-2")), (2, 2), "{}", found.text);
    assert!(found.text.contains("\"take\" : { \"pipe7\" : 2 }"), "{}", found.text);
    assert!(found.text.contains("\"put\" : { \"pipe7\" : [2, 2] }"), "{}", found.text);
}

#[test]
fn what_the_recorder_took_is_no_work() {
    let works = |found: &Replay, name: &str| -> u64 {
        let runs = task(found, name).join(" ");
        let numbers = runs.split("\"run").skip(1).filter_map(|run| {
            run.split(" : ").nth(1)?.split([',', ' ']).next()?.parse::<u64>().ok()
        });
        numbers.sum()
    };
    let both = |taken: Taken| {
        let found = replay(&one_message(), &Facts { taken, ..Facts::default() });
        let text = found.with_recorder.clone().expect("the recorder took something");
        let with = Replay { text, ..found.clone() };
        // 190 us of the reader and 700 us of the writer were recorded.
        assert_eq!((works(&with, "reader-1"), works(&with, "writer-2")), (190, 700));
        (works(&found, "reader-1"), works(&found, "writer-2"))
    };

    // Each less 2 us for its one call.
    assert_eq!(both(Taken { call_ns: 2_000, ..Taken::default() }), (188, 698));
    // 6 us of all calls, of which there are two.
    assert_eq!(both(Taken { calls_ns: Some(6_000), ..Taken::default() }), (187, 697));
    // The reader comes twice and leaves twice; the writer does so once, and wakes the reader.
    let taken = Taken { leave_ns: 1_000, come_ns: 2_000, wakeup_ns: 5_000, ..Taken::default() };
    assert_eq!(both(taken), (184, 692));
}

#[test]
fn bytes_without_another_end_leave_the_waits_as_they_are() {
    let mut events = one_message();
    events.retain(|(.., kind)| !matches!(kind, EventKind::Transfer(t) if t.puts));
    let found = replay(&events, &Facts::default());
    assert!(!found.text.contains("flow") && !found.text.contains("streams"), "{}", found.text);
    assert_eq!(found.waits.streams, 0);
}

#[test]
fn a_wait_for_something_else_stays_next_to_the_bytes() {
    // The reader waits for the writer's lock, and reads its bytes later.
    let mut events = one_message();
    events[4] = block(100, 1, "futex", false);
    let found = replay(&events, &Facts::default());
    assert!(found.text.contains("\"sem_wait2\" : \"reader-1 futex\""), "{}", found.text);
    assert!(found.text.contains("\"take\""), "{}", found.text);
}

#[test]
fn bytes_that_came_from_nowhere_are_there_at_first() {
    let mut events = one_message();
    // The reader got 130 bytes: 30 were in the pipe before.
    events[8] = moved(500, 1, 1, (false, 130, 1), (415, 415));
    let found = replay(&events, &Facts::default());
    assert!(found.text.contains("\"holds\" : 30"), "{}", found.text);
}

#[test]
fn a_task_that_looks_at_several_files_takes_what_has_come() {
    // The reader is woken by the first writer, and by the second one later.
    let at = |stream: u64, (time_us, cpu, mut kind): (u64, u32, EventKind)| {
        if let EventKind::Transfer(transfer) = &mut kind {
            transfer.stream = stream;
        }
        (time_us, cpu, kind)
    };
    let events = |call: &'static str| {
        [
            named(1, "reader"),
            named(2, "one"),
            named(3, "other"),
            on(0, 1, 1),
            block(100, 1, call, false),
            off(100, 1, 1, OffCpu::Sleep),
            on(100, 0, 2),
            wakeup(400, 1, 2),
            on(410, 1, 1),
            at(8, moved(450, 0, 2, (true, 100, 1), (401, 401))),
            off(450, 0, 2, OffCpu::Exit),
            on(450, 0, 3),
            at(8, moved(500, 1, 1, (false, 100, 1), (415, 415))),
            block(500, 1, call, false),
            off(500, 1, 1, OffCpu::Sleep),
            wakeup(600, 1, 3),
            on(610, 1, 1),
            at(9, moved(650, 0, 3, (true, 50, 1), (601, 601))),
            off(650, 0, 3, OffCpu::Exit),
            at(9, moved(700, 1, 1, (false, 50, 1), (615, 615))),
            off(700, 1, 1, OffCpu::Exit),
        ]
    };

    let several = replay(&events("epoll_wait"), &Facts::default());
    assert_eq!(several.waits.streams, 2);
    assert!(several.text.contains("\"take\" : { \"pipe8\" : 50 }"), "{}", several.text);
    assert!(!several.text.contains("pipe9"), "{}", several.text);
    // One that reads from each knows which.
    let each = replay(&events("read"), &Facts::default());
    assert!(each.text.contains("\"take\" : { \"pipe9\" : 50 }"), "{}", each.text);
}

#[test]
fn calls_in_a_row_are_spread_between_the_first_and_the_last() {
    // Eleven calls from 100 to 200 us, of 10 bytes each; all are taken at 500 us.
    let events = [
        named(1, "reader"),
        named(2, "writer"),
        on(0, 0, 2),
        moved(300, 0, 2, (true, 110, 11), (100, 200)),
        off(300, 0, 2, OffCpu::Exit),
        on(300, 0, 1),
        moved(600, 0, 1, (false, 110, 1), (500, 500)),
        off(600, 0, 1, OffCpu::Exit),
    ];
    let found = replay(&events, &Facts::default());
    // The first stands alone; ten more come after 10 us of work each.
    assert_eq!(
        task(&found, "writer-2"),
        [
            "\"loop\" : 1",
            "\"run1\" : 100, \"flow2\" : { \"put\" : { \"pipe7\" : 10 } }, \
             \"flow3\" : { \"run\" : 100, \"put\" : { \"pipe7\" : [100, 10] } }",
            "\"run4\" : 100"
        ]
    );
}

/// A writer puts 1000 messages of 100 bytes into a pipe of 16 pages, all of which a reader takes later.
fn a_thousand_messages() -> Vec<(u64, u32, EventKind)> {
    vec![
        named(1, "reader"),
        named(2, "writer"),
        on(0, 0, 2),
        moved(300, 0, 2, (true, 100_000, 1000), (100, 200)),
        off(300, 0, 2, OffCpu::Exit),
        on(300, 0, 1),
        moved(600, 0, 1, (false, 100_000, 1), (500, 500)),
        off(600, 0, 1, OffCpu::Exit),
    ]
}

#[test]
fn what_a_task_does_nothing_but_empty_is_as_full_as_in_the_kernel_at_most() {
    let found = replay(&a_thousand_messages(), &Facts::default());
    // 40 messages in each page; that more seemed to be there was a matter of when it was told.
    assert!(found.text.contains("\"capacity\" : 64000"), "{}", found.text);
}

#[test]
fn what_a_task_empties_that_does_more_is_no_fuller_than_a_writer_needs_to_go_on() {
    let mut events = a_thousand_messages();
    // It takes from another stream, too.
    for (puts, time_us) in [(true, 250), (false, 550)] {
        let (time, cpu, mut kind) =
            moved(time_us + 10, 0, 1 + u32::from(puts), (puts, 10, 1), (time_us, time_us));
        if let EventKind::Transfer(transfer) = &mut kind {
            transfer.stream = 8;
        }
        events.push((time, cpu, kind));
    }
    events.sort_by_key(|(time_us, ..)| *time_us);
    let found = replay(&events, &Facts::default());
    // All of them at once, and the page that has to be free.
    assert!(found.text.contains("\"capacity\" : 104000"), "{}", found.text);
}

proptest! {
    /// Whatever tasks move to each other, and however late it is told, the workload runs to its end,
    /// in whatever order its tasks run. Each of three tasks takes from streams of its own.
    #[test]
    fn workloads_with_streams_do_not_come_to_a_standstill(
        stretches in prop::collection::vec(
            (0u32..3, any::<bool>(), 0u64..6, prop_oneof![0u64..9, 1u64..9000], 0u32..9, (0u64..100, 0u64..100)),
            1..60,
        ),
        (order, looks) in (any::<u64>(), any::<bool>()),
    ) {
        let mut events = vec![named(1, "a"), named(2, "b"), named(3, "c")];
        events.extend((0..3).map(|at| on(0, at, at + 1)));
        let mut now_us = 0;
        for (task, puts, stream, bytes, calls, (begin_us, length_us)) in stretches {
            // Streams 0 and 3 are taken from by the first task, and so on.
            let stream = if puts { stream } else { stream / 3 * 3 + u64::from(task) };
            let span = (now_us + begin_us, now_us + begin_us + length_us);
            now_us += if order % 2 == 0 { 200 } else { 20 };
            let told_us = now_us.max(span.1);
            let amount = (puts, bytes, calls);
            let (time_us, cpu, mut kind) = moved(told_us, task, task + 1, amount, span);
            if let EventKind::Transfer(transfer) = &mut kind {
                transfer.stream = stream;
                transfer.buffer = 8192;
            }
            events.push((time_us, cpu, kind));
        }
        events.sort_by_key(|(time_us, ..)| *time_us);
        if looks {
            // The first task looks at all of its streams, and takes from one of them.
            let end_us = now_us + 210;
            let (time_us, cpu, mut last) = moved(end_us + 40, 0, 1, (false, 7, 1), (end_us + 30, end_us + 30));
            if let EventKind::Transfer(transfer) = &mut last {
                (transfer.stream, transfer.buffer) = (3, 8192);
            }
            events.push(block(end_us, 1, "poll", false));
            events.push(off(end_us, 0, 1, OffCpu::Sleep));
            events.push(wakeup(end_us + 10, 1, 2));
            events.push(on(end_us + 20, 0, 1));
            events.push((time_us, cpu, last));
        }
        events.extend((0..3).map(|at| off(now_us + 300, at, at + 1, OffCpu::Exit)));
        let found = replay(&events, &Facts::default());
        let workload = rota_workload::parse("w.json", &found.text).expect("a valid file");
        let mut runner = rota_workload::SeededRunner::new(std::sync::Arc::new(workload), 1);
        let mut ready: Vec<u32> = runner.initial().map(|(task, _)| task.0).collect();
        let mut steps = 0u32;
        while !ready.is_empty() {
            steps += 1;
            prop_assert!(steps < 1_000_000);
            let at = order.rotate_left(steps % 64) as usize % ready.len();
            match runner.next(rota_workload::TaskIx(ready[at]), u64::from(steps) * 1_000_000) {
                rota_workload::Step::Block | rota_workload::Step::Exit => _ = ready.remove(at),
                rota_workload::Step::Wake { tasks, .. } => ready.extend(tasks.iter().map(|t| t.0)),
                rota_workload::Step::Stuck(why) => prop_assert!(false, "{why}"),
                _ => {}
            }
        }
        prop_assert!(runner.blocked().is_empty(), "{:?}\n{}", runner.blocked(), found.text);
    }
}
