// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which programs are there, and what to install for those that are not.

use super::{Background, Plan, Server};
use crate::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A program under one of its names, and the Debian package that has it.
#[derive(Debug)]
pub(crate) struct Program {
    names: &'static [&'static str],
    package: &'static str,
}

const fn program(names: &'static [&'static str], package: &'static str) -> Program {
    Program { names, package }
}

pub(crate) const COMPILER: Program = program(&["gcc", "cc", "clang"], "gcc");
pub(crate) const MARIADBD: Program = program(&["mariadbd"], "mariadb-server-core");
pub(crate) const SYSBENCH: Program = program(&["sysbench"], "sysbench");
pub(crate) const APACHE: Program = program(&["apache2", "httpd"], "apache2-bin");
pub(crate) const NGINX: Program = program(&["nginx"], "nginx-light");
pub(crate) const WGET: Program = program(&["wget"], "wget");
pub(crate) const FFMPEG: Program = program(&["ffmpeg"], "ffmpeg");

/// What a server and its customers are.
fn of(server: Server) -> &'static [Program] {
    match server {
        Server::Mariadb => &[MARIADBD, SYSBENCH],
        Server::Apache => &[APACHE, WGET],
        Server::Nginx => &[NGINX, WGET],
        Server::Video => &[FFMPEG],
    }
}

/// Servers are often where only root looks.
const MORE: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Program {
    /// Where it is.
    pub(crate) fn find(&self) -> Result<PathBuf, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = self.find_in(&directories(&path));
        found.ok_or_else(|| Error::Input(told(&[self])))
    }

    fn find_in(&self, directories: &[PathBuf]) -> Option<PathBuf> {
        let paths = |name| directories.iter().map(move |directory| directory.join(name));
        self.names.iter().flat_map(paths).find(|path| is_program(path))
    }
}

fn directories(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).chain(MORE.map(PathBuf::from)).collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Refuses a plan whose programs are not all there.
pub fn missing(plan: &Plan) -> Result<(), Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    missing_in(plan, &directories(&path))
}

fn missing_in(plan: &Plan, directories: &[PathBuf]) -> Result<(), Error> {
    let compiles = plan.background == Background::Compile && plan.jobs.iter().any(|j| *j > 0);
    let compiler = compiles.then_some(&COMPILER);
    let wanted = plan.servers.iter().flat_map(|server| of(*server)).chain(compiler);
    let gone: Vec<&Program> = wanted.filter(|p| p.find_in(directories).is_none()).collect();
    match gone.is_empty() {
        true => Ok(()),
        false => Err(Error::Input(told(&gone))),
    }
}

fn told(gone: &[&Program]) -> String {
    let list = |of: fn(&Program) -> &'static str| {
        let mut words: Vec<&str> = gone.iter().map(|program| of(program)).collect();
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(*word));
        words
    };
    let names = list(|program| program.names[0]).join(", ");
    let packages = list(|program| program.package).join(" ");
    format!(
        "not installed: {names} (on Debian: \
             apt install --no-install-recommends {packages})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::Mode;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn plan(servers: &[Server], jobs: u32) -> Plan {
        Plan {
            servers: servers.to_vec(),
            jobs: vec![0, jobs],
            background: Background::Compile,
            modes: vec![Mode::Plain],
            autogroups: Vec::new(),
            repeat: 1,
            duration: Duration::from_secs(1),
            customer_nice: 0,
            boost_log: None,
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_package_once() {
        let error = |plan: &Plan| missing_in(plan, &[]).expect_err("nothing").to_string();
        assert_eq!(
            error(&plan(&[Server::Mariadb, Server::Video], 12)),
            "not installed: mariadbd, sysbench, ffmpeg, gcc (on Debian: \
             apt install --no-install-recommends mariadb-server-core sysbench ffmpeg gcc)"
        );
        let twice = error(&plan(&[Server::Apache, Server::Nginx], 0));
        assert!(twice.contains("not installed: apache2, wget, nginx (on"), "{twice}");
    }

    #[test]
    fn another_name_will_do_and_a_file_that_is_no_program_will_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let mode = |name: &str, mode| {
            std::fs::write(path(name), "").expect("written");
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path(name), permissions).expect("set");
        };
        mode("apache2", 0o644);
        mode("httpd", 0o755);
        mode("wget", 0o755);
        let directories = [PathBuf::from("/nonexistent"), directory.path().to_owned()];
        assert_eq!(APACHE.find_in(&directories), Some(path("httpd")));
        missing_in(&plan(&[Server::Apache], 0), &directories).expect("all there");
    }
}
