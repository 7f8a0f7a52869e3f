// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes on while a policy runs: the control socket is served, statistics are printed,
//! and the end is noticed.

use super::args::RunArgs;
use super::status::Printer;
use crate::error::Error;
use crate::object::Found;
use crate::output::messages;
use crate::stop::{Stop, LOOK};
use rota_kernel::control::{Controlled, Description, Operator, Server};
use rota_kernel::Attached;
use std::time::{Duration, Instant};

/// Looks after a policy, over all its restarts.
pub(crate) struct Watch {
    server: Option<Server>,
    operator: Operator,
    printer: Option<Printer>,
    /// The time that the user gave the run.
    time: Option<Duration>,
    /// When the policy was attached for the first time.
    since: Option<Instant>,
}

impl Watch {
    /// Prepares all that does not need the policy. Without a control socket the policy
    /// runs all the same.
    pub(crate) fn new(args: &RunArgs, found: &Found) -> Result<Self, Error> {
        let server = Server::bind(&args.control);
        if let Err(error) = &server {
            messages::line(&format!("note: `rota set` will not work: {error}"));
        }
        let mut operator = Operator::new(&found.name, &found.source);
        let printer = args.status.printer();
        if printer.is_some() {
            if let Err(error) = operator.always_count() {
                messages::line(&format!("note: callbacks cannot be timed: {error}"));
            }
        }
        let time = args.duration.map(Duration::from_nanos);
        Ok(Self { server: server.ok(), operator, printer, time, since: None })
    }

    /// Returns when the policy is gone or shall go, with its last settings.
    pub(crate) fn until_end(
        &mut self,
        attached: &Attached,
        stop: &Stop,
    ) -> Result<Description, Error> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let over = |time: Duration| since.elapsed() >= time;
        while !stop.wanted() && attached.exit().is_none() && !self.time.is_some_and(over) {
            if let Some(server) = &mut self.server {
                server.poll(&mut self.operator.on(attached));
            }
            if let Some(printer) = self.printer.as_mut().filter(|p| p.is_due()) {
                printer.print(self.operator.sample(attached))?;
            }
            std::thread::sleep(LOOK);
        }
        Ok(self.operator.on(attached).describe())
    }
}
