// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unhappiness model [CAS §2.2, eq. 1 to 5], as `appease` keeps it: read from its memory while it
//! runs, and from what it picks.

use super::watched::Watched;
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::rig::{linked, Length, Rig};
use crate::Job;
use rota_trace::{Event, EventKind, Request, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// Of the paper's 0 <= alpha < 0.5.
const ALPHAS: [f64; 3] = [0.0, 0.2, 0.4];

/// P_j is asked at 49 ms while `other` serves a customer since 48 ms, in quanta of 4 ms. It waits
/// until 52 ms, asks P_s at 53 and blocks; P_s has a quantum until 57, waits for other's second one
/// until 61, and answers at 63; P_j ends at 64 ms. `other` waited from 52 to 57.
const SERVICE: &str = r#"{
    "sockets": {"http": "tcp", "db": "unix", "o": "tcp"},
    "customers": {"r": {"to": "http", "at": [[1000, 100], 49000], "demand": 1000},
                  "q": {"to": "o", "at": [[500, 100], 48000], "demand": 8000}},
    "tasks": {"p_j": {"recv": "http", "run1": {"request": 1},
                      "send": {"to": "db", "demand": 6000, "wait": true},
                      "run2": {"request": 1}, "reply": "http"},
              "p_s": {"recv": "db", "run": {"request": 1}, "reply": "db"},
              "other": {"recv": "o", "run": {"request": 1}, "reply": "o"}}}"#;
const SERVICE_MS: u64 = 80;
/// Until then there are the small requests by which servers become known.
const KNOWN_MS: u64 = 47;

/// Requests of 8 ms at 10 ms (first), and of 1 ms at 11 ms (near) and 12 ms (far). When the first
/// quantum ends, at 14 ms, near has waited 3 ms and far 2.
const CUSTOMERS: &str = r#"{
    "sockets": {"first": "unix", "near": "unix", "far": "tcp"},
    "customers": {"a": {"to": "first", "at": [[1000, 10], 10000], "demand": 8000},
                  "b": {"to": "near", "at": [[2000, 10], 11000], "demand": 1000},
                  "c": {"to": "far", "at": [[3000, 10], 12000], "demand": 1000}},
    "tasks": {"s_a": {"recv": "first", "run": {"request": 1}, "reply": "first"},
              "s_b": {"recv": "near", "run": {"request": 1}, "reply": "near"},
              "s_c": {"recv": "far", "run": {"request": 1}, "reply": "far"}}}"#;
const CUSTOMERS_MS: u64 = 40;

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(ALPHAS.len() as u64 + 1);
    let mut numbers = Vec::new();
    let all = pool::map(job.threads, &ALPHAS, |alpha| {
        let told = alpha.to_string();
        let policy = linked("appease", &[("reserve", "0"), ("alpha", &told)])?;
        let watched = Watched::run(&policy, SERVICE, SERVICE_MS * MS, KNOWN_MS * MS)?;
        job.progress.advance(1);
        Ok(watched)
    })?;
    for (alpha, watched) in ALPHAS.iter().zip(&all) {
        let ms = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e6);
        let last = watched.handed_on.last();
        numbers.push((format!("kept_{alpha}"), ms(last.map(|of| of.kept_ns))));
        numbers.push((format!("passed_{alpha}"), ms(last.map(|of| of.passed_ns))));
        numbers.push((format!("still_{alpha}"), ms(last.map(|of| of.still_ns))));
        numbers.push((format!("regained_{alpha}"), ms(last.and_then(|of| of.regained_ns))));
        numbers.push((format!("system_{alpha}"), ms(Some(watched.waited_ns))));
    }
    for weight in [1, 2] {
        let responses_ms = responses_ms(weight)?;
        for socket in ["near", "far"] {
            let found = responses_ms.get(socket).copied().unwrap_or(f64::NAN);
            numbers.push((format!("{socket}_{weight}"), found));
        }
    }
    job.progress.advance(1);
    Ok(vec![Found {
        id: "model",
        ran: "appease without its reserve, in quanta of 4 ms, and its own numbers, read as it runs. A \
              customer asks P_j at 49 ms, while another one is served, since 48 ms, for 8 ms. P_j \
              has waited 3 ms when it begins, 1 ms later asks P_s for 6 ms, and blocks; P_s waits 4 ms \
              for the other's second quantum, and the other 5 ms for P_s. For the weights: one \
              request is served since 10 ms, one comes from this machine at 11 ms, and one from \
              elsewhere at 12 ms, each of 1 ms; at 14 ms a quantum ends."
            .into(),
        numbers: plain(numbers),
        tables: Vec::new(),
        drawings: Vec::new(),
    }])
}

/// Of the last request to each socket, where customers from elsewhere have that weight.
fn responses_ms(weight: u32) -> Result<BTreeMap<String, f64>, Error> {
    let told = (100 * weight).to_string();
    let policy = linked("appease", &[("reserve", "0"), ("weight_remote", &told)])?;
    let workload = Arc::new(rota_workload::parse("customers", CUSTOMERS)?);
    let mut sink = Responses::default();
    Rig::new(&policy).run(&workload, Length::of(CUSTOMERS_MS * MS), &mut sink)?;
    Ok(sink.last_ms)
}

/// Response times by socket.
#[derive(Default)]
struct Responses {
    sockets: BTreeMap<u32, String>,
    begun: BTreeMap<u64, (u32, u64)>,
    last_ms: BTreeMap<String, f64>,
}

impl Sink for Responses {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Request(Request::Class { class, socket, .. }) => {
                self.sockets.insert(*class, socket.clone());
            }
            EventKind::Request(Request::Begin { request, class, .. }) => {
                self.begun.insert(*request, (*class, event.time_ns));
            }
            EventKind::Request(Request::End { request, .. }) => {
                let Some((class, began_ns)) = self.begun.remove(request) else { return };
                let Some(socket) = self.sockets.get(&class) else { return };
                let took_ms = (event.time_ns - began_ns) as f64 / 1e6;
                self.last_ms.insert(socket.clone(), took_ms);
            }
            _ => {}
        }
    }
}
