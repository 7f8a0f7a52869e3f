// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients of a web server, each of which thinks, asks, and waits for the answer.

use super::server::{said, stay_on, Server, CPU};
use anyhow::{ensure, Context, Result};
use rota_guest::visits::{Answer, Visit, Visited, Visits};
use rota_play::{monotonic_ns, sleep_until};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

pub(super) const ADDRESS: &str = "127.0.0.1:8080";
/// Not the server's.
pub(crate) const CLIENTS_CPU: usize = 0;
/// From the server's start to the clients': its processes are there by then.
const SETTLES: Duration = Duration::from_millis(500);
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
const STACK_BYTES: usize = 128 << 10;

/// Does the visits of a file, and prints what came of them.
pub(crate) fn visit(path: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| path.to_owned())?;
    let visits: Visits = serde_json::from_str(&text).with_context(|| path.to_owned())?;
    stay_on(CLIENTS_CPU)?;
    let server = Server::start()?;
    thread::sleep(SETTLES);
    let before = Usage::now()?;
    let origin_ns = monotonic_ns();
    let clients = all(&visits, origin_ns).with_context(said)?;
    let busy = Usage::now()?.busy_since(&before);
    server.stop()?;
    println!("{}", serde_json::to_string(&Visited { busy, clients })?);
    Ok(())
}

fn all(visits: &Visits, origin_ns: u64) -> Result<Vec<Vec<Answer>>> {
    let until_us = visits.until_us;
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for own in &visits.clients {
            let live = move || one(own, origin_ns, until_us);
            let client = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, live);
            clients.push(client.context("cannot start a client")?);
        }
        clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect()
    })
}

fn one(visits: &[Visit], origin_ns: u64, until_us: u64) -> Result<Vec<Answer>> {
    let now_us = || (monotonic_ns() - origin_ns) / 1000;
    let (mut answers, mut last_us) = (Vec::new(), 0);
    for visit in visits {
        let asks_us = last_us + visit.think_us;
        if asks_us >= until_us {
            break;
        }
        sleep_until(origin_ns + asks_us * 1000);
        let asked_us = now_us();
        ask(&visit.path, &visit.begins).with_context(|| visit.path.clone())?;
        last_us = now_us();
        answers.push(Answer { asked_us, took_us: last_us - asked_us });
    }
    Ok(answers)
}

fn ask(path: &str, begins: &str) -> Result<()> {
    let mut connection = TcpStream::connect(ADDRESS).context("cannot connect")?;
    connection.set_read_timeout(Some(ANSWERS_WITHIN))?;
    // At once: a second packet would wait until the first one's receipt is acknowledged, 40 ms.
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    connection.write_all(request.as_bytes()).context("cannot ask")?;
    // Not until the server closes the connection: it waits 47 ms for a CGI program that it sees
    // between the end of its output and its own (APR's TIMEOUT_INTERVAL).
    let (mut answer, mut buffer) = (Vec::new(), [0; 4 << 10]);
    while !is_whole(&answer) {
        let read = connection.read(&mut buffer).context("there is no answer")?;
        if read == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..read]);
    }
    check(&answer, begins)
}

/// As long as its head says, or a line: Apache drops the length of a CGI program's answer.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok());
    length.map_or(answer[body..].ends_with(b"\n"), |length| answer.len() - body >= length)
}

fn check(answer: &[u8], begins: &str) -> Result<()> {
    ensure!(is_whole(answer), "the answer is cut off:\n{}", String::from_utf8_lossy(answer));
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let code = head.split_whitespace().nth(1);
    ensure!(code == Some("200"), "the answer is:\n{head}");
    ensure!(body.starts_with(begins), "the answer is not '{begins}' but:\n{body}");
    Ok(())
}

/// What the server's CPU has done, as the kernel counts it.
struct Usage {
    idle: u64,
    all: u64,
}

impl Usage {
    fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        Self::parse(&text, CPU).context("/proc/stat has no line of the server's CPU")
    }

    /// User, nice, system, idle, waiting for input or output, and more.
    fn parse(text: &str, cpu: usize) -> Option<Self> {
        let name = format!("cpu{cpu} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name))?;
        let times: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        Some(Self { idle: times.get(3)? + times.get(4)?, all: times.iter().sum() })
    }

    fn busy_since(&self, before: &Self) -> f64 {
        let all = (self.all - before.all).max(1);
        1.0 - (self.idle - before.idle) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_was_asked_for_is_an_answer() {
        let answer = |code: &str, length: usize, body: &str| {
            let text = format!("HTTP/1.1 {code}\r\nContent-Length: {length}\r\n\r\n{body}");
            check(text.as_bytes(), "9 bytes").map_err(|e| e.to_string())
        };
        assert_eq!(answer("200 OK", 10, "9 bytes, 1"), Ok(()));
        for (code, length, body, part) in [
            ("500 Wrong", 7, "9 bytes", "500 Wrong"),
            ("200 OK", 8, "10 bytes", "is not '9 bytes' but:\n10 bytes"),
            ("200 OK", 11, "9 bytes, 1", "cut off"),
        ] {
            let error = answer(code, length, body).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(check(b"HTTP/1.1 200 OK\r\n\r\n9\n", "9").is_ok());
        assert!(check(b"", "").is_err() && check(b"HTTP/1.1 200 OK\r\n\r\n", "").is_err());
    }

    #[test]
    fn a_cpu_is_busy_when_it_neither_idles_nor_waits_for_input() {
        let text = "cpu  9 9 9 9 9\ncpu0 1 0 1 98 0 0 0\ncpu1 10 0 20 60 10 0 0 0 0 0\n";
        let before = Usage::parse(text, 1).unwrap();
        assert_eq!((before.idle, before.all), (70, 100));
        let after = Usage { idle: 120, all: 300 };
        assert_eq!(after.busy_since(&before), 0.75);
        assert!(Usage::parse(text, 2).is_none());
    }

    proptest! {
        #[test]
        fn whatever_is_answered_is_judged(answer in proptest::collection::vec(any::<u8>(), 0..99)) {
            let good = check(&answer, "x").is_ok();
            prop_assert!(!good || answer.contains(&b'x'));
        }
    }
}
