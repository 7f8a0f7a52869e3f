// SPDX-License-Identifier: MIT OR Apache-2.0
//! One's own datagrams from one's own network namespace are no other machine's.

use std::io::Read;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::fairness::{shares, NEAR};
use super::support::actors::{burn, SHORT};
use super::support::{skip, spawn_by, Running};
use super::{end, Stage, SECONDS, WARM};

const NEAR_END: &str = "198.51.100.1:4001";
const FAR_END: &str = "198.51.100.2:4002";

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
            format!("addr add 198.51.100.1/30 dev {cable}"),
            format!("link set {cable} up"),
            format!("-n {name} addr add 198.51.100.2/30 dev far"),
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

/// Sends from a socket that is not connected.
pub(crate) fn far(end: Instant) {
    let socket = UdpSocket::bind(FAR_END).expect("bound");
    while Instant::now() < end {
        let _ = socket.send_to(b"x", NEAR_END);
        std::thread::sleep(SHORT);
    }
}

/// Receives now and then, burns the CPU, and first asks this often. What it sends after that looks
/// like answers.
pub(crate) fn near(asks: u32, end: Instant) {
    let socket = UdpSocket::bind(NEAR_END).expect("bound");
    socket.connect(FAR_END).expect("connected");
    socket.set_nonblocking(true).expect("settable");
    let mut buffer = [0; 100];
    for _ in 0..asks {
        let _ = socket.send(b"?");
    }
    let mut received = 0;
    while Instant::now() < end {
        received += u32::from(socket.recv(&mut buffer).is_ok());
        burn(SHORT);
        // Fewer than it asked for.
        if asks > 0 && received > 20 {
            let _ = socket.send(b"a");
        }
    }
}

/// Whoever runs in `parts` gains nothing, and has no request.
fn gains_nothing(part: &str) {
    let stage = Stage::new();
    let Some(namespace) = Namespace::new() else {
        return skip("no network namespaces here");
    };
    let Some(daemon) = Running::start(&stage.options_for("remote,other-user")) else { return };
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
}

#[test]
fn datagrams_of_nobody_in_particular_are_no_requests_of_another_machine() {
    gains_nothing("datagrams-burner");
}

#[test]
fn who_asks_a_service_by_datagrams_does_not_turn_into_a_server() {
    gains_nothing("datagrams-asker");
}
