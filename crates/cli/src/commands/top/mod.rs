// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota top`: what the scheduler of this machine does, on the terminal; or a trace, played.

mod args;
mod around;
mod control;
mod counted;
mod events;
mod live;
mod play;
mod recordings;
mod schedulers;
mod screen;
mod shared;

pub(crate) use args::TopArgs;

use crate::error::{Error, Status};
use crate::output::messages;
use crate::stop::Stop;
use live::Ended;
use rota_top::{App, Source};
use shared::Shared;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The size of a screen that is printed, where there is no terminal.
const SIZE: (u16, u16) = (80, 24);
/// Wait so long before a screen of this machine is printed.
const AFTER_NS: u64 = 5_000_000_000;

pub(crate) fn run(args: &TopArgs) -> Result<Status, Error> {
    if args.once {
        return once(args);
    }
    let terminals = [std::io::stdin().is_terminal(), std::io::stdout().is_terminal()];
    if terminals != [true, true] {
        return Err(Error::input(
            "standard input and output: expected a terminal; --once prints one screen as text",
        ));
    }
    let stop = Stop::listen()?;
    let shared = Arc::new(Shared::default());
    let feeder = match &args.trace {
        Some(trace) => playing(trace, args.speed, &shared)?,
        None => following(args, &shared)?,
    };
    let mut app = App::new(source(args));
    let policy =
        app.source.live.then(|| control::follow(args.control.clone(), Arc::clone(&shared)));
    // What is played stays on the screen when it has ended; this machine does not end.
    let over = || feeder.is_finished() && !shared.latest().ended;
    let shown = screen::show(&mut app, &shared, policy.as_ref(), &stop, over);
    shared.stop();
    let fed = feeder.join();
    shown?;
    // A panic has said what it is.
    if let Some(ended) = fed.map_err(|_| ended_by_itself())?? {
        ended.warn(&args.target());
    }
    if let Some(said) = shared.latest().said.take() {
        messages::line(&said);
    }
    Ok(Status::Done)
}

/// Where the events come from.
fn source(args: &TopArgs) -> Source {
    match &args.trace {
        Some(path) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            Source { name: name.to_string_lossy().into_owned(), live: false }
        }
        None => {
            let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
            Source { name: format!("Linux {kernel}"), live: true }
        }
    }
}

/// What takes events or counts in the background, and says how that of this machine ended.
type Feeder = JoinHandle<Fed>;
type Fed = Result<Option<Ended>, Error>;

fn ended_by_itself() -> Error {
    Error::Failure("the thread that takes events and counts ended by itself".into())
}

/// A thread that plays a trace. An error before its first event is one of this function.
fn playing(path: &Path, speed: f64, shared: &Arc<Shared>) -> Result<Feeder, Error> {
    let path = path.to_owned();
    started(shared, move |begun, shared| {
        let trace = play::opened(&path)?;
        let _ = begun.send(());
        play::play(trace, speed, shared)?;
        Ok(None)
    })
}

/// A thread that watches this machine.
fn following(args: &TopArgs, shared: &Arc<Shared>) -> Result<Feeder, Error> {
    let target = args.target();
    started(shared, move |begun, shared| {
        let (live, note) = live::begin(&target)?;
        let _ = begun.send(());
        if let Some(note) = note {
            shared.say(note);
        }
        live::follow(live, &target, None, shared).map(Some)
    })
}

/// Starts a thread, and waits until it says that it began, or ends with an error.
fn started(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Sender<()>, &Arc<Shared>) -> Fed + Send + 'static,
) -> Result<Feeder, Error> {
    let (begun, wait) = channel();
    let shared = Arc::clone(shared);
    let thread = std::thread::spawn(move || work(&begun, &shared));
    if wait.recv().is_err() {
        // Nobody can say it any more: it ended.
        return match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(ended_by_itself()),
        };
    }
    Ok(thread)
}

/// Prints one screen.
fn once(args: &TopArgs) -> Result<Status, Error> {
    let shared = Arc::new(Shared::default());
    let snapshot = match &args.trace {
        Some(path) => play::until(play::opened(path)?, args.after)?.snapshot(),
        None => {
            let target = args.target();
            let (live, note) = live::begin(&target)?;
            note.iter().for_each(|note| messages::warning(note));
            let until_ns = Some(args.after.unwrap_or(AFTER_NS));
            let ended = live::follow(live, &target, until_ns, &shared)?;
            ended.warn(&target);
            ended.snapshot
        }
    };
    let mut app = App::new(source(args));
    screen::take(&mut app, &shared);
    app.ended = args.trace.is_some() && args.after.is_none();
    app.snapshot = Arc::new(snapshot);
    let (width, height) = match std::io::stdout().is_terminal() {
        true => ratatui::crossterm::terminal::size().unwrap_or(SIZE),
        false => SIZE,
    };
    // A terminal that holds no screen holds the text all the same.
    let (width, height) = (width.max(rota_top::LEAST.0), height.max(rota_top::LEAST.1));
    let mut out = crate::output::stdout();
    let text = rota_top::text(&app, width, height - 1);
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Status::Done)
}
