// SPDX-License-Identifier: MIT OR Apache-2.0
//! When and where a report is made, and of which files.

use super::matrix::Matrix;
use crate::error::Error;
use crate::object;
use rota_report::html::model::{Input, Provenance};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970 that count as now, by the convention of reproducible builds.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Of a report that is made now. With `SOURCE_DATE_EPOCH` it has that date and no host, so that the
/// same inputs give the same bytes.
pub(super) fn of(matrix: &Matrix) -> Result<Provenance, Error> {
    let (seconds, host) = match std::env::var(EPOCH) {
        Ok(text) => {
            let expected = "expected a number of seconds since 1970";
            let seconds = text.parse();
            let seconds = seconds.map_err(|_| Error::input(format!("{EPOCH}={text}: {expected}")));
            (seconds?, String::new())
        }
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            (now.map_or(0, |since| since.as_secs()), host())
        }
    };
    Ok(Provenance { date: date(seconds), host, inputs: inputs(matrix) })
}

fn inputs(matrix: &Matrix) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::new();
    let mut add = |kind: &str, name: &str, sha256: &str| {
        let input = Input { kind: kind.into(), name: name.into(), sha256: sha256.into() };
        if !inputs.contains(&input) {
            inputs.push(input);
        }
    };
    for stage in &matrix.stages {
        add("workload", &stage.load.file, &stage.load.sha256);
    }
    for policy in &matrix.policies {
        match policy.source == object::SHIPPED {
            true => add("shipped policy", &policy.name, &policy.sha256),
            false => add("policy", &policy.source, &policy.sha256),
        }
    }
    inputs
}

/// The running kernel and the computer, without its name.
fn host() -> String {
    let system = rustix::system::uname();
    let [name, release, machine] =
        [system.sysname(), system.release(), system.machine()].map(|text| text.to_string_lossy());
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(String::new(), |(_, model)| format!(" of {}", model.trim()));
    let plural = if cpus == 1 { "" } else { "s" };
    format!("{name} {release}, {machine}, {cpus} CPU{plural}{model}")
}

/// `2001-09-09 01:46 UTC`.
fn date(seconds: u64) -> String {
    let (mut day, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let is_leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // 400 years have the same number of days, whichever they are.
    let mut year = 1970 + day / 146_097 * 400;
    day %= 146_097;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    let (month, day) = (month + 1, day + 1);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn seconds_are_dates() {
        // As `date --utc --date @SECONDS` of GNU coreutils prints them.
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_000_000_000, "2001-09-09 01:46 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (16_725_225_600, "2500-01-01 00:00 UTC"),
        ];
        for (seconds, text) in cases {
            assert_eq!(date(seconds), text, "{seconds}");
        }
    }
}
