// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::Condition;
use proptest::prelude::*;

fn limit(text: &str) -> (String, Sign, f64) {
    match what(text) {
        Ok(What::Limit { metric, sign, limit }) => (metric.label(), sign, limit),
        other => panic!("{text}: {other:?}"),
    }
}

fn relative(text: &str) -> (String, bool, Way, Option<String>, f64) {
    match what(text) {
        Ok(What::Against { metric, is, way, than, by }) => (metric.label(), is, way, than, by),
        other => panic!("{text}: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    what(text).expect_err(text)
}

#[test]
fn a_limit_has_the_unit_of_its_metric() {
    let p99 = || "wakeup p99".to_owned();
    assert_eq!(limit("p99_wakeup > 5ms"), (p99(), Sign::Above, 5e6));
    assert_eq!(limit("wakeup_p99<=0"), (p99(), Sign::AtMost, 0.0));
    assert_eq!(limit("idle while tasks wait < 0.1 %"), ("wasted idle".into(), Sign::Below, 0.001));
    assert_eq!(limit("wasted_idle < 0.001").2, 0.001);
    assert_eq!(limit("jain >= 0.99").2, 0.99);
    assert_eq!(limit("lag_min > -5ms").2, -5e6);
    assert_eq!(limit("bursts/s != 200/s"), ("bursts/s".into(), Sign::IsNot, 200.0));
}

#[test]
fn a_task_is_named_in_each_of_the_ways_that_are_in_use() {
    for text in ["p99_wakeup(\"ui\") < 5ms", "wakeup_p99(ui) < 5ms", "ui:wakeup_p99 < 5ms"] {
        assert_eq!(limit(text).0, "wakeup p99 of ui", "{text}");
    }
    // As `rota record --when` has it.
    assert_eq!(limit("p99 wakeup of nginx > 20ms").0, "wakeup p99 of nginx");
    assert_eq!(limit("p99 wakeup of \"a<b worse\" > 20ms").0, "wakeup p99 of a<b worse");
    match what("share(\"ui\") within 24 % .. 26%") {
        Ok(What::Within { metric, low, high }) => {
            assert_eq!((metric.label().as_str(), low, high), ("share of ui", 0.24, 0.26));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_policy_is_the_baseline_or_has_a_name() {
    let p99 = || "wakeup p99".to_owned();
    assert_eq!(relative("p99_wakeup worse by 5%"), (p99(), true, Way::Worse, None, 0.05));
    let than = |name: &str| Some(name.to_owned());
    let text = "p99_wakeup no worse than old.bpf.o by 5 %";
    assert_eq!(relative(text), (p99(), false, Way::Worse, than("old.bpf.o"), 0.05));
    let text = "p99_wakeup(ui) not better than \"a by b\"";
    assert_eq!(relative(text).3, than("a by b"));
    assert_eq!(
        relative("jain better than eevdf"),
        ("Jain".into(), true, Way::Better, than("eevdf"), 0.0)
    );
}

#[test]
fn an_exit_is_ok_or_ejected() {
    let exit = |text: &str| match what(text) {
        Ok(What::Exit { is, ending }) => (is, ending),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(exit("exit == ok"), (true, Ending::Ok));
    assert_eq!(exit(" exit!=ejected "), (false, Ending::Ejected));
    assert!(refused("exit > ok").contains("expected == or !="));
    assert!(refused("exit == fine").contains("ok, ejected"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_was_expected() {
    for (text, parts) in [
        ("p98_wakeup > 5ms", "did you mean wakeup_p"),
        ("wakeup_p99(ui) worse by 5", "expected a percentage"),
        ("wakeup_p99 worse by -5%", "0 or more"),
        ("wakeup_p99 > 5", "expected a time such as 5ms"),
        ("wakeup_p99 > nan", "expected a time"),
        ("jain > inf", "expected a number"),
        ("wakeup_p99", "expected a comparison"),
        ("wakeup_p99 = 5ms", "expected worse or better"),
        ("wakeup_p99 worse at night", "by N%"),
        ("wakeup_p99 within 3ms", "expected two values"),
        ("wakeup_p99 within 3ms..1ms", "smaller value first"),
        ("decisions worse by 5%", "neither good nor bad"),
        ("wakeup_p99() > 5ms", "task is missing"),
        ("wakeup_p99 worse than \" \" by 5%", "policy after `than` is missing"),
        ("shar(ui) > 5%", "did you mean share?"),
    ] {
        assert!(refused(text).contains(parts), "{text}: {}", refused(text));
    }
}

/// What conditions are made of, and what nearly is.
const PARTS: &[&str] = &[
    "exit",
    "ok",
    "ejected",
    "==",
    "!=",
    "=",
    "!",
    "<",
    "<=",
    ">=",
    "p99_wakeup",
    "wakeup p99",
    "jain",
    "miss_rate",
    "share",
    "(\"ui\")",
    "(",
    ")",
    "\"",
    "of",
    "ui:",
    "within",
    "..",
    "1ms",
    "-1ms",
    "5%",
    "0",
    "1e400",
    "nan",
    "99999999999999999999s",
    "no",
    "not",
    "worse",
    "better",
    "than",
    "old",
    "by",
    "by -1%",
    "ä",
    "\u{300}",
];

proptest! {
    #[test]
    fn any_text_is_the_same_again_from_its_own_or_refused_with_what_was_wrong(
        text in "[a-z0-9_ \"()<>=!%.:]{0,40}|\\PC{0,40}",
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..8),
        between in proptest::sample::select(&["", " ", "\u{a0}"][..]),
    ) {
        for text in [text, parts.join(between), parts.join(" ")] {
            match Condition::parse(&text) {
                Ok(of) => {
                    let again = Condition::parse(&of.text).expect("its own text");
                    prop_assert_eq!(format!("{again:?}"), format!("{of:?}"));
                }
                Err(why) => {
                    let says = ["expected", "missing"].iter().any(|word| why.contains(word));
                    prop_assert!(says, "{text:?}: {why}");
                }
            }
        }
    }

    #[test]
    fn a_condition_of_any_parts_has_these_parts(
        at in 0..64usize, sign in 0..6usize, ms in 1..1_000_000u32, percent in 0..500u32,
        task in "[a-zA-Z0-9_]([a-zA-Z0-9_:<> -]{0,10}[a-zA-Z0-9])?"
    ) {
        let times: Vec<_> = metric::known(true, true).into_iter().filter(|m| m.unit == Unit::Ns).collect();
        let measure = times[at % times.len()];
        let (name, expected) = SIGNS[sign];
        let text = format!("{}(\"{task}\") {name} {ms}us", measure.key);
        let (label, sign, limit) = limit(&text);
        prop_assert_eq!(label, format!("{} of {}", measure.name, task));
        prop_assert_eq!((sign, limit), (expected, f64::from(ms) * 1e3));
        let text = format!("{} no worse than \"{task}\" by {percent}%", measure.key);
        let (_, is, way, than, by) = relative(&text);
        prop_assert_eq!((is, way, than, by), (false, Way::Worse, Some(task), f64::from(percent) / 100.0));
    }
}
