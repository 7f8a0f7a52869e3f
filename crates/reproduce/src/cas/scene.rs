// SPDX-License-Identifier: MIT OR Apache-2.0
//! The paper's scenario [CAS §3.1]: one CPU, N - 1 tasks that compute, a server that sleeps until
//! a customer's request comes, and perhaps a service that it asks and waits for.

use super::Parts;
use crate::error::Error;
use crate::figure::Measured;
use crate::rig::{linked, Length, Rig};
use crate::runs::{Run, Runs};
use rota_trace::{Event, EventKind, Request, Sink};
use std::fmt::Write as _;
use std::sync::Arc;

/// The others begin then. The server, and its service, were asked once before: a policy can know
/// who serves only from then on.
pub(super) const OTHERS_BEGIN_US: u64 = 2_000_000;
const FIRST_REQUEST_US: u64 = 1_000;

/// A scheduler, with its settings.
pub(super) struct Scheduler<'a> {
    pub(super) policy: &'a str,
    pub(super) set: &'a [(&'a str, &'a str)],
}

pub(super) struct Scene<'a> {
    pub(super) n: u32,
    /// CPU times in microseconds.
    pub(super) parts: Parts<u64>,
    /// When requests come, in microseconds after the others begin. Each is answered before the
    /// next.
    pub(super) arrivals_us: &'a [u64],
    pub(super) socket: Socket,
}

/// Where the server's customers ask.
#[derive(Clone, Copy, Debug)]
pub(super) enum Socket {
    Unix,
    Network,
}

/// Unhappiness over several requests, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unhappiness {
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Unhappiness {
    /// Each request is judged, not only their mean.
    pub(super) fn measured(&self) -> Measured {
        Measured { range: Some((self.least, self.most)), ..self.mean.into() }
    }
}

impl Scene<'_> {
    /// What the customer of each request has to wait beyond the CPU time of those who serve it.
    pub(super) fn run(&self, of: &Scheduler<'_>) -> Result<Unhappiness, Error> {
        let mut sink = Waits::default();
        self.simulate(of, &mut sink)?;
        let waits = sink.waits_ns.get(1..).unwrap_or_default();
        if waits.len() != self.arrivals_us.len() {
            let (answered, sent) = (waits.len(), self.arrivals_us.len());
            let policy = of.policy;
            return Err(Error::Failure(format!("{policy}: only {answered} of {sent} answered")));
        }
        let ms = waits.iter().map(|ns| *ns as f64 / 1e6);
        Ok(Unhappiness {
            mean: ms.clone().sum::<f64>() / waits.len() as f64,
            least: ms.clone().fold(f64::INFINITY, f64::min),
            most: ms.fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Times on the CPU from the first of these requests on, counted from there; client 0 is P_j.
    pub(super) fn turns(&self, of: &Scheduler<'_>) -> Result<Vec<Run>, Error> {
        let mut sink = Runs::default();
        let end_ns = self.simulate(of, &mut sink)?;
        let first_us = OTHERS_BEGIN_US + self.arrivals_us.first().copied().unwrap_or_default();
        let since = |ns: u64| ns.checked_sub(first_us * 1_000);
        let runs = sink.finish(end_ns).into_iter();
        let turns = runs.filter_map(|run| {
            let (from_ns, to_ns) = (since(run.from_ns)?, since(run.to_ns)?);
            Some(Run { from_ns, to_ns, ..run })
        });
        Ok(turns.collect())
    }

    /// Until when.
    fn simulate(&self, of: &Scheduler<'_>, sink: &mut dyn Sink) -> Result<u64, Error> {
        let workload = Arc::new(rota_workload::parse("scene", &self.text())?);
        let last_us = self.arrivals_us.last().copied().unwrap_or_default();
        let needed_us: u64 = self.parts.as_slice().iter().sum();
        // Served at N times its own pace, and a second more.
        let end_us = OTHERS_BEGIN_US + last_us + (u64::from(self.n) + 1) * needed_us + 1_000_000;
        let end_ns = end_us * 1_000;
        Rig::new(&linked(of.policy, of.set)?).run(&workload, Length::of(end_ns), sink)?;
        Ok(end_ns)
    }

    fn text(&self) -> String {
        let mut at = FIRST_REQUEST_US.to_string();
        for arrival in self.arrivals_us {
            let _ = write!(at, ", {}", OTHERS_BEGIN_US + arrival);
        }
        let (server, service) = match self.parts {
            Parts::Alone(us) => (format!("\"run\": {us}"), String::new()),
            Parts::WithService([before, us, after]) => (
                format!(
                    "\"run1\": {before}, \"send\": {{\"to\": \"service\", \"wait\": true}}, \
                     \"run2\": {after}"
                ),
                format!(
                    ", \"p_s\": {{\"recv\": \"service\", \"run\": {us}, \"reply\": \"service\"}}"
                ),
            ),
        };
        format!(
            "{{\"sockets\": {{\"server\": \"{}\", \"service\": \"unix\"}}, \"customers\": \
             {{\"customer\": {{\"to\": \"server\", \"at\": [{at}]}}}}, \"tasks\": {{\"p_j\": \
             {{\"recv\": \"server\", {server}, \"reply\": \"server\"}}{service}, \"other\": \
             {{\"instance\": {}, \"delay\": {OTHERS_BEGIN_US}, \"run\": 3600000000}}}}}}",
            match self.socket {
                Socket::Unix => "unix",
                Socket::Network => "tcp",
            },
            self.n - 1
        )
    }
}

/// Follows requests of customers, one at a time.
#[derive(Default)]
struct Waits {
    serving: Vec<u32>,
    running_since_ns: Option<u64>,
    served_ns: u64,
    /// The open request, when it came, and what its servers had had before.
    open: Option<(u64, u64, u64)>,
    waits_ns: Vec<u64>,
}

impl Waits {
    fn served_ns(&self, now_ns: u64) -> u64 {
        self.served_ns + self.running_since_ns.map_or(0, |since| now_ns - since)
    }
}

impl Sink for Waits {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        match &event.kind {
            EventKind::Task { pid, name, .. } if name.starts_with("p_") => self.serving.push(*pid),
            EventKind::SwitchIn { pid } if self.serving.contains(pid) => {
                self.running_since_ns = Some(now_ns);
            }
            EventKind::SwitchOut { .. } => {
                self.served_ns = self.served_ns(now_ns);
                self.running_since_ns = None;
            }
            EventKind::Request(Request::Begin { request, sender: 0, .. }) => {
                self.open = Some((*request, now_ns, self.served_ns(now_ns)));
            }
            EventKind::Request(Request::End { request, .. }) => {
                if let Some((_, came_ns, had_ns)) = self.open.take_if(|(open, ..)| open == request)
                {
                    let served_ns = self.served_ns(now_ns) - had_ns;
                    self.waits_ns.push(now_ns - came_ns - served_ns);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIFO: Scheduler<'_> = Scheduler { policy: "rr", set: &[("quantum_ns", "10000000")] };

    #[test]
    fn unhappiness_is_what_the_customer_waits_beyond_cpu_time() {
        // One other with quanta of 10 ms; the request comes 3 ms after one began, and needs 2 ms.
        let scene = Scene {
            n: 2,
            parts: Parts::Alone(2_000),
            arrivals_us: &[103_000],
            socket: Socket::Unix,
        };
        let found = scene.run(&FIFO).expect("runs");
        assert_eq!((found.least, found.mean, found.most), (7.0, 7.0, 7.0));
    }

    #[test]
    fn time_of_the_service_on_the_cpu_is_no_waiting() {
        // 7 ms before the first part, then 10 ms before each of the others: 27 ms.
        let scene = Scene {
            n: 2,
            parts: Parts::WithService([2_000; 3]),
            arrivals_us: &[103_000],
            socket: Socket::Unix,
        };
        assert_eq!(scene.run(&FIFO).expect("runs").mean, 27.0);
    }
}
