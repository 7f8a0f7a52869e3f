// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server and its customer, who measures how long answers take.

use crate::hog::spin_since;
use anyhow::{bail, ensure, Context, Result};
use rota_play::thread_ns;
use rustix::process::setsid;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const UNIX_PATH: &str = "/tmp/ask.socket";
const TCP_ADDRESS: &str = "127.0.0.1:7000";
/// From an answer to the next request.
const THINKS: Duration = Duration::from_millis(20);
const SERVER_STARTS_WITHIN: Duration = Duration::from_secs(5);

trait Both: Read + Write {}
impl<T: Read + Write> Both for T {}

/// `SOCKET SERVER REQUESTS WORK_US within|beyond US`: asks so often for so much work, and checks
/// the median of the response times. The server is a child, in the same session or another one; or
/// there already, and no relative.
pub(crate) fn ask(words: &[&str]) -> Result<()> {
    let [socket, server, requests, work_us, side, bound_us] = words else {
        bail!("usage: rota-guest ask unix|tcp same|other|there REQUESTS WORK_US within|beyond US");
    };
    let (requests, bound_us): (u32, u64) = (requests.parse()?, bound_us.parse()?);
    let mut child = match *server {
        "there" => None,
        session => Some(Server::start(socket, session, work_us)?),
    };
    let mut connection = connect(socket, child.as_mut())?;
    let mut took_us = Vec::new();
    for _ in 0..requests {
        sleep(THINKS);
        let asked = Instant::now();
        connection.write_all(b"?")?;
        connection.read_exact(&mut [0])?;
        took_us.push(asked.elapsed().as_micros() as u64);
    }
    took_us.sort_unstable();
    let (median, longest) = (took_us[took_us.len() / 2], took_us[took_us.len() - 1]);
    println!("{requests} answers, median {median} us, longest {longest} us");
    match *side {
        "within" => ensure!(median <= bound_us, "the median is not within {bound_us} us"),
        "beyond" => ensure!(median > bound_us, "the median is not beyond {bound_us} us"),
        other => bail!("'{other}', expected within or beyond"),
    }
    Ok(())
}

/// Answers one customer until that goes.
pub(crate) fn serve(socket: &str, session: &str, work_us: &str) -> Result<()> {
    if session == "other" {
        setsid().context("cannot begin a session")?;
    }
    let work_ns = 1000 * work_us.parse::<u64>().context("how much work")?;
    let mut connection: Box<dyn Both> = match socket {
        "unix" => {
            // Of the one before.
            let _ = std::fs::remove_file(UNIX_PATH);
            Box::new(UnixListener::bind(UNIX_PATH)?.accept()?.0)
        }
        "tcp" => Box::new(TcpListener::bind(TCP_ADDRESS)?.accept()?.0),
        other => bail!("'{other}', expected unix or tcp"),
    };
    let mut byte = [0];
    while connection.read(&mut byte)? > 0 {
        spin_since(thread_ns(), work_ns);
        connection.write_all(b"!")?;
    }
    Ok(())
}

/// Killed when the customer goes.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(socket: &str, session: &str, work_us: &str) -> Result<Self> {
        let mut serve = Command::new("/bin/rota-guest");
        serve.args(["serve", socket, session, work_us]).stdin(Stdio::null());
        serve.spawn().map(Self).context("cannot start the server")
    }

    fn ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// To a server that begins to listen in a moment.
pub(crate) fn connect_unix(server: &mut Server) -> Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(UNIX_PATH) {
            Ok(connection) => return Ok(connection),
            Err(error) => {
                ensure!(!server.ended()?, "the server ended");
                let late = began.elapsed() > SERVER_STARTS_WITHIN;
                ensure!(!late, "cannot connect to the server: {error}");
                sleep(Duration::from_millis(10));
            }
        }
    }
}

fn connect(socket: &str, mut server: Option<&mut Server>) -> Result<Box<dyn Both>> {
    let began = Instant::now();
    loop {
        let connected: std::io::Result<Box<dyn Both>> = match socket {
            "unix" => UnixStream::connect(UNIX_PATH).map(|c| Box::new(c) as Box<dyn Both>),
            _ => TcpStream::connect(TCP_ADDRESS).map(|c| Box::new(c) as Box<dyn Both>),
        };
        match connected {
            Ok(connection) => return Ok(connection),
            Err(error) => {
                let ended = server.as_mut().map_or(Ok(false), |server| server.ended())?;
                ensure!(!ended, "the server ended");
                let late = began.elapsed() > SERVER_STARTS_WITHIN;
                ensure!(!late, "cannot connect to the server: {error}");
                sleep(Duration::from_millis(10));
            }
        }
    }
}
