// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the values of options mean: counts, times, and names with values.

use rota_machine::cpuset::MAX_CPUS;
use rota_trace::CpuList;
use rota_workload::parse_duration;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// A whole number in a range; the message of another one says how to write it, if it is one.
fn whole(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (low, high) = (*range.start(), *range.end());
    let expected = match high {
        u64::MAX => format!("expected a whole number, {low} or more"),
        _ => format!("expected a whole number from {low} to {high}"),
    };
    match text.parse::<u64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => match text.parse::<f64>() {
            Ok(number)
                if number.fract() == 0.0 && number >= low as f64 && number <= high as f64 =>
            {
                Err(format!("{expected}: write {number:.0}"))
            }
            _ => Err(expected),
        },
    }
}

/// Seed of random numbers.
pub fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0..=u64::MAX)
}

/// Timer ticks per second.
pub fn hz(text: &str) -> Result<u32, String> {
    whole(text, 1..=100_000).map(|hz| hz as u32)
}

/// CPUs by number, as the kernel's command line has them: `1-3,5`.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    let number = |part: &str| whole(part, 0..=u64::from(MAX_CPUS) - 1).map(|cpu| cpu as u32);
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first)?..=number(last)?,
            None => number(part)?..=number(part)?,
        };
        if range.is_empty() {
            let (first, last) = (range.start(), range.end());
            return Err(format!("{part} has no CPU in it, expected {last}-{first}"));
        }
        cpus.extend(range);
    }
    Ok(cpus.into_iter().collect())
}

/// CPUs of the simulated machine.
pub fn cpus(text: &str) -> Result<u32, String> {
    whole(text, 1..=MAX_CPUS.into()).map(|cpus| cpus as u32)
}

/// Runs of each policy.
pub fn seeds(text: &str) -> Result<u32, String> {
    whole(text, 1..=100_000).map(|seeds| seeds as u32)
}

/// A number of threads, or of anything else of which there is one at least.
pub fn jobs(text: &str) -> Result<NonZero<usize>, String> {
    let jobs = whole(text, 1..=100_000)?;
    NonZero::new(jobs as usize).ok_or_else(|| "expected 1 or more".to_owned())
}

/// A budget of instructions.
pub fn instructions(text: &str) -> Result<u64, String> {
    whole(text, 1..=u64::MAX)
}

/// A file that is written as HTML.
pub fn html_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Ok(path),
        _ => {
            let html = path.with_extension("html");
            Err(format!("expected a name that ends in .html, such as {}", html.display()))
        }
    }
}

/// A time that is not zero, in nanoseconds.
pub fn duration(text: &str) -> Result<u64, String> {
    if text.starts_with('-') && text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("a time is not negative, expected one such as {}", &text[1..]));
    }
    match parse_duration(text).map_err(|e| e.to_string())? {
        0 => Err("a run needs some time: expected more than 0".into()),
        ns => Ok(ns),
    }
}

/// CPU time of a program's system call: some, as it would go on for ever in no time.
pub fn program_cost(text: &str) -> Result<u64, String> {
    some_time(text).ok_or_else(|| "expected a time of 1ns or more, such as 1us".into())
}

/// Real time.
pub fn program_timeout(text: &str) -> Result<u64, String> {
    some_time(text).ok_or_else(|| "expected a time of 1ns or more, such as 10s".into())
}

fn some_time(text: &str) -> Option<u64> {
    parse_duration(text).ok().filter(|ns| *ns > 0)
}

/// A time, or a number of seconds; at least as long as what is done in it takes.
pub fn duration_or_seconds(text: &str) -> Result<u64, String> {
    let ns = match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000).ok_or("too long a time")?,
        Err(_) => duration(text)?,
    };
    match ns {
        ns if ns < 100_000_000 => Err("too short an interval: expected 100ms or more".into()),
        ns => Ok(ns),
    }
}

/// What `--set` takes: `NAME=VALUE`.
pub fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE, for example quantum_ns=5000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_in_seconds_unless_it_says_otherwise() {
        assert_eq!(duration_or_seconds("2"), Ok(2_000_000_000));
        assert_eq!(duration_or_seconds("500ms"), Ok(500_000_000));
        for bad in ["0", "99ms", "18446744073709551615", "x", "-1"] {
            assert!(duration_or_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_count_in_another_notation_is_told_in_the_one_that_is_read() {
        assert_eq!(hz("1000"), Ok(1000));
        assert_eq!(hz("1e3"), Err("expected a whole number from 1 to 100000: write 1000".into()));
        for bad in ["0", "1e6", "x", "-1", "2.5", "", "100001", "NaN", "inf"] {
            assert_eq!(hz(bad), Err("expected a whole number from 1 to 100000".into()), "{bad}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(name_and_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(name_and_value("=3").is_err() && name_and_value("a").is_err());
    }
}
