// SPDX-License-Identifier: MIT OR Apache-2.0
//! One's own datagrams from one's own network namespace are no other machine's.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use super::fairness::{shares, NEAR};
use rota_boost::log::Change;

use super::support::datagrams::{FAR_END, NEAR_END};
use super::support::{skip, spawn_by, Running};
use super::{end, Stage, SECONDS, WARM};

/// A network namespace at the other end of a cable, both of which go when this does.
struct Namespace {
    name: String,
    cable: String,
}

impl Namespace {
    fn new() -> Option<Self> {
        let id = std::process::id();
        let (name, cable) = (format!("rota-{id}"), format!("rb{id}"));
        if !ip(&format!("netns add {name}")) {
            return None;
        }
        let made = Self { name: name.clone(), cable: cable.clone() };
        for command in [
            format!("link add {cable} type veth peer name far netns {name}"),
            format!("addr add {NEAR_END}/30 dev {cable}"),
            format!("link set {cable} up"),
            format!("-n {name} addr add {FAR_END}/30 dev far"),
            format!("-n {name} link set far up"),
        ] {
            assert!(ip(&command), "ip {command}");
        }
        Some(made)
    }

    /// Sends from there to here; it needs no privileges, and one may have made the namespace.
    fn feeder(&self, time: Duration) -> Child {
        let mut inside = Command::new("ip");
        let program = std::env::current_exe().expect("this test");
        inside.args(["netns", "exec", &self.name]).arg(program);
        spawn_by(inside, "datagrams-far", Path::new("-"), time)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The namespace alone would take the cable with it, but later.
        ip(&format!("link del {}", self.cable));
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split(' ')).status().is_ok_and(|status| status.success())
}

/// The part has its share, and no request of a customer. Returns what the daemon did.
fn gains_nothing(part: &str) -> Option<Vec<Change>> {
    let stage = Stage::new();
    let Some(namespace) = Namespace::new() else {
        skip("no network namespaces here");
        return None;
    };
    let daemon = Running::start(&stage.options_for("remote,other-user"))?;
    let mut feeder = namespace.feeder(WARM + SECONDS);
    let (share, honest) = shares(&stage, &[part], part);
    // It did send.
    let mut said = String::new();
    feeder.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
    end(vec![feeder]);
    assert!(said.contains("ACTOR"), "{said}");
    let changes = daemon.stop();
    assert!((share - honest).abs() < NEAR, "{part}: {share:.3}, others {honest:.3}");
    assert!(!changes.iter().any(|c| c.what.contains("request by")), "{changes:?}");
    Some(changes)
}

#[test]
fn datagrams_of_nobody_in_particular_are_no_requests_of_another_machine() {
    gains_nothing("datagrams-burner");
}

#[test]
fn who_asks_a_service_by_datagrams_does_not_turn_into_a_server() {
    gains_nothing("datagrams-asker");
}

/// What it asked came before the daemon looked, so that it is first seen to receive.
#[test]
fn who_is_seen_to_ask_late_gets_answers_all_the_same() {
    let Some(changes) = gains_nothing("datagrams-late") else { return };
    assert!(changes.iter().any(|c| c.what.contains("answer by network")), "{changes:?}");
}
