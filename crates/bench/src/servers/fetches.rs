// SPDX-License-Identifier: MIT OR Apache-2.0
//! A customer who fetches a web tree again and again, and times it [CAS §7.2].

use super::number;
use crate::clock::now_ns;
use crate::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a fetch took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fetch {
    pub(crate) took_ns: u64,
    pub(crate) files: u64,
}

/// Fetches as long as a time says, once at least, and prints nanoseconds and files of each.
pub(super) fn child(words: &[String]) -> Result<(), Error> {
    let [url, wget, directory, nanoseconds] = words else {
        return Err(Error::Input("expected a URL, wget, a directory and a time".into()));
    };
    let time_ns: u64 = number(Some(nanoseconds), "time")?;
    let began_ns = now_ns();
    loop {
        let fetch = fetch(url, wget, Path::new(directory))?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{} {}", fetch.took_ns, fetch.files)
            .map_err(|e| Error::system("print the time", e))?;
        if now_ns() - began_ns >= time_ns {
            return Ok(());
        }
    }
}

fn fetch(url: &str, wget: &str, directory: &Path) -> Result<Fetch, Error> {
    let broken = |e| Error::system("fetch", e);
    let log = directory.join("wget.log");
    let mut command = Command::new(wget);
    command
        .args(["--recursive", "--level=inf", "--no-host-directories", "--no-verbose"])
        .args(["--no-config", "--execute=robots=off", "--tries=1", "--delete-after"])
        .arg(format!("--directory-prefix={}", directory.display()))
        .arg(format!("--output-file={}", log.display()))
        .arg(url)
        .stdin(Stdio::null());
    let began_ns = now_ns();
    let status = command.status().map_err(broken)?;
    let took_ns = now_ns() - began_ns;
    let said = std::fs::read(&log).map_err(broken)?;
    let said = String::from_utf8_lossy(&said);
    match downloaded(&said) {
        Some(files) if status.success() => Ok(Fetch { took_ns, files }),
        _ => {
            let last = said.lines().rev().take(5).collect::<Vec<_>>().join("\n");
            Err(Error::Failure(format!("wget ended: {status}\n{last}")))
        }
    }
}

/// Files by wget's last line, `Downloaded: 421 files, 31M in 0.2s (155 MB/s)`.
fn downloaded(log: &str) -> Option<u64> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("Downloaded: "))?;
    line.split_once(" files")?.0.trim().parse().ok()
}

/// What the child printed.
pub(super) fn parse(text: &str) -> Result<Vec<Fetch>, Error> {
    let fetch = |line: &str| {
        let (took_ns, files) = line.split_once(' ')?;
        Some(Fetch { took_ns: took_ns.parse().ok()?, files: files.parse().ok()? })
    };
    let line = |line| fetch(line).ok_or_else(|| Error::Failure(format!("{line:?} is not a fetch")));
    text.lines().map(line).collect()
}

/// Those fetches that last as long as one may be measured.
pub(super) fn limit(time: Duration) -> Duration {
    time * 3 + Duration::from_secs(120)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = "\
2026-11-22 22:00:00 URL:http://127.0.0.1:8000/ [320/320] -> \"/tmp/d/index.html\" [1]
FINISHED --2026-11-22 22:00:01--
Total wall clock time: 0.4s
Downloaded: 421 files, 31M in 0.2s (155 MB/s)
";

    #[test]
    fn files_are_read_from_the_last_line() {
        assert_eq!(downloaded(LOG), Some(421));
        assert_eq!(downloaded("failed: Connection refused.\n"), None);
        assert_eq!(downloaded("Downloaded: many files, 3M in 1s"), None);
    }

    #[test]
    fn fetches_come_through_as_they_are() {
        let fetch = |took_ns, files| Fetch { took_ns, files };
        assert_eq!(parse("5 421\n7 421\n").expect("two"), [fetch(5, 421), fetch(7, 421)]);
        for bad in ["5", "5 x", "-5 421", "x"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(.|\n){0,100}", cut in 0..LOG.len()) {
            let _ = parse(&text);
            let _ = downloaded(&(LOG.chars().take(cut).collect::<String>() + &text));
        }
    }
}
