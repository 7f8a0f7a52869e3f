// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what is kept of recordings.

use super::*;
use crate::versus::case;
use proptest::collection::vec;
use proptest::prelude::*;

const CASES: &str = r#"
    matrix = [
        { workload = "hogs", cpus = [1], for = "2s", policies = ["rr"] },
        { workload = "hogs", cpus = [2], for = "2s", policies = ["rr"], timings = 2 },
    ]
    sequence = [ { workload = "hogs", policies = ["wfq"], for = "2s", picks = 2 } ]
"#;

fn cases() -> Vec<Case> {
    case::parse(CASES, &["rr", "wfq"]).unwrap()
}

fn recorded(switches: u64) -> (Host, Beside) {
    let numbers = Numbers {
        shares: vec![("a-0".into(), 0.75), ("b-1".into(), 0.25)],
        switches,
        run_delay_ns: 1,
        p50_ns: Some(2),
        p95_ns: None,
        p99_ns: Some(4),
        whole_life_ns: None,
        doubled: None,
        left: None,
    };
    let interruptions = vec![Interruption { cpu: 1, at_ns: 4_000_000, for_ns: 12_000 }];
    let host = Host { numbers, picks: vec![vec![0, 1, 0]], trace: None, calls: None };
    (
        host,
        Beside {
            tick_ns: 15_000,
            crossing_ns: Some(30_000),
            program_ns: Some(50_000),
            call_ns: simulate::CALL_NS,
            interruptions,
            ..Beside::default()
        },
    )
}

/// The three cases, as they come back from the text.
fn through_text() -> Kept {
    let cases = cases();
    let mut kept = Kept::default();
    kept.keep(&cases[0], "work", &vec![recorded(10)]);
    kept.keep(&cases[1], "work", &vec![recorded(20), recorded(21)]);
    kept.keep(&cases[2], "work", &vec![recorded(30)]);
    parse(&kept.text(&cases).unwrap()).unwrap()
}

fn why(result: Result<Recordings>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn what_was_kept_comes_back_and_picks_where_they_are_compared() {
    let (cases, kept) = (cases(), through_text());

    let [once, twice, picks] = [0, 1, 2].map(|nr: usize| kept.of(&cases[nr], "work").unwrap());

    let (host, beside) = recorded(10);
    assert_eq!((once[0].0.numbers.clone(), once[0].1.clone()), (host.numbers, beside));
    assert!(once[0].0.picks.is_empty());
    assert_eq!(twice.iter().map(|(host, _)| host.numbers.switches).collect::<Vec<_>>(), [20, 21]);
    assert_eq!(picks[0].0.picks, [[0, 1, 0]]);
}

#[test]
fn a_case_that_changed_or_was_never_recorded_is_an_error_that_says_so() {
    let (cases, kept) = (cases(), through_text());
    let longer = Case { duration_ns: 1, ..cases[0].clone() };
    let other = Case { set: vec!["quantum_ns=1ms".into()], ..cases[0].clone() };
    let more = Case { timings: 3, ..cases[1].clone() };

    assert!(kept.of(&cases[0], "work").is_ok());
    for changed in [kept.of(&cases[0], "work!"), kept.of(&longer, "work"), kept.of(&other, "work")]
    {
        assert!(why(changed).contains("hogs/rr/1: its workload, tunables or length changed"));
    }
    assert!(why(kept.of(&more, "work")).contains("hogs/rr/2, timing 2: no recording is kept"));
}

#[test]
fn recordings_of_cases_that_are_gone_go_and_a_bad_line_is_named() {
    let (cases, kept) = (cases(), through_text());

    let text = kept.text(&cases[..1]).unwrap();

    assert_eq!(text.lines().count(), 1);
    let why = |text: &str| format!("{:#}", parse(text).unwrap_err());
    assert!(why(&format!("{text}{{\"name\":1}}")).starts_with("line 2: invalid type"));
    assert_eq!(why(&format!("{text}{text}")), "line 2: hogs/rr/1 is there already");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(lines in vec(".{0,40}", 0..4), cut in 0usize..400) {
        let good = through_text().text(&cases()).unwrap();
        let part: String = good.chars().take(cut).collect();
        let _ = parse(&format!("{part}{}", lines.join("\n")));
    }

    #[test]
    fn shares_come_back_to_the_last_bit(shares in vec(0.0f64..1.0, 1..6)) {
        let cases = cases();
        let (mut host, beside) = recorded(1);
        host.numbers.shares = shares.iter().map(|share| ("a".into(), *share)).collect();
        let mut kept = Kept::default();
        kept.keep(&cases[0], "work", &vec![(host.clone(), beside)]);

        let again = parse(&kept.text(&cases).unwrap()).unwrap().of(&cases[0], "work").unwrap();

        prop_assert_eq!(&again[0].0.numbers, &host.numbers);
    }
}
