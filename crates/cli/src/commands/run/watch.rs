// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes on while a policy runs: the control socket is served, statistics are printed,
//! and the end is noticed.

use super::args::RunArgs;
use super::choice::Choice;
use super::start;
use super::status::Printer;
use crate::error::Error;
use crate::object::Found;
use crate::output::messages;
use crate::stop::{Stop, LOOK};
use rota_kernel::control::{Operator, Refusal, Server, Switch};
use rota_kernel::{Attached, Loaded};
use rota_object::btf::Btf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A policy that is loaded, to take the place of the one that schedules.
pub(crate) type Next = (Choice, Loaded);

/// Looks after a policy, over all its restarts, and those that take its place.
pub(crate) struct Watch<'a> {
    args: &'a RunArgs,
    kernel: Arc<Btf>,
    server: Option<Server>,
    operator: Operator,
    printer: Option<Printer>,
    /// The time that the user gave the run.
    time: Option<Duration>,
    /// When the policy was attached for the first time.
    since: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// Prepares all that does not need the policy. Without a control socket the policy
    /// runs all the same.
    pub(crate) fn new(args: &'a RunArgs, found: &Found, kernel: Arc<Btf>) -> Self {
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
        Self { args, kernel, server: server.ok(), operator, printer, time, since: None }
    }

    /// Returns when the policy is gone or shall go; with the one that takes its place, if one was
    /// asked for. What it was set to meanwhile is kept.
    pub(crate) fn until_end(
        &mut self,
        attached: &Attached,
        choice: &mut Choice,
        stop: &Stop,
    ) -> Result<Option<Next>, Error> {
        let mut next = None;
        let since = *self.since.get_or_insert_with(Instant::now);
        let over = |time: Duration| since.elapsed() >= time;
        while !stop.wanted()
            && next.is_none()
            && attached.exit().is_none()
            && !self.time.is_some_and(over)
        {
            if let Some(server) = &mut self.server {
                let mut loader = |to: &Switch| {
                    let (choice, loaded) = load(self.args, to, &self.kernel)?;
                    let name = choice.found.name.clone();
                    next = Some((choice, loaded));
                    Ok(name)
                };
                server.poll(&mut self.operator.on(attached, &mut loader));
            }
            if let Some(printer) = self.printer.as_mut().filter(|p| p.is_due()) {
                printer.print(self.operator.sample(attached))?;
            }
            std::thread::sleep(LOOK);
        }
        choice.keep(&self.operator.describe(attached), attached);
        Ok(next)
    }

    /// Looks after this policy from now on.
    pub(crate) fn follow(&mut self, found: &Found) {
        self.operator.follow(&found.name, &found.source);
    }

    /// Tells whoever asks why another policy could not take over.
    pub(crate) fn stays(&mut self, because: &str) {
        self.operator.stays(because.to_owned());
    }
}

/// Loads a policy that a client asks for while another one schedules.
fn load(args: &RunArgs, to: &Switch, kernel: &Arc<Btf>) -> Result<Next, Refusal> {
    let loaded = Choice::switched(args, to).and_then(|choice| {
        let loaded = start::load(args, &choice, kernel)?;
        Ok((choice, loaded))
    });
    loaded.map_err(|error| match error {
        Error::Input(message) => Refusal::input(message),
        error => Refusal::failure(error),
    })
}
