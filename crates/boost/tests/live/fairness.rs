// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is boosted, or tries to be, gets no more CPU time than others do.

use rota_boost::account::Extra;
use rota_boost::customers::Clients;
use rota_boost::process::own_cpu_ns;
use std::process::Child;
use std::time::Duration;

use super::support::{hogs, numbers, options, spawn, Running};
use super::{end, Stage, SECONDS, WARM};

/// Published share of error.
pub(crate) const NEAR: f64 = 0.03;
/// CPU share of the first of these parts, and the mean one of hogs beside it.
pub(crate) fn shares(stage: &Stage, parts: &[&str], name: &str) -> (f64, f64) {
    let path = stage.path(name);
    let cast = parts.iter().map(|part| spawn(part, &path, WARM + SECONDS)).collect();
    let (shares, honest) = shares_of(cast, 1);
    (shares[0], honest)
}

/// CPU shares of the first of these who play until the end of a test, and the mean one of hogs
/// beside them.
pub(crate) fn shares_of(mut cast: Vec<Child>, first: usize) -> (Vec<f64>, f64) {
    let time = WARM + SECONDS;
    let hogs = hogs(time);
    let share = |child| numbers(child)[0] as f64 / time.as_nanos() as f64;
    let shares = cast.drain(..first).map(share).collect();
    end(cast);
    let n = hogs.len() as f64;
    (shares, hogs.into_iter().map(share).sum::<f64>() / n)
}

/// Would the next test notice? With a customer that counts and a wide budget, a burner gets far
/// more than its share.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn a_burner_with_a_customer_would_get_more_than_its_share() {
    let stage = Stage::new();
    let mut wide = stage.options();
    wide.settings.request_cpu_ns = 1 << 40;
    wide.extra = Extra { people_cpus: 8.0, services_cpus: 8.0 };
    let Some(daemon) = Running::start(&wide) else { return };
    let (share, honest) = shares(&stage, &["burner", "stranger"], "s");
    daemon.stop();
    assert!(share > honest + 2.0 * NEAR, "{share:.3}, others {honest:.3}");
}

/// Under the widest policy of all: none of these is a customer.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn nobody_boosts_themselves() {
    let stage = Stage::new();
    let every = "remote,other-user,other-session,other-cgroup,on-behalf";
    for (i, cheater) in ["selfish", "selfish-tcp", "parent"].into_iter().enumerate() {
        let Some(daemon) = Running::start(&options(every, stage.path("saved"))) else { return };
        let (share, honest) = shares(&stage, &[cheater], &format!("s{i}"));
        daemon.stop();
        assert!((share - honest).abs() < NEAR, "{cheater}: {share:.3}, others {honest:.3}");
    }
    // One of the same user and session who is no relative.
    let Some(daemon) = Running::start(&options(every, stage.path("saved"))) else { return };
    let (share, honest) = shares(&stage, &["burner", "feeder"], "friend");
    daemon.stop();
    assert!((share - honest).abs() < NEAR, "friend: {share:.3}, others {honest:.3}");
}

/// With the customers of the default: somebody else sends to them, and they burn all the same.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn who_burns_and_chats_gains_nothing_to_speak_of() {
    let stage = Stage::new();
    for (i, chatter) in ["burner", "chatty"].into_iter().enumerate() {
        let Some(daemon) = Running::start(&stage.options()) else {
            return;
        };
        let (share, honest) = shares(&stage, &[chatter, "stranger"], &format!("s{i}"));
        let changes = daemon.stop();
        assert!((share - honest).abs() < NEAR, "{chatter}: {share:.3}, others {honest:.3}");
        assert!(changes.iter().any(|c| c.what.contains("of CPU")), "{chatter}: {changes:?}");
    }
}

/// It asks a server of somebody else, and burns the CPU whether it has its answer or not.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn who_asks_and_burns_gains_nothing_but_with_a_nice_value() {
    let stage = Stage::new();
    let run = |clients, name| {
        let mut options = stage.options();
        options.clients = clients;
        let daemon = Running::start(&options)?;
        let (share, honest) = shares(&stage, &["asker", "server"], name);
        Some((share, honest, daemon.stop()))
    };
    let Some((share, honest, changes)) = run(Clients::Fair, "fair") else { return };
    assert!((share - honest).abs() < NEAR, "{share:.3}, others {honest:.3}");
    assert!(changes.iter().any(|c| c.what.contains("answer by UNIX")), "{changes:?}");
    // Would this notice?
    let (share, honest, _) = run(Clients::Full, "full").expect("possible a moment ago");
    assert!(share > honest + 2.0 * NEAR, "{share:.3}, others {honest:.3}");
}

/// Each of its threads is a new one, of which the daemon has heard nothing.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn ever_new_threads_neither_gain_nor_keep_the_daemon_busy() {
    let stage = Stage::new();
    // Whoever begins anew all the time has more than others anyway.
    let (plain, _) = shares(&stage, &["storm", "flood"], "plain");
    let Some(daemon) = Running::start(&stage.options()) else { return };
    let watch = std::thread::spawn(|| {
        // It needs some seconds to look less often.
        std::thread::sleep(WARM + SECONDS / 2);
        let before_ns = own_cpu_ns();
        std::thread::sleep(SECONDS / 4);
        (own_cpu_ns() - before_ns) as f64 / (SECONDS / 4).as_nanos() as f64
    });
    let (share, _) = shares(&stage, &["storm", "flood"], "storm");
    let own = watch.join().expect("no panic");
    let changes = daemon.stop();
    // --own-budget of the test is 0.01; what it cannot be below is the looks at others.
    assert!(own < 0.02, "the daemon takes {own:.3} of a CPU, {} changes", changes.len());
    assert!((share - plain).abs() < NEAR, "{share:.3}, without boost {plain:.3}");
}

/// A server among background jobs that all have somebody who chats with them.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn a_chatty_background_does_no_harm() {
    let stage = Stage::new();
    let mean = |boost: bool, round: &str| {
        let daemon = match boost {
            true => Some(Running::start(&stage.options())?),
            false => None,
        };
        let time = WARM + SECONDS;
        let mut others = Vec::new();
        for i in 0..6 * rota_boost::process::cpus() {
            let path = stage.path(&format!("{round}-{i}"));
            others.push(spawn("chatty", &path, time));
            others.push(spawn("stranger", &path, time));
        }
        others.push(spawn("server", &stage.path(round), time));
        std::thread::sleep(WARM);
        let asking = SECONDS - Duration::from_secs(1);
        let mean = numbers(spawn("customer", &stage.path(round), asking))[0];
        end(others);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
        Some(mean as f64 / 1e6)
    };
    let Some(boosted) = mean(true, "with") else { return };
    let plain = mean(false, "without").expect("possible a moment ago");
    assert!(boosted <= 1.1 * plain, "mean response {boosted:.2} ms, without boost {plain:.2} ms");
}
