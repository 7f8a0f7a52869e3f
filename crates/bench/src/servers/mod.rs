// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that answer customers beside a background that wants all CPUs, as in [CAS §7]: with
//! the kernel's scheduler alone, with a better nice value for the server, with `rota boost`.
//!
//! All of them are private instances in a directory of their own, started by root as users that
//! nobody else is: the servers as one, customers as another, the background as a third.

mod autogroup;
mod background;
mod boost;
mod clip;
mod fetches;
mod frames;
mod keeper;
mod mariadb;
mod measure;
mod numbers;
mod player;
mod programs;
mod session;
mod sysbench;
mod video;
mod web;

pub use autogroup::is_on as autogroups_are_on;
pub use measure::{measure, versions};
pub use numbers::{Measure, Row, Summary};
pub use programs::missing;

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A server with its customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// MariaDB, asked by sysbench [CAS §7.3].
    Mariadb,
    /// Apache, whose tree of files wget fetches [CAS §7.2].
    Apache,
    /// The same with nginx.
    Nginx,
    /// A decoder, ffmpeg, which a player sends pictures to [CAS §7.4].
    Video,
}

impl Server {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mariadb, Self::Apache, Self::Nginx, Self::Video];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Apache => "apache",
            Self::Nginx => "nginx",
            Self::Video => "video",
        }
    }
}

/// What is done for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing.
    Plain,
    /// It has a nice value of [`STATIC_NICE`].
    Nice,
    /// `rota boost` runs.
    Boost,
    /// `rota boost --clients full` runs: who waits for answers is boosted, too.
    BoostClients,
    /// `rota boost --autogroups` runs.
    BoostAutogroups,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Plain, Self::Nice, Self::Boost, Self::BoostClients, Self::BoostAutogroups];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nice => "nice",
            Self::Boost => "boost",
            Self::BoostClients => "boost-clients",
            Self::BoostAutogroups => "boost-autogroups",
        }
    }
}

/// The server's nice value under [`Mode::Nice`].
pub const STATIC_NICE: i32 = -10;

/// What wants the CPUs, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Background {
    /// Each job compiles C sources, one after the other [CAS §7.1].
    Compile,
    /// Each job burns the CPU, and answers somebody who sends it a byte every 5 ms.
    Chatty,
}

impl Background {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Compile, Self::Chatty];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Chatty => "chatty",
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which servers, one after the other.
    pub servers: Vec<Server>,
    /// Jobs of the background.
    pub jobs: Vec<u32>,
    /// Which background.
    pub background: Background,
    /// In turns, in each repetition from another one on.
    pub modes: Vec<Mode>,
    /// Autogroups off (`false`) or on; none: as they are.
    pub autogroups: Vec<bool>,
    /// Runs of each mode.
    pub repeat: u32,
    /// Length of each.
    pub duration: Duration,
    /// Nice value of the customers in all modes: -20 stands for customers of another machine.
    pub customer_nice: i32,
    /// Where what `rota boost --log` said is kept, if anywhere.
    pub boost_log: Option<PathBuf>,
}

/// Who a process of the bench is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) id: u32,
    /// Of all that this user begins.
    pub(crate) nice: i32,
}

/// A child of the bench, by its words: what each one does is in its module.
pub fn child(words: &[String]) -> Result<(), Error> {
    let [what, words @ ..] = words else {
        return Err(Error::Input("this is for the bench itself".into()));
    };
    match what.as_str() {
        "session" => session::child(words),
        "keeper" => keeper::child(std::io::stdin().lock()),
        "compile" => background::compile_child(words),
        "chatty" => background::chatty_child(words),
        "teller" => background::teller_child(words),
        "fetch" => fetches::child(words),
        "decode" => video::child(words),
        "player" => player::child(words),
        _ => Err(Error::Input(format!("{what:?} is not a child of the bench"))),
    }
}

/// A word that is a number.
fn number<T: std::str::FromStr>(word: Option<&String>, what: &str) -> Result<T, Error> {
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| Error::Input(format!("{what}: expected a number, got {word:?}")))
}
