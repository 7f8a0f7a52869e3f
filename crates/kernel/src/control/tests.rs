// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server and clients in one process.

use super::protocol::{line, parse};
use super::*;
use crate::stats::Sample;
use proptest::prelude::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A policy with one tunable from 1 to 9.
#[derive(Default)]
struct Fake {
    speed: u64,
    watched: Vec<bool>,
    switched: Vec<Switch>,
}

impl Controlled for Fake {
    fn describe(&self) -> Description {
        let pid = std::process::id();
        let policy = self.switched.last().map_or("fake", |to| &to.policy).into();
        let source = "shipped".into();
        Description { policy, source, pid, tunables: vec![], not_switched: None }
    }

    fn change(&mut self, changes: &Changes) -> Result<Changed, Refusal> {
        let mut changed = Changed::default();
        for (name, value) in &changes.tunables {
            let value: u64 = value.parse().map_err(|_| Refusal::input("not a number"))?;
            changed.tunables.push((name.clone(), self.speed.to_string(), value.to_string()));
            self.speed = value;
        }
        Ok(changed)
    }

    fn switch(&mut self, to: &Switch) -> Result<Switching, Refusal> {
        if to.policy == "bad" {
            return Err(Refusal::input("no policy is called bad"));
        }
        let from = self.describe().policy;
        self.switched.push(to.clone());
        Ok(Switching { from, to: to.policy.clone() })
    }

    fn stats(&mut self) -> Result<Sample, Refusal> {
        Ok(Sample { policy: "fake".into(), time_ns: self.speed, ..Sample::default() })
    }

    fn watched(&mut self, by_somebody: bool) {
        self.watched.push(by_somebody);
    }
}

fn scratch() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("below/control.sock");
    (dir, path)
}

/// Serves in another thread while `clients` runs; returns what was served.
fn with_server<T>(clients: impl FnOnce(&Path) -> T) -> (Fake, T) {
    let (_dir, path) = scratch();
    let stop = Arc::new(AtomicBool::new(false));
    let mut server = Server::bind(&path).expect("binds");
    let stopped = Arc::clone(&stop);
    let serving = std::thread::spawn(move || {
        let mut fake = Fake::default();
        while !stopped.load(Ordering::Relaxed) {
            server.poll(&mut fake);
            std::thread::sleep(Duration::from_millis(1));
        }
        // What went away in the meantime.
        server.poll(&mut fake);
        fake
    });
    let done = clients(&path);
    stop.store(true, Ordering::Relaxed);
    (serving.join().expect("serves"), done)
}

fn speed(value: &str) -> Changes {
    Changes { tunables: vec![("speed".into(), value.into())], shares: vec![] }
}

/// Sends bytes and reads one answer.
fn raw(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
    // A server that has had enough may close before it has read all.
    let _ = stream.write_all(bytes);
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("an answer");
    answer
}

#[test]
fn client_sets_and_reads_back() {
    let (fake, _) = with_server(|path| {
        let mut client = Client::connect(path).expect("connects");
        assert_eq!(client.describe().expect("describes").policy, "fake");
        let changed = client.change(speed("7")).expect("changes");
        assert_eq!(changed.tunables, [("speed".to_string(), "0".to_string(), "7".to_string())]);
        assert_eq!(client.stats().expect("stats").time_ns, 7);
    });
    assert_eq!(fake.speed, 7);
}

#[test]
fn refusal_reaches_the_client_and_the_connection_stays() {
    with_server(|path| {
        let mut client = Client::connect(path).expect("connects");
        match client.change(speed("fast")) {
            Err(ClientError::Refused(refusal)) => {
                assert_eq!(refusal, Refusal::input("not a number"))
            }
            other => panic!("{other:?}"),
        }
        client.change(speed("2")).expect("goes on");
    });
}

#[test]
fn another_policy_takes_over_with_its_tunables() {
    let to = |policy: &str| Switch {
        policy: policy.into(),
        manifest: Some("/etc/wfq.toml".into()),
        tunables: vec![("quantum_ns".into(), "2ms".into())],
    };
    let (fake, _) = with_server(|path| {
        let mut client = Client::connect(path).expect("connects");
        let refused = client.switch(to("bad")).expect_err("refused").to_string();
        assert_eq!(refused, "no policy is called bad");
        assert_eq!(client.switch(to("wfq")).expect("switches").policy, "wfq");
        assert_eq!(client.describe().expect("the same connection").policy, "wfq");
    });
    assert_eq!(fake.switched, [to("wfq")]);
}

#[test]
fn policy_knows_whether_somebody_watches() {
    let (fake, _) = with_server(|path| {
        let mut watcher = Client::connect(path).expect("connects");
        watcher.stats().expect("stats");
        watcher.stats().expect("stats");
        drop(watcher);
        // A change is answered after the server has seen the watcher go.
        let mut other = Client::connect(path).expect("connects");
        other.describe().expect("describes");
        other.describe().expect("describes");
    });
    assert_eq!(fake.watched, [true, false]);
}

#[test]
fn socket_is_for_its_owner_only() {
    let (_dir, path) = scratch();
    let _server = Server::bind(&path).expect("binds");
    let mode = |path: &Path| std::fs::metadata(path).expect("is there").permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().expect("parent")) & 0o777, 0o755);
}

#[test]
fn socket_of_a_dead_process_is_replaced() {
    let (_dir, path) = scratch();
    std::fs::create_dir_all(path.parent().expect("parent")).expect("made");
    drop(UnixListener::bind(&path).expect("binds")); // leaves the file, like kill -9
    let server = Server::bind(&path).expect("replaces");
    drop(server);
    assert!(!path.exists(), "an ordinary end leaves nothing");
}

#[test]
fn socket_in_use_is_left_alone() {
    with_server(|path| {
        let error = Server::bind(path).expect_err("in use").to_string();
        let pid = std::process::id();
        assert!(error.contains(&format!("(pid {pid}, policy fake)")), "{error}");
        Client::connect(path).expect("still there").describe().expect("answers");
    });
}

#[test]
fn file_that_is_no_socket_is_left_alone() {
    let (_dir, path) = scratch();
    std::fs::create_dir_all(path.parent().expect("parent")).expect("made");
    std::fs::write(&path, "precious").expect("written");
    assert!(matches!(Server::bind(&path), Err(BindError::Taken(_))));
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "precious");
}

#[test]
fn drop_leaves_the_socket_of_a_successor() {
    let (_dir, path) = scratch();
    let first = Server::bind(&path).expect("binds");
    std::fs::remove_file(&path).expect("removed");
    let _second = Server::bind(&path).expect("binds");
    drop(first);
    assert!(path.exists());
}

#[test]
fn nobody_answers_where_nothing_listens() {
    let (_dir, path) = scratch();
    let error = Client::connect(&path).expect_err("nobody").to_string();
    assert!(error.starts_with("no policy is running"), "{error}");
    assert!(running(&path).is_none());
}

#[test]
fn bad_requests_are_answered_with_what_was_expected() {
    with_server(|path| {
        let cases = [
            ("nonsense\n", "not a request"),
            ("{\"request\":\"get\"}\n", "missing field `version`"),
            ("{\"version\":2,\"request\":\"get\"}\n", "version 2 is not supported, expected 1"),
            ("{\"version\":1,\"request\":\"reboot\"}\n", "unknown variant `reboot`"),
            ("{\"version\":1,\"request\":\"set\",\"tunable\":[]}\n", "unknown field `tunable`"),
            ("{\"version\":1,\"request\":\"switch\"}\n", "missing field `policy`"),
            ("{\"version\":1,\"request\":\"set\",\"tunables\":[[\"a\"]]}\n", "invalid length"),
            ("{\"version\":1,\"request\":\"set\",\"shares\":[{\"pid\":-1}]}\n", "expected u32"),
            ("[1,2]\n", "not a request"),
        ];
        for (request, part) in cases {
            let answer = raw(path, request.as_bytes());
            assert!(answer.contains("\"input\"") && answer.contains(part), "{request}{answer}");
        }
    });
}

#[test]
fn line_without_end_is_cut_off() {
    with_server(|path| {
        let answer = raw(path, &vec![b'x'; MAX_LINE + (256 << 10)]);
        assert!(answer.contains("at most 1048576 bytes"), "{answer}");
        Client::connect(path).expect("connects").describe().expect("others are served");
    });
}

#[test]
fn clients_that_vanish_or_never_read_stop_nobody() {
    with_server(|path| {
        for _ in 0..100 {
            let mut stream = UnixStream::connect(path).expect("connects");
            stream.write_all(b"{\"version\":1,\"request\":\"stats\"}\n{\"ver").expect("sent");
        }
        let mut silent = UnixStream::connect(path).expect("connects");
        silent.set_nonblocking(true).expect("set");
        // Asks and asks, and reads nothing, until the server takes no more.
        let request = b"{\"version\":1,\"request\":\"get\"}\n";
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            let _ = silent.write(request);
        }
        let mut client = Client::connect(path).expect("connects");
        client.describe().expect("is served");
    });
}

#[test]
fn half_a_request_waits_for_its_other_half() {
    with_server(|path| {
        let mut stream = UnixStream::connect(path).expect("connects");
        stream.write_all(b"{\"version\":1,").expect("sent");
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(b"\"request\":\"get\"}\n\n").expect("sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"{\"version\":1");
    });
}

#[test]
fn newcomer_gets_the_place_of_the_most_silent() {
    with_server(|path| {
        let mut clients: Vec<Client> = (0..20)
            .map(|_| {
                let mut client = Client::connect(path).expect("connects");
                client.describe().expect("is served");
                client
            })
            .collect();
        assert!(clients[0].describe().is_err(), "the first ones were let go");
        clients[19].describe().expect("the last one stays");
    });
}

fn request() -> impl Strategy<Value = Request> {
    let share = (any::<u32>(), any::<Option<u64>>()).prop_map(|(pid, share)| Share { pid, share });
    let changes = (
        proptest::collection::vec(("\\PC{0,12}", "\\PC{0,12}"), 0..4),
        proptest::collection::vec(share, 0..4),
    );
    let tunables = proptest::collection::vec(("\\PC{0,12}", "\\PC{0,12}"), 0..4);
    let switch = ("\\PC{0,12}", any::<Option<String>>(), tunables);
    prop_oneof![
        Just(Request::Get),
        Just(Request::Stats),
        switch.prop_map(|(policy, manifest, tunables)| {
            Request::Switch(Switch { policy, manifest, tunables })
        }),
        changes.prop_map(|(tunables, shares)| Request::Set(Changes { tunables, shares })),
    ]
}

proptest! {
    #[test]
    fn requests_survive_the_wire(request in request()) {
        let bytes = line(&request);
        prop_assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 1, "one line");
        prop_assert_eq!(parse(&bytes), Ok(request));
    }

    #[test]
    fn any_bytes_are_understood_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(request) = parse(&bytes) {
            prop_assert_eq!(parse(&line(&request)), Ok(request));
        }
    }

    #[test]
    fn damaged_requests_are_understood_or_refused(
        request in request(),
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = line(&request);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(request) = parse(&bytes) {
            prop_assert_eq!(parse(&line(&request)), Ok(request));
        }
    }
}
