// SPDX-License-Identifier: MIT OR Apache-2.0
//! One client: what it has sent of its next line, and what it has still to read.

use super::protocol::MAX_LINE;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of answers that may wait for a client that does not read them.
const MAX_UNREAD: usize = 4 << 20;
/// How long half a line, or an unread answer, is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes taken in one look, so that nobody holds up the loop.
const ONE_LOOK: usize = 64 << 10;

pub(super) struct Connection {
    stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// When something last came or went.
    pub(super) active: Instant,
    /// Asked for statistics.
    pub(super) watches: bool,
    /// No more requests are read.
    ended: bool,
}

impl Connection {
    pub(super) fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (input, output) = (Vec::new(), Vec::new());
        Ok(Self { stream, input, output, active: Instant::now(), watches: false, ended: false })
    }

    /// Reads what is there.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 4096];
        let mut taken = 0;
        while !self.ended && taken < ONE_LOOK && self.input.len() <= MAX_LINE {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.input.extend_from_slice(&buffer[..n]);
                    taken += n;
                    self.active = Instant::now();
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.fail(),
            }
        }
    }

    /// The next whole line without its end. A client that has answers to read is not asked
    /// for more.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        if !self.output.is_empty() {
            return None;
        }
        let end = self.input.iter().position(|b| *b == b'\n')?;
        let mut line: Vec<u8> = self.input.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// Has it sent more than a line may have?
    pub(super) fn is_too_long(&self) -> bool {
        self.input.len() > MAX_LINE && !self.input.contains(&b'\n')
    }

    /// Takes no more requests; what was answered is still delivered.
    pub(super) fn close(&mut self) {
        self.ended = true;
        self.input.clear();
    }

    /// The client is not there any more.
    fn fail(&mut self) {
        self.close();
        self.output.clear();
    }

    pub(super) fn send(&mut self, line: &[u8]) {
        match self.output.len() + line.len() <= MAX_UNREAD {
            true => self.output.extend_from_slice(line),
            false => self.fail(),
        }
    }

    /// Writes what can be written.
    pub(super) fn write(&mut self) {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return self.fail(),
                Ok(n) => {
                    self.output.drain(..n);
                    self.active = Instant::now();
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return self.fail(),
            }
        }
    }

    /// Is there anything to be done with it any more?
    pub(super) fn is_over(&self) -> bool {
        let busy = !self.output.is_empty() || !self.input.is_empty();
        let stuck = busy && self.active.elapsed() > PATIENCE;
        stuck || self.ended && !busy
    }
}
