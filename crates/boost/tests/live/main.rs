// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon on this machine's kernel. It needs root and bpf(2); without them each test says
//! `skipped: …`. Everything runs on one CPU, against as many processes that only burn it as
//! make the load 6 per CPU of the machine.

mod accomplices;
mod datagrams;
mod fairness;
mod lasting;
mod support;

use rota_boost::apply::Kernel;
use rota_boost::daemon::{self, Options};
use rota_boost::groups::Allowed;
use rota_boost::log::Change;
use rota_boost::syscalls::{attr, renice, set_attr, Attr};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use support::{all_numbers, alone, hogs, options, spawn, Running};

/// Until the load has been seen.
const WARM: Duration = Duration::from_millis(1500);
const SECONDS: Duration = Duration::from_secs(8);

/// Not a test, but a part in one, if the environment says so.
#[test]
fn actor() {
    if let Ok(part) = std::env::var("ROTA_ACTOR") {
        std::env::remove_var("ROTA_ACTOR");
        support::actors::play(&part);
    }
}

/// A stage with files of its own, that everybody may enter, for one test at a time. Who plays on
/// it ends with it.
struct Stage {
    files: tempfile::TempDir,
    cast: Vec<Child>,
    _alone: std::sync::MutexGuard<'static, ()>,
}

impl Stage {
    fn new() -> Self {
        // Whatever the tests run with: who has a nice value of its own is left alone. Those who play
        // are children of this thread. Without privileges nobody plays.
        let _ = renice(0, 0);
        let files = tempfile::tempdir().expect("a directory");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(files.path(), all).expect("opened for all");
        Self { files, cast: Vec::new(), _alone: alone() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn options(&self) -> Options {
        self.options_for("other-user")
    }

    fn options_for(&self, customers: &str) -> Options {
        options(customers, self.path("saved"))
    }

    /// The daemon, and a load that it has seen.
    fn begin(&mut self, options: &Options) -> Option<Running> {
        let daemon = Running::start(options)?;
        self.cast.extend(hogs(SECONDS));
        std::thread::sleep(WARM);
        Some(daemon)
    }

    /// What a thread has that nobody changed.
    fn ordinary(&self) -> Attr {
        attr(self.cast[0].id()).expect("alive")
    }

    /// Who plays this part, at the socket `s`.
    fn enter(&mut self, part: &str, time: Duration) -> u32 {
        let child = spawn(part, &self.path("s"), time);
        let pid = child.id();
        self.cast.push(child);
        pid
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        end(self.cast.drain(..).collect());
    }
}

fn end(children: Vec<Child>) {
    for mut child in children {
        // A panic here would hide why the test failed.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Waits for a thread of the process with a negative nice value.
fn boosted_thread(pid: u32, within: Duration) -> Option<(u32, Attr)> {
    let end = Instant::now() + within;
    while Instant::now() < end {
        let found = threads(pid).into_iter().filter_map(|tid| Some((tid, attr(tid).ok()?)));
        if let Some(found) = found.into_iter().find(|(_, a)| a.nice < 0) {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

#[test]
fn a_server_is_boosted_and_gets_its_own_back() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    let ordinary = stage.ordinary();
    let server = stage.enter("server", SECONDS);
    stage.enter("customer", Duration::from_secs(3));
    let (tid, boosted) = boosted_thread(server, SECONDS).expect("a boosted thread");
    assert!(boosted.nice <= -6 && boosted.flags == 1, "{boosted:?}");
    assert!(ordinary.slice_ns == 0 || boosted.slice_ns == 100_000, "{boosted:?}");
    let told = rota_boost::control::ask(&stage.path("saved.sock"), server).expect("told");
    let thread = told.threads.iter().find(|t| t.tid == tid).expect("explained");
    assert!(thread.nice.is_some_and(|nice| nice <= -6) && thread.phase.is_some(), "{told:?}");
    assert!(told.history.iter().any(|line| line.contains("another user")), "{told:?}");
    let changes = daemon.stop();
    assert_eq!(attr(tid).expect("alive"), ordinary);
    let told = |c: &Change| c.what.contains("another user") && c.what.contains("UNIX");
    assert!(changes.iter().any(told), "{changes:?}");
}

/// It uses less than its share, and so has a nice value, too.
#[test]
fn who_waits_for_the_answer_comes_sooner() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    let ordinary = stage.ordinary();
    stage.enter("server", SECONDS);
    let customer = stage.enter("customer", Duration::from_secs(5));
    let (tid, waiting) = boosted_thread(customer, SECONDS).expect("a boosted customer");
    assert!(waiting.nice <= -6 && waiting.flags == 1, "{waiting:?}");
    assert!(ordinary.slice_ns == 0 || waiting.slice_ns == 100_000, "{waiting:?}");
    let told = rota_boost::control::ask(&stage.path("saved.sock"), customer).expect("told");
    let thread = told.threads.iter().find(|t| t.tid == tid).expect("explained");
    assert_eq!(thread.phase.as_deref(), Some("waiting"));
    assert!(told.credit_ms.is_some_and(|ms| ms > 0), "{told:?}");
    let changes = daemon.stop();
    assert_eq!(attr(tid).expect("alive"), ordinary);
    let told = |what: &str| changes.iter().any(|c| c.tid == tid && c.what.contains(what));
    assert!(told("slice -> 100 us: answer") && told("less than its share"), "{changes:?}");
}

#[test]
fn what_a_person_set_is_not_touched() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    let server = stage.enter("server", SECONDS);
    // Its threads inherit it.
    let mine = Attr { nice: 3, slice_ns: 0, ..attr(server).expect("alive") };
    threads(server).into_iter().for_each(|tid| set_attr(tid, &mine).expect("allowed"));
    stage.enter("customer", Duration::from_secs(3));
    assert_eq!(boosted_thread(server, Duration::from_secs(3)), None);
    let nice: Vec<i32> =
        threads(server).iter().filter_map(|t| attr(*t).ok()).map(|a| a.nice).collect();
    assert!(nice.len() > 1 && nice.iter().all(|n| *n == 3), "{nice:?}");
    let changes = daemon.stop();
    assert!(changes.iter().any(|c| c.what.contains("it was given nice 3")), "{changes:?}");
}

#[test]
fn children_do_not_inherit_a_boost() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    let server = stage.enter("forking", SECONDS);
    let customer = spawn("asks", &stage.path("s"), Duration::from_secs(4));
    let (tid, _) = boosted_thread(server, SECONDS).expect("a boosted parent");
    let mut while_boosted = 0;
    let until = Instant::now() + Duration::from_millis(3500);
    while while_boosted < 20 && Instant::now() < until {
        // The child of a thread that has the flag, and of no other.
        if let Ok(children) =
            std::fs::read_to_string(format!("/proc/{}/task/{tid}/children", server))
        {
            for child in children.split_whitespace().filter_map(|c| c.parse().ok()) {
                let Ok(child) = attr(child) else { continue };
                assert_eq!((child.nice, child.flags), (0, 0), "{child:?}");
                while_boosted += i32::from(attr(tid).is_ok_and(|a| a.nice < 0));
            }
        }
    }
    assert!(while_boosted > 0 || !Path::new(&format!("/proc/{tid}/task/{tid}/children")).exists());
    // The children's own word for it.
    for child in all_numbers(customer) {
        assert_eq!((child[0], child[2]), (0, 0), "{child:?}");
    }
    daemon.stop();
}

#[test]
fn the_thread_of_a_pool_that_works_is_boosted_too() {
    let mut stage = Stage::new();
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    stage.enter("pool", SECONDS);
    let customer = spawn("asks", &stage.path("s"), Duration::from_secs(4));
    let answers = all_numbers(customer);
    let boosted = answers.iter().filter(|worker| worker[0] < 0 && worker[2] == 1).count();
    let changes = daemon.stop();
    // The first ones while nobody knew of the server.
    let story = format!("nice, slice and flags of the worker: {answers:?}; done: {changes:?}");
    assert!(2 * boosted > answers.len(), "{story}");
    let found = ["which has a request open", "answers what"];
    assert!(changes.iter().any(|c| found.iter().any(|how| c.what.contains(how))), "{story}");
}

/// In a session of its own, with autogroups on, a thread's nice value says nothing to others.
#[test]
fn the_autogroup_is_named_and_raised_where_that_is_allowed() {
    let mut stage = Stage::new();
    let enabled = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let own = std::fs::read_to_string("/proc/self/autogroup").unwrap_or_default();
    if enabled.map_or(true, |e| e.trim() != "1") || !own.ends_with("nice 0\n") {
        return support::skip("no autogroups here, or ours has a nice value");
    }
    let groups = Allowed { autogroups: true, cgroups: false };
    let options = Options { groups, ..stage.options() };
    let Some(daemon) = stage.begin(&options) else { return };
    let server = stage.enter("server", SECONDS);
    stage.enter("customer", Duration::from_secs(3));
    boosted_thread(server, SECONDS).expect("a boosted thread");
    let group = || std::fs::read_to_string(format!("/proc/{}/autogroup", server));
    let confined = !rota_boost::groups::confinement(server, None).to_string().contains("autogroup");
    std::thread::sleep(Duration::from_millis(20));
    let raised = group().expect("alive");
    let changes = daemon.stop();
    let told = changes.iter().any(|c| c.what.contains("within autogroup"));
    assert!(confined || told && raised.contains("nice -"), "{raised} {changes:?}");
    assert!(group().expect("alive").ends_with("nice 0\n"), "and back");
}

const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Switches autogroups off; back on when dropped.
struct AutogroupsOff;

impl Drop for AutogroupsOff {
    fn drop(&mut self) {
        let _ = std::fs::write(AUTOGROUPS, "1");
    }
}

/// Who was forked while autogroups were on stays in one when they are switched off.
#[test]
fn a_thread_is_told_to_be_in_an_autogroup_though_these_were_switched_off_since() {
    let mut stage = Stage::new();
    let on = std::fs::read_to_string(AUTOGROUPS).is_ok_and(|e| e.trim() == "1");
    let own = std::fs::read_to_string("/proc/self/autogroup").unwrap_or_default();
    let may_switch = std::fs::OpenOptions::new().write(true).open(AUTOGROUPS).is_ok();
    if !on || !may_switch || !own.starts_with("/autogroup-") {
        return support::skip("no autogroups here, or they cannot be switched off");
    }
    let server = stage.enter("server", SECONDS);
    stage.enter("customer", SECONDS);
    std::thread::sleep(WARM); // its connection has a thread of its own then
    let _back = AutogroupsOff;
    std::fs::write(AUTOGROUPS, "0").expect("switched off");
    let options = stage.options();
    let Some(daemon) = stage.begin(&options) else { return };
    boosted_thread(server, SECONDS).expect("a boosted thread");
    std::thread::sleep(Duration::from_millis(20));
    let changes = daemon.stop();
    let told = |c: &Change| c.what.starts_with("nice") && c.what.contains("within autogroup");
    let of_request = changes.iter().find(|c| c.what.contains("request by"));
    assert!(of_request.is_some_and(told), "{changes:?}");
}

#[test]
fn what_a_killed_daemon_left_is_taken_back() {
    let mut stage = Stage::new();
    let (saved, options) = (stage.path("saved"), stage.options());
    let Some(first) = stage.begin(&options) else { return };
    let server = stage.enter("server", SECONDS);
    stage.enter("customer", Duration::from_secs(4));
    let (tid, boosted) = boosted_thread(server, SECONDS).expect("a boosted thread");
    // As it would be after kill -9: the file as it is now, and the thread still boosted.
    let left = std::fs::read(&saved).expect("a file");
    first.stop();
    assert_eq!(attr(tid).expect("alive").nice, 0);
    set_attr(tid, &boosted).expect("allowed");
    std::fs::write(&saved, left).expect("written");

    let (_, repaired) = daemon::repair(&Kernel, &saved).expect("repaired");
    let now = attr(tid).expect("alive");
    assert!(repaired >= 1 && now == stage.ordinary(), "{repaired} {now:?}");
    assert_eq!(daemon::repair(&Kernel, &saved).expect("nothing left").1, 0);
}
