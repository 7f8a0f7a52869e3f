// SPDX-License-Identifier: MIT OR Apache-2.0
//! What boosted threads set themselves leaves them no better than they were before.

use std::time::{Duration, Instant};

use rota_boost::apply::Kernel;
use rota_boost::daemon;
use rota_boost::log::Change;
use rota_boost::process;
use rota_boost::syscalls::{attr, set_attr, Attr, SCHED_BATCH, SCHED_IDLE, SCHED_OTHER};

use super::support::{all_numbers, hogs, spawn, Running};
use super::{end, threads, Stage, SECONDS};

/// The thread of the process that has set something of its own, with what it has after that.
fn cheater(pid: u32) -> Option<(u32, Attr)> {
    let end = Instant::now() + SECONDS;
    while Instant::now() < end {
        let cheated = |tid: &u32| process::name(*tid).is_some_and(|name| name == "cheated");
        if let Some(tid) = threads(pid).into_iter().find(cheated) {
            return Some((tid, attr(tid).ok()?));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Its own change, a nice value that is one worse or another policy, is found while boosted; after
/// the daemon's end, and after that of one that was killed, its nice value is the one of before.
fn gains_nothing(part: &str, policy: u32) {
    let mut stage = Stage::new();
    let (saved, options) = (stage.path("saved"), stage.options());
    let Some(daemon) = stage.begin(&options) else { return };
    let ordinary = stage.ordinary();
    let server = stage.enter(part, SECONDS);
    stage.enter("customer", Duration::from_secs(3));
    let (tid, cheat) = cheater(server).expect("a boosted thread that sets its own");
    let left = std::fs::read(&saved).expect("a file");
    let changes: Vec<Change> = daemon.stop();
    let now = attr(tid).expect("alive");
    assert_eq!((now.policy, now.nice, now.flags), (policy, 0, 0), "{cheat:?} {changes:?}");
    for tid in threads(server) {
        assert!(attr(tid).is_ok_and(|now| now.nice >= 0), "{changes:?}");
    }

    // As kill -9 leaves it.
    set_attr(tid, &Attr { policy: SCHED_OTHER, ..cheat }).expect("allowed");
    set_attr(tid, &cheat).expect("allowed");
    std::fs::write(&saved, left).expect("written");
    let (_, repaired) = daemon::repair(&Kernel, &saved).expect("repaired");
    let now = attr(tid).expect("alive");
    assert_eq!((repaired >= 1, now.policy, now.nice, now.flags), (true, policy, 0, 0), "{now:?}");
    assert_eq!(now.slice_ns, if policy == SCHED_IDLE { 0 } else { ordinary.slice_ns });
}

#[test]
fn a_nice_value_one_worse_than_the_boost_does_not_last() {
    gains_nothing("renicing", SCHED_OTHER);
}

#[test]
fn another_policy_does_not_keep_the_nice_value_of_the_boost() {
    gains_nothing("batch", SCHED_BATCH);
    gains_nothing("idle", SCHED_IDLE);
}

/// The flag keeps children from inheriting the boost, also after the daemon was killed. The kernel
/// lets only privileged threads clear it (`user_check_sched_setscheduler()` of
/// `kernel/sched/syscalls.c`), and a `sched_setattr(2)` that does not have it clears it.
#[test]
fn a_slice_set_while_boosted_stays_but_takes_the_flag_for_children() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    let ordinary = stage.ordinary();
    let server = spawn("setting", &stage.path("s"), SECONDS);
    stage.enter("customer", Duration::from_secs(3));
    let (tid, _) = cheater(server.id()).expect("a boosted thread that sets its own");
    daemon.stop();
    let now = attr(tid).expect("alive");
    assert_eq!((now.policy, now.nice, now.flags), (SCHED_OTHER, 0, 0));
    // Kernels before 6.12 have no slices of threads.
    assert!(ordinary.slice_ns == 0 || now.slice_ns == 5_000_000, "{now:?}");
    let said = all_numbers(server);
    assert_eq!(said[0], [i64::from(libc::EPERM), 0], "without and with the flag");
}

/// All kinds of cheaters, and a daemon that cannot take anything back itself.
#[test]
fn after_kill_nine_and_a_repair_nobody_is_better_off() {
    let mut stage = Stage::new();
    // Says so if there can be none here.
    let Some(possible) = Running::start(&stage.options()) else { return };
    possible.stop();
    let saved = stage.path("killed");
    let mut daemon = spawn("daemon", &saved, 3 * SECONDS);
    while !saved.with_extension("ready").exists() {
        assert!(daemon.try_wait().expect("a child").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    stage.cast.extend(hogs(SECONDS));
    let ordinary = stage.ordinary();
    let parts = [
        ("renicing", "customer"),
        ("batch", "customer"),
        ("idle", "customer"),
        ("toiler:1001", "taskmaster:1002"),
        ("server", "turns:1003"),
        ("forking", "customer"),
    ];
    let mut cast = Vec::new();
    for (n, (server, customer)) in parts.into_iter().enumerate() {
        let path = stage.path(&format!("s{n}"));
        cast.extend([server, customer].map(|part| spawn(part, &path, SECONDS)));
    }
    std::thread::sleep(SECONDS / 2);
    daemon.kill().expect("root may");
    daemon.wait().expect("ended");
    let all: Vec<u32> = cast.iter().flat_map(|child| threads(child.id())).collect();
    let boosted = |tid: &&u32| attr(**tid).is_ok_and(|now| now.nice < 0);
    let left = all.iter().filter(boosted).count();
    let (_, repaired) = daemon::repair(&Kernel, &saved).expect("repaired");
    let now: Vec<Attr> = all.iter().filter_map(|tid| attr(*tid).ok()).collect();
    end(cast);
    assert!(left > 0 && repaired >= left, "{left} boosted threads left, {repaired} repaired");
    for thread in now {
        assert!(thread.nice >= 0 && thread.flags == 0, "{thread:?}");
        assert!(thread.policy == SCHED_IDLE || thread.slice_ns == ordinary.slice_ns, "{thread:?}");
    }
}
