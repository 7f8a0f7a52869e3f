// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policy of `rota run`, through its control socket: in a thread of its own, as an answer can take
//! seconds.

use super::shared::Shared;
use crate::commands::set;
use crate::error::Error;
use crate::output::stats;
use rota_kernel::control::{Changes, Client, ClientError, Description};
use rota_kernel::stats::{Interval, Sample};
use rota_top::{Policy, Tunable};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// How often the policy is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// What the user wants of the policy.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A tunable, and its new value.
    Set(String, String),
    /// Another policy, with settings.
    Switch(String),
}

/// Asks from now on, until nobody wants anything any more.
pub(super) fn follow(socket: PathBuf, shared: Arc<Shared>) -> Sender<Wanted> {
    let (sender, wanted) = channel();
    std::thread::spawn(move || ask(&socket, &wanted, &shared));
    sender
}

fn ask(socket: &Path, wanted: &Receiver<Wanted>, shared: &Shared) {
    let mut connection = None;
    loop {
        // A connection that broke is made again: policies come and go.
        let policy = look(&mut connection, socket);
        if policy.is_err() {
            connection = None;
        }
        shared.latest().policy = policy.ok();
        match wanted.recv_timeout(INTERVAL) {
            Ok(Wanted::Set(name, value)) => shared.say(set(socket, name, value)),
            Ok(Wanted::Switch(to)) => match switch(socket, &to) {
                Ok(policy) => shared.say(format!("{policy} schedules now")),
                Err(error) => shared.complain(&error),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
}

/// A connection, and its last statistics.
type Connection = (Client, Option<Sample>);

fn look(connection: &mut Option<Connection>, socket: &Path) -> Result<Policy, ClientError> {
    let (client, before) = match connection {
        Some(connection) => connection,
        None => connection.insert((Client::connect(socket)?, None)),
    };
    let description = client.describe()?;
    let sample = client.stats()?;
    let interval = before.as_ref().map(|before| Interval::between(before, &sample));
    *before = Some(sample);
    Ok(policy(description, interval.as_ref()))
}

fn policy(of: Description, interval: Option<&Interval>) -> Policy {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = interval.map(|interval| stats::print(&mut text, interval));
    let tunables = of.tunables.into_iter();
    Policy {
        name: of.policy,
        pid: of.pid,
        statistics: String::from_utf8_lossy(&text).lines().map(str::to_owned).collect(),
        tunables: tunables
            .map(|of| Tunable { name: of.name, value: of.value, live: of.live, help: of.help })
            .collect(),
    }
}

/// Changes a tunable, as `rota set` does, and says what became of it.
fn set(socket: &Path, name: String, value: String) -> String {
    let changes = Changes { tunables: vec![(name, value)], shares: Vec::new() };
    let changed = Client::connect(socket).and_then(|mut client| client.change(changes));
    match changed {
        Ok(changed) => {
            let changed = changed.tunables.iter();
            let said = changed.map(|(name, before, now)| format!("{name}: {before} -> {now}"));
            said.collect::<Vec<_>>().join(", ")
        }
        Err(error) => format!("error: {error}"),
    }
}

/// Switches to another policy, and tells its name when it schedules.
fn switch(socket: &Path, to: &str) -> Result<String, Error> {
    let to = set::wanted(to)?;
    Ok(set::switch(&mut Client::connect(socket)?, to)?.policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_kernel::control::{self, Changed, Controlled, Refusal, Server, Switch, Switching};
    use rota_kernel::stats::Counter;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    /// A policy with one tunable from 1 to 9, which picks 100 tasks each time it is asked.
    struct Fake {
        speed: u64,
        picks: u64,
        policy: String,
    }

    impl Controlled for Fake {
        fn describe(&self) -> Description {
            let tunable = control::Tunable {
                name: "speed".into(),
                value: self.speed.to_string(),
                live: true,
                ctype: "u64".into(),
                min: None,
                max: None,
                unit: None,
                values: Vec::new(),
                help: "How fast".into(),
            };
            let (policy, source) = (self.policy.clone(), "shipped".into());
            let tunables = vec![tunable];
            Description { policy, source, pid: 12, tunables, not_switched: None }
        }

        fn switch(&mut self, to: &Switch) -> Result<Switching, Refusal> {
            let from = std::mem::replace(&mut self.policy, to.policy.clone());
            Ok(Switching { from, to: to.policy.clone() })
        }

        fn change(&mut self, changes: &Changes) -> Result<Changed, Refusal> {
            let (name, value) = &changes.tunables[0];
            let value = value.parse().ok().filter(|value| (1..=9).contains(value));
            let value = value.ok_or_else(|| Refusal::input(format!("{name}: expected 1 to 9")))?;
            let before = std::mem::replace(&mut self.speed, value).to_string();
            let tunables = vec![(name.clone(), before, value.to_string())];
            Ok(Changed { tunables, shares: Vec::new() })
        }

        fn stats(&mut self) -> Result<Sample, Refusal> {
            self.picks += 100;
            let counter = Counter {
                name: "picks".into(),
                value: self.picks.into(),
                bits: 64,
                gauge: false,
                unit: None,
                help: String::new(),
            };
            let time_ns = self.picks * 10_000_000;
            let policy = "fake".into();
            Ok(Sample { policy, time_ns, counters: vec![counter], ..Sample::default() })
        }

        fn watched(&mut self, _by_somebody: bool) {}
    }

    /// Waits until something is so.
    fn until<T>(shared: &Shared, of: impl Fn(&super::super::shared::Latest) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = of(&shared.latest()) {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it never came");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_policy_is_shown_and_set_through_its_socket() {
        let dir = tempfile::tempdir().expect("a folder");
        let socket = dir.path().join("control.sock");
        let mut server = Server::bind(&socket).expect("binds");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serving = std::thread::spawn(move || {
            let mut fake = Fake { speed: 3, picks: 0, policy: "fake".into() };
            while !stopped.load(Ordering::Relaxed) {
                server.poll(&mut fake);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let shared = Arc::new(Shared::default());
        let policy = follow(socket, Arc::clone(&shared));
        let first = until(&shared, |latest| latest.policy.clone());
        assert_eq!((first.name.as_str(), first.pid), ("fake", 12));
        assert_eq!((first.tunables[0].value.as_str(), first.tunables[0].live), ("3", true));
        policy.send(Wanted::Set("speed".into(), "7".into())).expect("is asked for");
        assert_eq!(until(&shared, |latest| latest.said.clone()), "speed: 3 -> 7");
        // 100 picks in each second of the fake's time.
        let rates = until(&shared, |latest| {
            let policy = latest.policy.clone().filter(|policy| policy.tunables[0].value == "7")?;
            Some(policy.statistics).filter(|lines| !lines.is_empty())
        });
        assert_eq!(rates[1].trim(), "picks/s");
        assert_eq!(rates[2].trim(), "100");
        shared.latest().said = None;
        policy.send(Wanted::Set("speed".into(), "12".into())).expect("is asked for");
        let said = until(&shared, |latest| latest.said.clone());
        assert_eq!(said, "error: speed: expected 1 to 9");
        shared.latest().said = None;
        policy.send(Wanted::Switch("wfq".into())).expect("is asked for");
        assert_eq!(until(&shared, |latest| latest.said.clone()), "wfq schedules now");
        until(&shared, |latest| latest.policy.as_ref().filter(|of| of.name == "wfq").map(drop));
        shared.latest().said = None;
        policy.send(Wanted::Switch("wqf".into())).expect("is asked for");
        let said = until(&shared, |latest| latest.said.clone());
        assert!(said.starts_with("error: ") && said.contains("wfq"), "{said}");
        // It leaves.
        stop.store(true, Ordering::Relaxed);
        serving.join().expect("served");
        until(&shared, |latest| latest.policy.is_none().then_some(()));
    }
}
