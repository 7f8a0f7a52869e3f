// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sysbench prints at its end.

use crate::error::Error;

/// Transactions of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transactions {
    pub(crate) count: u64,
    pub(crate) mean_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Reads sysbench 1.0's report.
pub(crate) fn parse(text: &str) -> Result<Transactions, Error> {
    // Labels are unique in it but for "sum" and the like, which are not asked for.
    let value = |label: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
        line.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default()
    };
    let time = |label: &str| {
        let ms = value(label).parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms >= 0.0);
        ms.ok_or_else(|| unreadable(label, text))
    };
    let count = value("transactions:").parse::<u64>();
    let count = count.map_err(|_| unreadable("transactions:", text))?;
    if count == 0 {
        return Err(Error::Failure("sysbench has done no transaction in the time".into()));
    }
    Ok(Transactions { count, mean_ms: time("avg:")?, p99_ms: time("99th percentile:")? })
}

fn unreadable(label: &str, text: &str) -> Error {
    let text = text.trim();
    Error::Failure(format!("sysbench printed no number after \"{label}\" but:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // In the layout of sysbench 1.0.20.
    const REPORT: &str = "\
SQL statistics:
    queries performed:
        read:                            5138
        write:                           1468
        other:                           734
        total:                           7340
    transactions:                        367    (36.62 per sec.)
    queries:                             7340   (732.47 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          10.0189s
    total number of events:              367

Latency (ms):
         min:                                    4.77
         avg:                                   27.28
         max:                                  215.09
         99th percentile:                      118.92
         sum:                                10012.44

Threads fairness:
    events (avg/stddev):           367.0000/0.00
";

    #[test]
    fn transactions_are_read_from_the_report() {
        let expected = Transactions { count: 367, mean_ms: 27.28, p99_ms: 118.92 };
        assert_eq!(parse(REPORT).expect("a report"), expected);
    }

    #[test]
    fn what_is_no_report_is_shown() {
        let fatal = "FATAL: unable to connect to MySQL server";
        let error = parse(fatal).expect_err("no report").to_string();
        assert!(error.contains("transactions:") && error.contains(fatal), "{error}");
        let error = parse(&REPORT.replace("27.28", "fast")).expect_err("no time").to_string();
        assert!(error.contains("avg:"), "{error}");
        let error = parse(&REPORT.replace(" 367 ", " 0 ")).expect_err("none").to_string();
        assert!(error.contains("no transaction"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(cut in 0..REPORT.len(), text in ".{0,100}") {
            let broken: String = REPORT.chars().take(cut).collect();
            let _ = parse(&(broken + &text));
        }
    }
}
