// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and the processes that they are of.

use super::*;

#[test]
fn a_thread_of_a_process_that_was_forked_is_a_thread_of_it() {
    let fork = |time_us, pid, parent| (time_us, 0, EventKind::Fork { pid, parent });
    let at = |time_us: u64, (_, cpu, kind): (u64, u32, EventKind)| (time_us, cpu, kind);
    let found = replay(
        &[
            named(1, "sh"),
            on(0, 0, 1),
            at(10, named(2, "make")),
            fork(10, 2, 1),
            wakeup(10, 2, 1),
            off(20, 0, 1, OffCpu::Sleep),
            on(20, 0, 2),
            at(30, named(3, "worker")),
            at(30, process(3, 2)),
            fork(30, 3, 2),
            wakeup(30, 3, 2),
            off(40, 0, 2, OffCpu::Exit),
            on(40, 0, 3),
            off(60, 0, 3, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(task(&found, "make-2")[0], "\"instance\" : 0, \"loop\" : 1");
    assert_eq!(
        task(&found, "worker-3")[0],
        "\"instance\" : 0, \"thread_of\" : \"make-2\", \"loop\" : 1"
    );
    assert_eq!(found.doubts, []);
}

#[test]
fn a_thread_that_nothing_forked_cannot_join_a_process_that_was_forked() {
    let fork = (10, 0, EventKind::Fork { pid: 2, parent: 1 });
    let found = replay(
        &[
            named(1, "sh"),
            on(0, 0, 1),
            (10, 0, named(2, "make").2),
            fork,
            wakeup(10, 2, 1),
            off(20, 0, 1, OffCpu::Sleep),
            on(20, 0, 2),
            off(30, 0, 2, OffCpu::Sleep),
            (30, 0, named(3, "worker").2),
            (30, 0, process(3, 2).2),
            on(30, 0, 3),
            off(60, 0, 3, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(task(&found, "worker-3")[0], "\"loop\" : 1");
    assert_eq!(found.doubts, [Doubt::Alone(1)]);
}
