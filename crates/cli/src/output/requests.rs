// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests of a run: a row for each class, and for each socket that several send to.

use super::table;
use super::units::{time, time_or_dash};
use rota_measure::{RequestNumbers, RequestsNumbers};
use std::io::{self, Write};

const HEADER: [&str; 13] = [
    "requests",
    "socket",
    "arrived",
    "dropped",
    "open",
    "answered/s",
    "response mean",
    "p50",
    "p95",
    "p99",
    "max",
    "slowdown p50",
    "p99",
];

/// Prints the table and an empty line after it; nothing for a run without requests.
pub(crate) fn print(out: &mut dyn Write, requests: &RequestsNumbers) -> io::Result<()> {
    let lines = lines(requests);
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if lines.is_empty() {
        Ok(())
    } else {
        writeln!(out)
    }
}

/// Says that requests were unanswered.
pub(crate) fn open_note(requests: &RequestsNumbers) -> Option<String> {
    let open: u64 = requests.classes.iter().map(|c| c.open).sum();
    let those = if open == 1 { "request was" } else { "requests were" };
    (open > 0).then(|| format!("{open} {those} unanswered at the end, counted up to there"))
}

fn lines(requests: &RequestsNumbers) -> Vec<String> {
    let shared = requests.sockets.iter().filter(|socket| {
        requests.classes.iter().filter(|class| class.socket == socket.socket).count() > 1
    });
    let rows: Vec<_> = requests.classes.iter().chain(shared).map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    table::lines(&HEADER, 2, rows)
}

fn row(r: &RequestNumbers) -> Vec<String> {
    let response = &r.response_ns;
    let mean = response.mean.map(|ns| ns.round() as u64);
    let mut row = vec![r.name.clone().unwrap_or_else(|| "(all)".into()), r.socket.clone()];
    row.extend([r.arrived, r.dropped, r.open].map(|count| count.to_string()));
    row.push(r.answered_per_s.map_or("-".into(), |rate| format!("{rate:.1}")));
    row.push(mean.map_or("-".into(), time));
    row.extend([response.p50, response.p95, response.p99, response.max].map(time_or_dash));
    row.extend(
        [r.slowdown.p50, r.slowdown.p99].map(|s| s.map_or("-".into(), |s| format!("{s:.2}"))),
    );
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_measure::{LatencyNumbers, SlowdownNumbers};

    fn report(name: Option<&str>, socket: &str, open: u64) -> RequestNumbers {
        RequestNumbers {
            name: name.map(str::to_owned),
            socket: socket.into(),
            arrived: 7,
            open,
            response_ns: LatencyNumbers { p50: Some(2_500_000), ..LatencyNumbers::default() },
            slowdown: SlowdownNumbers { p99: Some(1.234), ..SlowdownNumbers::default() },
            ..RequestNumbers::default()
        }
    }

    #[test]
    fn a_socket_has_a_row_if_several_send_to_it() {
        let requests = RequestsNumbers {
            classes: vec![
                report(Some("a"), "http", 1),
                report(Some("b"), "http", 0),
                report(Some("web"), "db", 2),
            ],
            sockets: vec![report(None, "http", 1), report(None, "db", 2)],
        };
        let lines = lines(&requests);
        let names = |line: &String| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let rows: Vec<_> = lines[1..].iter().map(names).collect();
        assert_eq!(rows, ["a http", "b http", "web db", "(all) http"]);
        assert!(lines[1].contains("2.50ms") && lines[1].ends_with("1.23"), "{}", lines[1]);
        let note = "3 requests were unanswered at the end, counted up to there";
        assert_eq!(open_note(&requests).as_deref(), Some(note));
    }

    #[test]
    fn a_run_without_requests_says_nothing() {
        let mut out = Vec::new();
        print(&mut out, &RequestsNumbers::default()).unwrap();
        assert!(out.is_empty());
        assert_eq!(open_note(&RequestsNumbers::default()), None);
    }
}
