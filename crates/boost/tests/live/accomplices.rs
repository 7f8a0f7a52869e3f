// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several users, or one who looks like several, help each other to the CPU. What they get beyond
//! their share is within the bound of docs/boost.md: that of all people together.

use super::fairness::{shares_of, NEAR};
use super::support::accomplices::{behind, CHAIN};
use super::support::{skip, spawn, spawn_by, Running};
use super::{Stage, SECONDS, WARM};
use rota_boost::account::Extra;
use rota_boost::daemon::Options;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Users who can log in.
const USERS: [u32; 4] = [1001, 1002, 1003, 1004];

/// A server of this user and its customer, another one, at a socket of their own.
fn pair(stage: &Stage, server: u32, customer: u32) -> [Child; 2] {
    let path = stage.path(&format!("s{server}"));
    let part = |name: &str, uid| spawn(&format!("{name}:{uid}"), &path, WARM + SECONDS);
    [part("toiler", server), part("taskmaster", customer)]
}

/// CPUs that these many users may have beyond their share during a test: the income of the pool
/// and what it holds, which is that of 4 s, and what each of them used until the last look.
fn bound(options: &Options, users: usize) -> f64 {
    let time_s = (WARM + SECONDS).as_secs_f64();
    (options.extra.people_cpus * (time_s + 4.0) + 0.05 * users as f64) / time_s
}

/// The first of a cast have no more than their share and the bound, and nothing beyond their
/// share where people shall have nothing.
fn stay_within_the_bound(
    customers: &str,
    users: usize,
    cast: impl Fn(&Stage) -> (Vec<Child>, usize),
) {
    for people_cpus in [0.0, 0.1] {
        let stage = Stage::new();
        let mut options = stage.options_for(customers);
        options.extra.people_cpus = people_cpus;
        let Some(daemon) = Running::start(&options) else { return };
        let (cast, first) = cast(&stage);
        let (shares, others) = shares_of(cast, first);
        let changes = daemon.stop();
        // As if all were alike.
        let hogs = f64::from(6 * rota_boost::process::cpus());
        let all: f64 = shares.iter().sum();
        let honest = first as f64 * (all + hogs * others) / (first as f64 + hogs);
        let most = honest + bound(&options, users) + NEAR;
        assert!(all < most, "{all:.3} of {most:.3}, {honest:.3} honest: {shares:.3?}");
        assert!(changes.iter().any(|c| c.what.contains("request by")), "{changes:?}");
    }
}

#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn a_second_user_as_customer_helps_within_the_bound() {
    stay_within_the_bound("other-user", 1, |stage| (pair(stage, USERS[0], USERS[1]).into(), 1));
}

#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn users_who_ask_each_other_help_within_the_bound() {
    stay_within_the_bound("other-user", USERS.len(), |stage| {
        let around = USERS.into_iter().zip(USERS.into_iter().cycle().skip(1));
        let pairs = around.map(|(server, customer)| pair(stage, server, customer));
        let (servers, customers): (Vec<_>, Vec<_>) =
            pairs.map(|[server, customer]| (server, customer)).unzip();
        let first = servers.len();
        (servers.into_iter().chain(customers).collect(), first)
    });
}

/// One request, and a server that hands it on to four more of its user.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn a_request_is_not_multiplied_by_handing_it_on() {
    stay_within_the_bound("other-user,on-behalf", 1, |stage| {
        let (path, time) = (stage.path("s"), WARM + SECONDS);
        let toiler = format!("toiler:{}", USERS[0]);
        let mut cast: Vec<_> =
            (0..CHAIN).map(|n| spawn(&toiler, &behind(&path, n), time)).collect();
        cast.push(spawn(&format!("front:{}", USERS[0]), &path, time));
        cast.push(spawn("stranger", &path, time));
        (cast, CHAIN)
    });
}

/// Would these notice? With a wide pool such a server gets far more.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn a_second_user_would_help_with_a_wide_pool() {
    let stage = Stage::new();
    let mut options = stage.options_for("other-user");
    options.extra = Extra { people_cpus: 8.0, services_cpus: 8.0 };
    let Some(daemon) = Running::start(&options) else { return };
    let (shares, honest) = shares_of(pair(&stage, USERS[0], USERS[1]).into(), 1);
    daemon.stop();
    assert!(shares[0] > honest + 4.0 * NEAR, "{shares:.3?}, others {honest:.3}");
}

/// Fourteen threads, of which each needs less than a share, are one as long as they take turns.
#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn clients_who_take_turns_have_the_share_of_one() {
    let stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = Running::start(&options) else { return };
    let (path, time) = (stage.path("s"), WARM + SECONDS);
    let turns = format!("turns:{}", USERS[0]);
    let cast = vec![spawn(&turns, &path, time), spawn("server", &path, time)];
    let (shares, honest) = shares_of(cast, 1);
    let changes = daemon.stop();
    assert!(shares[0] < honest + NEAR, "{shares:.3?}, others {honest:.3}");
    assert!(changes.iter().any(|c| c.what.contains("answer by UNIX")), "{changes:?}");
}

/// A user namespace of an ordinary user, in which others are theirs.
struct Namespace(Child);

impl Namespace {
    fn new(owner: u32) -> Option<Self> {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={owner}"), "--clear-groups", "unshare", "--user"]);
        let child = command.args(["sleep", "120"]).stdout(Stdio::null()).spawn().ok()?;
        let made = Self(child);
        let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/user")).ok();
        let (pid, end) = (made.0.id().to_string(), Instant::now() + Duration::from_secs(10));
        while of(&pid) == of("self") {
            if Instant::now() > end {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for map in ["uid_map", "gid_map"] {
            std::fs::write(format!("/proc/{pid}/{map}"), "0 100000 65536\n").expect("root may");
        }
        Some(made)
    }

    /// Starts a part as this user of it. The program is at a place that everybody may enter.
    fn spawn(&self, user: u32, program: &Path, part: &str, path: &Path) -> Child {
        let mut command = Command::new("nsenter");
        let target = self.0.id().to_string();
        command.args(["--user", "--target", &target]);
        command.args(["--setuid", &user.to_string(), "--setgid", &user.to_string()]);
        command.arg(program);
        spawn_by(command, part, path, WARM + SECONDS)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "a minute of cheating: make boost-test"]
fn who_is_many_in_their_own_namespace_is_one() {
    let stage = Stage::new();
    let Some(namespace) = Namespace::new(USERS[0]) else {
        return skip("no user namespaces for ordinary users here");
    };
    let (program, path) = (stage.path("program"), stage.path("s"));
    std::fs::copy(std::env::current_exe().expect("this test"), &program).expect("copied");
    let Some(daemon) = Running::start(&stage.options()) else { return };
    let parts = [(1, "toiler-there:0"), (2, "taskmaster-there:0")];
    let cast = parts.map(|(user, part)| namespace.spawn(user, &program, part, &path));
    let (shares, honest) = shares_of(cast.into(), 1);
    let changes = daemon.stop();
    assert!((shares[0] - honest).abs() < NEAR, "{shares:.3?}, others {honest:.3}");
    assert!(!changes.iter().any(|c| c.what.contains("request by")), "{changes:?}");
}
