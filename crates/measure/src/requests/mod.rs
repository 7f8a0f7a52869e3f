// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: how long their customers waited, gathered while the run happens.
//!
//! Memory is per class of requests and per open request, not per request.

use crate::curve::Curve;
use rota_trace::{Event, EventKind, Request, Sink};
use rustc_hash::FxHashMap;

mod account;
mod numbers;

use account::Account;
pub use numbers::{RequestNumbers, RequestsNumbers};

/// Reads the event stream of a run and gives its [`RequestsNumbers`] at the end.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    classes: Vec<Class>,
    by_number: FxHashMap<u32, usize>,
    open: FxHashMap<u64, Open>,
    warmup_ns: u64,
}

#[derive(Clone, Debug)]
struct Class {
    name: String,
    socket: String,
    account: Account,
}

/// A request that has arrived and was not answered yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    class: usize,
    since_ns: u64,
    demand_ns: u64,
    think_ns: Option<u64>,
    served: bool,
}

impl Requests {
    /// Leaves out requests that arrive before this time.
    #[must_use]
    pub fn with_warmup(mut self, warmup_ns: u64) -> Self {
        self.warmup_ns = warmup_ns;
        self
    }

    /// The numbers of the run, which ended at `end_ns`.
    pub fn finish(self, end_ns: u64) -> RequestsNumbers {
        self.finish_all(end_ns).0
    }

    /// The numbers of the run, which ended at `end_ns`, and the curve of all response times, if
    /// there are sockets.
    pub fn finish_all(mut self, end_ns: u64) -> (RequestsNumbers, Option<Curve>) {
        for open in std::mem::take(&mut self.open).into_values() {
            let account = &mut self.classes[open.class].account;
            let so_far_ns = end_ns.saturating_sub(open.since_ns);
            if !open.served {
                account.queue(so_far_ns, true);
            }
            account.respond(so_far_ns, open.demand_ns, true);
        }
        let mut sockets: Vec<Class> = Vec::new();
        for class in &self.classes {
            let known = sockets.iter().position(|s| s.socket == class.socket);
            let at = known.unwrap_or(sockets.len());
            if at == sockets.len() {
                let (name, socket) = (String::new(), class.socket.clone());
                sockets.push(Class { name, socket, account: Account::default() });
            }
            sockets[at].account.merge(&class.account);
        }
        let length_ns = end_ns.saturating_sub(self.warmup_ns);
        let numbers = |class: Class| class.account.numbers(class.name, class.socket, length_ns);
        let mut all = Account::default();
        sockets.iter().for_each(|socket| all.merge(&socket.account));
        let curve = (!sockets.is_empty()).then(|| all.response_curve());
        let numbers = RequestsNumbers {
            classes: self.classes.into_iter().map(numbers).collect(),
            sockets: sockets.into_iter().map(numbers).collect(),
        };
        (numbers, curve)
    }

    fn take(&mut self, request: &Request, now_ns: u64) {
        let arrives = matches!(request, Request::Begin { .. } | Request::Drop { .. });
        if arrives && now_ns < self.warmup_ns {
            return;
        }
        match *request {
            Request::Class { class, ref name, ref socket } => {
                self.by_number.insert(class, self.classes.len());
                let (name, socket) = (name.clone(), socket.clone());
                self.classes.push(Class { name, socket, account: Account::default() });
            }
            Request::Begin { request, class, demand_ns, think_ns, .. } => {
                let Some(&class) = self.by_number.get(&class) else {
                    return;
                };
                self.classes[class].account.arrived += 1;
                let open = Open { class, since_ns: now_ns, demand_ns, think_ns, served: false };
                self.open.insert(request, open);
            }
            Request::Drop { class } => {
                if let Some(&class) = self.by_number.get(&class) {
                    let account = &mut self.classes[class].account;
                    account.arrived += 1;
                    account.dropped += 1;
                }
            }
            Request::Serve { request, .. } => {
                if let Some(open) = self.open.get_mut(&request) {
                    if !std::mem::replace(&mut open.served, true) {
                        let waited_ns = now_ns.saturating_sub(open.since_ns);
                        self.classes[open.class].account.queue(waited_ns, false);
                    }
                }
            }
            Request::End { request, .. } => {
                if let Some(open) = self.open.remove(&request) {
                    let account = &mut self.classes[open.class].account;
                    let response_ns = now_ns.saturating_sub(open.since_ns);
                    account.respond(response_ns, open.demand_ns, false);
                    if let Some(think_ns) = open.think_ns {
                        account.cycle(think_ns.saturating_add(response_ns));
                    }
                }
            }
        }
    }
}

impl Sink for Requests {
    fn event(&mut self, event: &Event) {
        if let EventKind::Request(request) = &event.kind {
            self.take(request, event.time_ns);
        }
    }
}

#[cfg(test)]
mod tests;
