// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of users who do their best to have more of the CPU than others: servers that nobody can
//! tell from busy ones, and customers who only play that.

use super::actors::{accept, as_user, burn, connect, SHORT};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Work for one answer: less than who has never answered may do for it.
const TOIL: Duration = Duration::from_millis(40);
/// Servers behind the front.
pub const CHAIN: usize = 4;
/// Threads that take turns: each needs less than its share of a CPU.
const TURNS: usize = 14;
/// After this time without a turn they ask all the same, so that they are known to wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// Plays a part as this user.
pub fn play(name: &str, uid: u32, path: &Path, end: Instant) {
    match name {
        "toiler" => {
            let stream = accept(path);
            as_user(uid);
            toil(stream, end);
        }
        // Of who cannot bind at the stage as somebody else.
        "toiler-there" => toil(accept(path), end),
        "taskmaster" => {
            as_user(uid);
            drive(&mut [connect(path)], end);
        }
        "taskmaster-there" => drive(&mut [connect(path)], end),
        "front" => {
            let mut customer = accept(path);
            as_user(uid);
            // It never answers, so that it has a request all the time.
            let mut behind: Vec<_> = (0..CHAIN).map(|n| connect(&behind(path, n))).collect();
            customer.set_nonblocking(true).expect("settable");
            while Instant::now() < end {
                let _ = customer.read(&mut [0; 100]);
                drive(&mut behind, end.min(Instant::now() + SHORT));
            }
        }
        "turns" => {
            as_user(uid);
            let streams = (0..TURNS).map(|_| connect(path)).collect();
            take_turns(streams, end);
        }
        _ => panic!("no actor {name}"),
    }
}

/// The socket of one of the servers behind the front.
pub fn behind(path: &Path, n: usize) -> PathBuf {
    path.with_extension(n.to_string())
}

/// Works for each request, and answers.
fn toil(mut stream: UnixStream, end: Instant) {
    stream.set_read_timeout(Some(SHORT)).expect("settable");
    stream.set_write_timeout(Some(SHORT)).expect("settable");
    while Instant::now() < end {
        match stream.read(&mut [0]) {
            Ok(1) => {
                burn(TOIL);
                let _ = stream.write(b"a");
            }
            // The other end may be over a little earlier.
            Ok(_) => std::thread::sleep(SHORT),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => std::thread::sleep(SHORT),
            Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock, "{e}"),
        }
    }
}

/// Has these always have something to do, and costs next to nothing.
fn drive(streams: &mut [UnixStream], end: Instant) {
    for stream in &mut *streams {
        stream.set_nonblocking(true).expect("settable");
    }
    while Instant::now() < end {
        for stream in &mut *streams {
            let _ = stream.write(b"??");
            let _ = stream.read(&mut [0; 100]);
        }
        std::thread::sleep(SHORT);
    }
}

/// One after the other burns the CPU; the others ask now and then, and wait.
fn take_turns(streams: Vec<UnixStream>, end: Instant) {
    let (senders, receivers): (Vec<_>, Vec<_>) = streams.iter().map(|_| mpsc::channel()).unzip();
    senders[0].send(()).expect("heard");
    let mut next = senders;
    next.rotate_left(1);
    std::thread::scope(|scope| {
        for ((mut stream, turn), next) in streams.into_iter().zip(receivers).zip(next) {
            scope.spawn(move || {
                while Instant::now() < end {
                    let has_turn = turn.recv_timeout(PATIENCE).is_ok();
                    // The server may be over a little earlier.
                    let asked = stream.write_all(b"?");
                    if asked.and_then(|()| stream.read_exact(&mut [0])).is_err() {
                        return;
                    }
                    if has_turn {
                        burn(TOIL);
                        // The next one may be over.
                        let _ = next.send(());
                    }
                }
            });
        }
    });
}
