// SPDX-License-Identifier: MIT OR Apache-2.0
//! A player: has each picture of a clip decoded when it is due, 25 times a second, and drops it if
//! the decoder is behind.

use super::frames::{self, Frame};
use super::{clip, number, video};
use crate::clock::{now_ns, sleep_until};
use crate::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// 25 frames per second.
pub(super) const PERIOD_NS: u64 = 40_000_000;
/// A frame is dropped while so many are on their way.
const AHEAD: usize = 3;
/// How long the decoder may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays for some time, and prints a line for each frame.
pub(super) fn child(words: &[String]) -> Result<(), Error> {
    let [socket, path, nanoseconds] = words else {
        return Err(Error::Input("expected a socket, a clip and a time".into()));
    };
    let time_ns: u64 = number(Some(nanoseconds), "time")?;
    let file = std::fs::read(path).map_err(|e| Error::system("read the clip", e))?;
    let pictures = clip::split(&file);
    if pictures.is_empty() {
        return Err(Error::Failure(format!("{path} has no pictures")));
    }
    let mut decoder = connect(Path::new(socket))?;
    let back = Arc::new(Back::default());
    let (input, seen) = (decoder.try_clone().map_err(talk)?, Arc::clone(&back));
    std::thread::spawn(move || receive(input, &seen));

    // It begins with the first frame that comes back.
    let mut sent = 0;
    let began = Instant::now();
    while back.count() == 0 {
        if began.elapsed() > PATIENCE {
            return Err(Error::Failure("the decoder does not start".into()));
        }
        if sent < AHEAD {
            decoder.write_all(&video::part(pictures[sent % pictures.len()])).map_err(talk)?;
            sent += 1;
        }
        std::thread::sleep(Duration::from_nanos(PERIOD_NS));
    }
    let before = sent;
    let began_ns = now_ns() + PERIOD_NS;
    let mut frames = Vec::new();
    for due_ns in (0..time_ns).step_by(PERIOD_NS as usize) {
        sleep_until(began_ns + due_ns)?;
        // One that could be sent only when the next is due is dropped, too.
        let is_over = now_ns() >= began_ns + due_ns + PERIOD_NS;
        let was_sent = !is_over && sent - back.count() < AHEAD;
        if was_sent {
            decoder.write_all(&video::part(pictures[sent % pictures.len()])).map_err(talk)?;
            sent += 1;
        }
        frames.push(Frame { due_ns, shown_ns: None, was_sent });
    }
    sleep_until(began_ns + time_ns)?;
    let times = back.times();
    // They come back in the order in which they were sent.
    let own = times.iter().skip(before).map(|at| at.saturating_sub(began_ns));
    for (frame, at) in frames.iter_mut().filter(|frame| frame.was_sent).zip(own) {
        frame.shown_ns = Some(at);
    }
    let text = frames::write(&frames);
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| Error::system("print the times", e))
}

fn talk(error: std::io::Error) -> Error {
    Error::system("write to the decoder", error)
}

fn connect(socket: &Path) -> Result<UnixStream, Error> {
    UnixStream::connect(socket).map_err(talk)
}

/// Frames that came back.
#[derive(Debug, Default)]
struct Back {
    count: AtomicUsize,
    times: Mutex<Vec<u64>>,
}

impl Back {
    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn times(&self) -> Vec<u64> {
        self.times.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

fn receive(mut decoder: UnixStream, back: &Back) {
    let mut frame = vec![0; video::FRAME_BYTES];
    // When the decoder ends, so does the player.
    while decoder.read_exact(&mut frame).is_ok() {
        back.times.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(now_ns());
        back.count.fetch_add(1, Ordering::Release);
    }
}
