// SPDX-License-Identifier: MIT OR Apache-2.0
//! MariaDB and sysbench: transactions of many short queries [CAS §7.3].

use super::numbers::Reading;
use super::programs::{MARIADBD, SYSBENCH};
use super::session::{Session, Stage};
use super::{sysbench, User};
use crate::error::Error;
use std::time::Duration;

/// Rows of the only table: sysbench's default.
const ROWS: &str = "--table-size=10000";

const SET_UP: Duration = Duration::from_secs(120);

/// There are no accounts: whoever finds the socket may do all, with what is gone with the bench.
const SCHEMA: &str = "CREATE DATABASE IF NOT EXISTS sbtest;\n";

/// A database of one's own.
pub(crate) struct Mariadb {
    pub(crate) session: Session,
    socket: String,
    sysbench: String,
    customer: User,
}

impl Mariadb {
    pub(crate) fn start(stage: &Stage<'_>, own: User, customer: User) -> Result<Self, Error> {
        let directory = stage.directory_of("mariadb", own)?;
        let data = directory.join("data");
        std::fs::create_dir(&data)
            .and_then(|()| std::os::unix::fs::chown(&data, Some(own.id), Some(own.id)))
            .map_err(|e| Error::system("make the database's directory", e))?;
        let data = format!("--datadir={}", data.display());
        let socket = directory.join("socket").display().to_string();
        let init = stage.file("schema.sql", SCHEMA)?.display().to_string();
        let server = MARIADBD.find()?.display().to_string();
        let words = [
            &server,
            "--no-defaults",
            &data,
            &format!("--socket={socket}"),
            &format!("--pid-file={}", directory.join("pid").display()),
            &format!("--tmpdir={}", directory.display()),
            &format!("--init-file={init}"),
            "--skip-networking",
            // So that it needs no tables of its own.
            "--skip-grant-tables",
            "--innodb-stats-persistent=0",
            "--innodb-buffer-pool-size=128M",
            // Who waits for a disk waits for no scheduler: the log is written each second, and all
            // goes through the page cache.
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-flush-method=fsync",
            "--loose-innodb-log-file-buffering=ON",
        ];
        let mut session = stage.start("mariadbd", own, &words)?;
        let errors = stage.path("mariadbd.err");
        let there = || {
            let said = std::fs::read_to_string(&errors).unwrap_or_default();
            said.contains("ready for connections")
        };
        session.ready(stage, SET_UP, there)?;
        // Customers are another user.
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o711))
            .map_err(|e| Error::system("open the database's directory", e))?;
        let sysbench = SYSBENCH.find()?.display().to_string();
        let database = Self { session, socket, sysbench, customer };
        database.customer(stage, &[], "prepare")?.finish(stage, SET_UP)?;
        Ok(database)
    }

    fn customer(&self, stage: &Stage<'_>, more: &[&str], verb: &str) -> Result<Session, Error> {
        let socket = format!("--mysql-socket={}", self.socket);
        let words = [
            &self.sysbench,
            "oltp_read_write",
            "--db-driver=mysql",
            &socket,
            "--mysql-user=rota",
            "--mysql-db=sbtest",
            "--tables=1",
            ROWS,
            "--threads=1",
        ];
        stage.start("sysbench", self.customer, &[&words[..], more, &[verb]].concat())
    }

    pub(crate) fn run(&self, stage: &Stage<'_>, time: Duration) -> Result<Vec<Reading>, Error> {
        let seconds = format!("--time={}", time.as_secs().max(1));
        let customer = self.customer(stage, &[&seconds, "--percentile=99"], "run")?;
        let report = customer.finish(stage, time * 3 + Duration::from_secs(60))?;
        let found = sysbench::parse(&report)?;
        let reading = |key, unit, value| Reading { key, unit, value };
        Ok(vec![
            reading("transaction_mean", "ms", found.mean_ms),
            reading("transaction_p99", "ms", found.p99_ms),
            reading("transactions", "number", found.count as f64),
        ])
    }
}
