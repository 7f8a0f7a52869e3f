// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the plan.

use super::background::Jobs;
use super::boost::Boost;
use super::keeper::Keeper;
use super::mariadb::Mariadb;
use super::numbers::{measures, Reading, Row};
use super::programs::{APACHE, COMPILER, FFMPEG, MARIADBD, NGINX, SYSBENCH, WGET};
use super::session::Stage;
use super::video::Video;
use super::web::Web;
use super::{autogroup, Background, Mode, Plan, Server, User, STATIC_NICE};
use crate::clock::now_ns;
use crate::error::Error;
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// From when a background or a mode begins to when is measured.
const SETTLE: Duration = Duration::from_secs(2);

/// The first of the users who are tried: nobody's on most systems.
const FIRST_USER: u32 = 64_200;

/// A server with its customers, ready to be measured.
enum Ready {
    Mariadb(Mariadb),
    Web(Web),
    Video(Video),
}

/// Measures all that the plan has. `tell` hears of each run.
pub fn measure(
    plan: &Plan,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::Input(
            "servers and customers are users of their own: needs root".into(),
        ));
    }
    super::missing(plan)?;
    let keeper = Keeper::start()?;
    let scratch = tempfile::Builder::new().prefix("rota-servers-").tempdir();
    let directory = scratch.map_err(|e| Error::system("make a directory", e))?.keep();
    keeper.remove(&directory)?;
    // Its name is a secret; what is in it is each one's own.
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o711))
        .map_err(|e| Error::system("open the directory", e))?;
    let stage = Stage { directory, keeper, stop, directories: Cell::default() };
    let as_is = autogroup::is_on();
    if plan.autogroups.iter().any(|on| *on != as_is) {
        stage.keeper.autogroup(as_is)?;
    }
    let mut bench = Bench { plan, stage, users: users(plan.customer_nice)?, tell };
    let mut rows = Vec::new();
    let autogroups = if plan.autogroups.is_empty() { &[as_is][..] } else { &plan.autogroups };
    for server in &plan.servers {
        for on in autogroups {
            // First of all: who has an autogroup keeps it when they are switched off.
            autogroup::set(*on)?;
            let ready = bench.start(*server)?;
            for jobs in &plan.jobs {
                rows.extend(bench.beside(*server, &ready, *on, *jobs)?);
            }
        }
    }
    Ok(rows)
}

struct Bench<'a> {
    plan: &'a Plan,
    stage: Stage<'a>,
    /// Servers, customers, background.
    users: [User; 3],
    tell: &'a mut dyn FnMut(&str),
}

impl Bench<'_> {
    fn start(&mut self, server: Server) -> Result<Ready, Error> {
        let [own, customer, _] = self.users;
        (self.tell)(&format!("{} is set up", server.name()));
        Ok(match server {
            Server::Mariadb => Ready::Mariadb(Mariadb::start(&self.stage, own, customer)?),
            Server::Apache | Server::Nginx => {
                Ready::Web(Web::start(&self.stage, server, own, customer)?)
            }
            Server::Video => Ready::Video(Video::start(&self.stage, own, customer)?),
        })
    }

    /// All modes beside so many jobs.
    fn beside(
        &mut self,
        server: Server,
        ready: &Ready,
        autogroup: bool,
        jobs: u32,
    ) -> Result<Vec<Row>, Error> {
        let modes = &self.plan.modes;
        let [_, customer, other] = self.users;
        let background = Jobs::start(&self.stage, self.plan.background, jobs, (other, customer))?;
        self.stage.wait(if jobs == 0 { Duration::ZERO } else { SETTLE })?;
        let mut runs: Vec<Vec<Vec<Reading>>> = vec![Vec::new(); modes.len()];
        for repetition in 0..self.plan.repeat as usize {
            for at in 0..modes.len() {
                // So that nobody is always the first.
                let at = (at + repetition) % modes.len();
                let on = if autogroup { "on" } else { "off" };
                let (name, mode) = (server.name(), modes[at].name());
                let run =
                    format!("{name}, {jobs} jobs, {mode}, autogroups {on}, run {}", repetition + 1);
                let readings = self.run(ready, modes[at], &background, &run)?;
                let words = readings.iter().map(|r| format!("{} {:.2} {}", r.key, r.value, r.unit));
                (self.tell)(&format!("{run}: {}", words.collect::<Vec<_>>().join(", ")));
                runs[at].push(readings);
            }
        }
        let plain = modes.iter().position(|mode| *mode == Mode::Plain);
        let row = |(at, mode): (usize, &Mode)| {
            // Not beside itself.
            let beside = plain.filter(|plain| *plain != at).map(|plain| &runs[plain][..]);
            let measures = measures(&runs[at], beside);
            Row { server, autogroup, jobs, mode: *mode, measures }
        };
        Ok(modes.iter().enumerate().map(row).collect())
    }

    fn run(
        &mut self,
        ready: &Ready,
        mode: Mode,
        background: &Jobs,
        heading: &str,
    ) -> Result<Vec<Reading>, Error> {
        let (stage, time) = (&self.stage, self.plan.duration);
        let decoder = match ready {
            Ready::Video(video) => Some(video.decoder(stage)?),
            _ => None,
        };
        let session = match ready {
            Ready::Mariadb(server) => Some(&server.session),
            Ready::Web(server) => Some(&server.session),
            Ready::Video(_) => decoder.as_ref().map(|decoder| &decoder.session),
        };
        let nice = if mode == Mode::Nice { STATIC_NICE } else { 0 };
        session.map_or(Ok(()), |session| session.renice(nice))?;
        let boost = Boost::start(stage, mode)?;
        stage.wait(SETTLE)?;
        let (began_ns, compiled) = (now_ns(), background.compiled());
        let mut readings = match ready {
            Ready::Mariadb(server) => server.run(stage, time)?,
            Ready::Web(server) => server.run(stage, time)?,
            Ready::Video(server) => match &decoder {
                Some(decoder) => server.run(stage, decoder, time)?,
                None => Vec::new(),
            },
        };
        let seconds = (now_ns() - began_ns) as f64 / 1e9;
        if self.plan.background == Background::Compile {
            let value = (background.compiled() - compiled) as f64 / seconds;
            readings.push(Reading { key: "compiled", unit: "per_second", value });
        }
        session.map_or(Ok(()), |session| session.renice(0))?;
        boost.map_or(Ok(()), |boost| boost.end(heading, self.plan.boost_log.as_deref()))?;
        Ok(readings)
    }
}

/// Three who have no name and no process.
fn users(customer_nice: i32) -> Result<[User; 3], Error> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named: Vec<u32> =
        passwd.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect();
    let running: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            use std::os::unix::fs::MetadataExt;
            Some(entry.ok()?.metadata().ok()?.uid())
        })
        .collect();
    let free = |id: &u32| !named.contains(id) && !running.contains(id);
    let mut found = (FIRST_USER..65_000).filter(free);
    match (found.next(), found.next(), found.next()) {
        (Some(server), Some(customer), Some(other)) => {
            let [server, other] = [server, other].map(|id| User { id, nice: 0 });
            Ok([server, User { id: customer, nice: customer_nice }, other])
        }
        _ => Err(Error::Failure(format!("no three users from {FIRST_USER} on are free"))),
    }
}

/// First lines of what the plan's programs say of their version.
pub fn versions(plan: &Plan) -> Result<Vec<(&'static str, String)>, Error> {
    let mut asked = vec![];
    for server in &plan.servers {
        asked.extend(match server {
            Server::Mariadb => {
                vec![("mariadb", &MARIADBD, "--version"), ("sysbench", &SYSBENCH, "--version")]
            }
            Server::Apache => vec![("apache", &APACHE, "-v"), ("wget", &WGET, "--version")],
            Server::Nginx => vec![("nginx", &NGINX, "-v"), ("wget", &WGET, "--version")],
            Server::Video => vec![("ffmpeg", &FFMPEG, "-version")],
        });
    }
    if plan.background == Background::Compile && plan.jobs.iter().any(|jobs| *jobs > 0) {
        asked.push(("compiler", &COMPILER, "--version"));
    }
    asked.dedup_by_key(|(name, ..)| *name);
    let version = |(name, program, word): (&'static str, &super::programs::Program, &str)| {
        let output = Command::new(program.find()?).arg(word).stdin(Stdio::null()).output();
        let output = output.map_err(|e| Error::system(&format!("start {name}"), e))?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        Ok((name, said.lines().next().unwrap_or_default().trim().to_owned()))
    };
    asked.into_iter().map(version).collect()
}
