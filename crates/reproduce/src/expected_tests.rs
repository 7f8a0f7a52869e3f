// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::papers;
use proptest::prelude::*;

const HEAD: &str = "title = 't'\nauthors = 'a'\npublished = 'p'\n[[figure]]\nid = 'fig1'\n\
                    title = 't'\nplace = 'p'\nsays = 's'\ndiffers = 'd'\n[[figure.number]]\n\
                    key = 'k'\nwhat = 'w'\nplace = 'p'\n";

fn found(key: &str, ours: f64) -> Found {
    let numbers = vec![(key.to_owned(), ours.into())];
    Found { id: "fig1", ran: String::new(), numbers, tables: vec![], drawings: vec![] }
}

fn parsed(more: &str) -> Expected {
    Expected::parse("x", &format!("{HEAD}{more}\n")).expect(more)
}

/// Of the first number, or of the one with that key.
fn verdict(expected: &Expected, key: &str, ours: f64) -> Verdict {
    let figure = expected.judge(&found(key, ours)).expect("known");
    figure.numbers.iter().find(|number| number.key == key).expect("there").verdict
}

#[test]
fn every_papers_file_describes_each_of_its_figures() {
    for paper in papers() {
        let expected = Expected::parse(paper.name, paper.expected).expect("is in order");
        let ids: Vec<&str> =
            expected.figures.iter().map(|figure| figure.id.get_ref().as_str()).collect();
        assert_eq!(ids, paper.figures());
    }
}

#[test]
fn tolerances_may_be_percentages() {
    let expected = parsed("value = -398.0\nwithin_percent = 2.0");
    assert_eq!(verdict(&expected, "k", -391.0), Verdict::Agrees);
    assert_eq!(verdict(&expected, "k", -389.0), Verdict::Differs);
}

#[test]
fn what_the_paper_does_not_state_is_ours_and_still_has_to_hold() {
    let expected = parsed("ours = true\nat_most = 300.0");
    assert_eq!(verdict(&expected, "k", 290.0), Verdict::Ours);
    assert_eq!(verdict(&expected, "k", 310.0), Verdict::Differs);
    assert_eq!(verdict(&parsed("ours = true"), "k", 310.0), Verdict::Ours);
}

#[test]
fn a_known_difference_is_no_regression_until_it_vanishes() {
    let expected = parsed("at_most = 1.0\nknown = 'its clients take CPU time'");
    assert_eq!(verdict(&expected, "k", 1.1), Verdict::Known);
    assert_eq!(verdict(&expected, "k", 0.9), Verdict::Vanished);
}

#[test]
fn numbers_of_a_series_are_judged_apart() {
    let expected = parsed(
        "series = 'N'\nat = [2, 13]\nvalues = [4.0, 48.0]\nwithin = 0.5\nknown = 'why'\n\
         known_at = [13]",
    );
    assert_eq!(verdict(&expected, "k_2", 4.2), Verdict::Agrees);
    assert_eq!(verdict(&expected, "k_2", 48.0), Verdict::Differs);
    assert_eq!(verdict(&expected, "k_13", 48.0), Verdict::Vanished);
    assert_eq!(verdict(&expected, "k_13", 4.0), Verdict::Known);
    // All have the same bound.
    let expected = parsed("series = 'alpha'\nat = [0.1, 4]\nat_most = 1.0");
    assert_eq!(verdict(&expected, "k_0.1", 1.0), Verdict::Agrees);
    assert_eq!(verdict(&expected, "k_4", 1.1), Verdict::Differs);
}

#[test]
fn what_was_not_measured_is_no_agreement() {
    let mut found = found("k", 1.0);
    found.numbers.clear();
    let number = &parsed("at_most = 2.0").judge(&found).expect("known").numbers[0];
    assert_eq!((number.ours, number.verdict), (None, Verdict::NotMeasured));
}

#[test]
fn a_number_that_the_file_does_not_have_is_an_error() {
    assert!(parsed("at_most = 2.0").judge(&found("other", 1.0)).is_err());
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    for (bad, said) in [
        ("", "line 11: k: expected value"),
        ("value = 1.0", "line 11: k: expected value"),
        ("value = 1.0\nwithin = -1.0", "expected value"),
        ("value = 1.0\nat_least = 0.0", "expected value"),
        ("within = 1.0", "expected value"),
        ("value = 1.0\nwithin = 1.0\nwithin_percent = 1.0", "within or within_percent"),
        ("odd = 1", "line 14"),
        ("at_most = 'x'", "line 14"),
        ("at_most = 1.0\nknown = ' '", "line 11: k: known = \"\": expected a reason"),
        ("at_most = 1.0\nours = true\nknown = 'x'", "cannot differ from the paper"),
        ("at_most = 1.0\nseries = 'N'", "expected series and at"),
        ("values = [1.0]\nwithin = 1.0", "expected series and at"),
        ("series = 'N'\nat = [1, 2]\nvalues = [1.0]\nwithin = 0.0", "as at, 2, not 1"),
        (
            "series = 'N'\nat = [1]\nat_most = 1.0\nknown = 'x'\nknown_at = [3]",
            "known_at = [3]: not one",
        ),
        ("series = 'N'\nat = [1, 1]\nat_most = 1.0", "another number k_1"),
    ] {
        let error = Expected::parse("x", &format!("{HEAD}{bad}\n")).expect_err(bad).to_string();
        assert!(error.starts_with("papers/x/expected.toml: "), "{error}");
        assert!(error.contains(said), "{bad}: {error}");
    }
    let twice = format!("{HEAD}at_most = 1.0\n{}", &HEAD[HEAD.find("[[figure]]").unwrap()..]);
    let error = Expected::parse("x", &format!("{twice}at_most = 1.0\n")).expect_err("two fig1");
    assert!(error.to_string().contains("line 16: fig1: there is another figure"), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}", cut in 0..200usize) {
        let _ = Expected::parse("x", &text);
        let mut broken = format!("{HEAD}value = 1.0\n");
        broken.truncate(cut.min(broken.len()));
        let _ = Expected::parse("x", &(broken + &text));
    }

    #[test]
    fn any_settings_of_a_number_are_read_or_refused(
        settings in proptest::collection::btree_map(
            proptest::sample::select(vec![
                "value", "within", "within_percent", "at_least", "at_most", "ours", "not_judged",
                "known", "series", "at", "values", "known_at",
            ]),
            proptest::sample::select(vec!["1.0", "-2", "nan", "true", "'x'", "[1, 2]", "[]"]),
            0..6,
        )
    ) {
        let settings: Vec<String> =
            settings.into_iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        match Expected::parse("x", &format!("{HEAD}{}", settings.concat())) {
            // Who is read can be judged.
            Ok(expected) => {
                for number in &expected.figures[0].numbers {
                    let _ = verdict(&expected, &number.key, 1.0);
                }
            }
            Err(error) => prop_assert!(error.to_string().contains("line "), "{error}"),
        }
    }
}
