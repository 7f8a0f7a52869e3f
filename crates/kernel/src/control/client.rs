// SPDX-License-Identifier: MIT OR Apache-2.0
//! The side of `rota set` and `rota run --monitor`.

use super::protocol::{
    line, Changed, Changes, Description, Refusal, Request, Response, Switch, MAX_LINE, VERSION,
};
use crate::stats::Sample;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// How long an answer is waited for: the main loop of a running policy polls many times
/// a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while another policy is loaded: the verifier follows up to a million instructions of
/// each program, on a machine that may be busy.
const WHILE_LOADING: Duration = Duration::from_secs(120);

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no policy is running: no answer at {} (start one with `rota run`)", .0.display())]
    Nobody(PathBuf),
    /// Somebody listens, but not for us.
    #[error("{} is for root only: run this with sudo", .0.display())]
    Forbidden(PathBuf),
    /// It was there, and hung up.
    #[error("the policy is no longer running")]
    Gone,
    /// The connection broke.
    #[error("the running policy does not answer: {0}")]
    Broken(io::Error),
    /// The other side speaks differently.
    #[error("the running rota gives an answer that is not understood: {0}")]
    Strange(String),
    /// The request was refused.
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// A connection to a running policy.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to a control socket.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                ClientError::Nobody(path.into())
            }
            io::ErrorKind::PermissionDenied => ClientError::Forbidden(path.into()),
            _ => ClientError::Broken(e),
        })?;
        let patience = Some(PATIENCE);
        stream.set_read_timeout(patience).map_err(ClientError::Broken)?;
        stream.set_write_timeout(patience).map_err(ClientError::Broken)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Who runs.
    pub fn describe(&mut self) -> Result<Description, ClientError> {
        match self.call(&Request::Get)? {
            Response::Policy(description) => Ok(description),
            other => Err(strange(&other)),
        }
    }

    /// Makes changes: all of them or none.
    pub fn change(&mut self, changes: Changes) -> Result<Changed, ClientError> {
        match self.call(&Request::Set(changes))? {
            Response::Changed(changed) => Ok(changed),
            other => Err(strange(&other)),
        }
    }

    /// The statistics.
    pub fn stats(&mut self) -> Result<Sample, ClientError> {
        match self.call(&Request::Stats)? {
            Response::Stats(sample) => Ok(sample),
            other => Err(strange(&other)),
        }
    }

    /// Has another policy loaded in place of the one that schedules. Returns who schedules then; the
    /// former one with the reason if the other one could not take over.
    pub fn switch(&mut self, to: Switch) -> Result<Description, ClientError> {
        self.stream.get_ref().set_read_timeout(Some(WHILE_LOADING)).map_err(ClientError::Broken)?;
        let answered = match self.call(&Request::Switch(to))? {
            // This is answered when it is over.
            Response::Switching(_) => self.describe(),
            other => Err(strange(&other)),
        };
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).map_err(ClientError::Broken)?;
        answered
    }

    fn call(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.stream.get_mut().write_all(&line(request)).map_err(broken)?;
        let mut answer = Vec::new();
        let mut limited = (&mut self.stream).take(MAX_LINE as u64);
        limited.read_until(b'\n', &mut answer).map_err(broken)?;
        match answer.last() {
            None => return Err(ClientError::Gone),
            Some(b'\n') => {}
            Some(_) => return Err(ClientError::Strange("its line has no end".into())),
        }
        match response(&answer)? {
            Response::Error(refusal) => Err(ClientError::Refused(refusal)),
            response => Ok(response),
        }
    }
}

fn broken(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ClientError::Gone,
        _ => ClientError::Broken(error),
    }
}

fn response(answer: &[u8]) -> Result<Response, ClientError> {
    let wrong = |e: serde_json::Error| ClientError::Strange(e.to_string());
    let mut value: serde_json::Value = serde_json::from_slice(answer).map_err(wrong)?;
    let version = value.as_object_mut().and_then(|members| members.remove("version"));
    if version != Some(VERSION.into()) {
        return Err(ClientError::Strange(format!("its version is not {VERSION}")));
    }
    serde_json::from_value(value).map_err(wrong)
}

fn strange(response: &Response) -> ClientError {
    ClientError::Strange(format!("{response:?}"))
}
