// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as text, and replayed.

use proptest::prelude::*;
use rota_choice::{Alternatives, ChoiceError, Choices, Origin, Recording, Replayed, Seeded, Site};
use std::sync::Arc;

/// So many alternatives, of which the documented order takes one.
#[derive(Clone, Copy, Debug)]
struct Among {
    count: u32,
    documented: u32,
}

impl Alternatives for Among {
    fn count(&self) -> u32 {
        self.count
    }
    fn documented(&self) -> u32 {
        self.documented
    }
}

/// What a run asks.
#[derive(Clone, Copy, Debug)]
enum Question {
    Choose(Site, Among),
    Draw(Origin),
}

fn ask(choices: &mut Choices, question: Question) -> u64 {
    match question {
        Question::Choose(site, among) => choices.choose(site, &among).into(),
        Question::Draw(origin) => choices.draw(origin),
    }
}

fn question() -> impl Strategy<Value = Question> {
    let site = prop_oneof![
        Just(Site::FirstCpu),
        Just(Site::NextCpu),
        Just(Site::Event),
        any::<u64>().prop_map(|number| Site::TickTurn { number }),
    ];
    let count = prop_oneof![1u32..6, Just(u32::MAX)];
    let some =
        (count, any::<u32>()).prop_map(|(count, at)| Among { count, documented: at % count });
    let origin = prop_oneof![
        Just(Origin::Policy),
        (0u32..3).prop_map(Origin::Start),
        (0u32..3, any::<u64>()).prop_map(|(task, stream)| Origin::Task(task, stream)),
        (any::<u32>(), 0u32..3).prop_map(|(source, user)| Origin::Customer(source, user)),
    ];
    prop_oneof![
        3 => (site, some).prop_map(|(site, some)| Question::Choose(site, some)),
        1 => origin.prop_map(Question::Draw),
    ]
}

/// Answers of a seed to these questions, and their recording.
fn recorded(questions: &[Question], seed: u64, shuffled: bool) -> (Vec<u64>, Recording) {
    let mut seeded = Seeded::new(seed);
    if shuffled {
        seeded = seeded.with_shuffled_ties();
    }
    let mut choices = Choices::by(seeded).recorded();
    let answers = questions.iter().map(|question| ask(&mut choices, *question)).collect();
    (answers, choices.take_recording().expect("was asked for"))
}

fn parsed(text: &str) -> Result<Recording, (u64, String)> {
    Recording::parse(text.as_bytes()).map_err(|ChoiceError { line, what }| (line, what))
}

/// What is wrong if these lines are all that a recording has.
fn refused(lines: &str) -> (u64, String) {
    parsed(&format!("rota.choices/1\n{lines}\nend\n")).expect_err(lines)
}

fn replayed(lines: &str) -> Choices {
    let recording = parsed(&format!("rota.choices/1\n{lines}end\n")).expect("is right");
    Choices::by(Replayed::new(Arc::new(recording)))
}

proptest! {
    #[test]
    fn a_replay_answers_as_the_recorded_run_did(
        questions in prop::collection::vec(question(), 0..60),
        seed: u64,
        shuffled: bool,
    ) {
        let (answers, recording) = recorded(&questions, seed, shuffled);
        let again = Recording::parse(recording.to_string().as_bytes()).expect("is right");
        prop_assert_eq!(&again, &recording);
        let mut choices = Choices::by(Replayed::new(Arc::new(again))).recorded();
        let replayed: Vec<u64> = questions.iter().map(|q| ask(&mut choices, *q)).collect();
        prop_assert_eq!(replayed, answers);
        prop_assert_eq!(choices.end(), Ok(()));
        prop_assert_eq!(choices.take_recording(), Some(recording));
    }

    #[test]
    fn any_bytes_are_a_recording_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(recording) = Recording::parse(&bytes) {
            prop_assert_eq!(Recording::parse(recording.to_string().as_bytes()), Ok(recording));
        }
    }

    #[test]
    fn any_lines_are_a_recording_or_an_error_that_names_one_of_them(
        lines in "(((first-cpu|next-cpu|event|policy|start|task|customer|tick-turn|end|#) ?\
                  ([0-9]{1,11} ?){0,3}(of [0-9]{1,11}(\\.\\.[0-9]{0,2})?|0x[0-9a-f]{8}|0x[0-9a-f]{16})?)\n){0,6}",
    ) {
        let text = format!("rota.choices/1\n{lines}");
        match Recording::parse(text.as_bytes()) {
            Ok(recording) => {
                let text = recording.to_string();
                prop_assert_eq!(Recording::parse(text.as_bytes()), Ok(recording));
            }
            Err(error) => {
                prop_assert!((1..=text.split('\n').count() as u64).contains(&error.line));
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error(
        questions in prop::collection::vec(question(), 0..20),
        seed: u64,
        cut in 1usize..400,
    ) {
        let text = recorded(&questions, seed, true).1.to_string();
        // The last byte is the end of the last line, which matters to nobody.
        let whole = text.len() - 1;
        prop_assert!(Recording::parse(&text.as_bytes()[..whole.saturating_sub(cut)]).is_err());
    }
}

#[test]
fn choices_are_a_line_each_and_documented_ones_of_an_instant_share_one() {
    let event = |count| Question::Choose(Site::Event, Among { count, documented: 0 });
    let questions = [
        Question::Draw(Origin::Start(2)),
        event(4),
        event(3),
        event(2),
        event(2),
        Question::Choose(Site::TickTurn { number: 9 }, Among { count: 2, documented: 0 }),
        Question::Draw(Origin::Policy),
    ];
    let (answers, recording) = recorded(&questions, 1, false);
    let expected = format!(
        "rota.choices/1\n# a run\n# of two lines\nstart 2 0x{:016x}\nevent 0 of 4..2\nevent 0 of 2\n\
         tick-turn 9 0 of 2\npolicy 0x{:08x}\nend\n",
        answers[0], answers[6]
    );
    assert_eq!(recording.with_comment("a run\nof two lines").to_string(), expected);
}

#[test]
fn a_file_that_is_no_recording_is_told_by_its_first_line() {
    let no = |text| parsed(text).expect_err(text);
    let expected = "no recorded choices, expected rota.choices/1";
    assert_eq!(no(""), (1, format!("\"\": {expected}")));
    assert_eq!(no("{\"tasks\": {}}\n"), (1, format!("\"{{\\\"tasks\\\": {{}}}}\": {expected}")));
    let version = "another version of the format, expected rota.choices/1";
    assert_eq!(no("rota.choices/2\nend\n"), (1, format!("\"rota.choices/2\": {version}")));
    let cut = "the file is cut off: expected \"end\" as its last line";
    assert_eq!(no("rota.choices/1"), (2, cut.into()));
    assert_eq!(no("rota.choices/1\nevent 1 of 2\n"), (3, cut.into()));
}

#[test]
fn an_error_has_the_line_and_what_was_expected_there() {
    let bad = [
        ("evnt 0 of 2", "\"evnt 0 of 2\": unknown choice, did you mean \"event\"?"),
        (
            "q 1",
            "\"q 1\": unknown choice, expected one of first-cpu, next-cpu, event, tick-turn, \
             policy, start, task, customer",
        ),
        ("event", "\"event\": \"\": expected the number of the place of the chosen alternative"),
        ("event -1 of 2", "\"event -1 of 2\": \"-1\": expected the number of the place of the chosen alternative"),
        ("event 0 2", "\"event 0 2\": expected \"of\" and the number of alternatives"),
        ("event 0 of two", "\"event 0 of two\": \"two\": expected a number of alternatives"),
        ("event 0 of 1", "\"event 0 of 1\": of 1: expected 2 alternatives or more, as 4 or 4..2"),
        ("event 0 of 2..3", "\"event 0 of 2..3\": of 2..3: expected 2 alternatives or more, as 4 or 4..2"),
        ("event 4 of 4", "\"event 4 of 4\": place 4 of 4: expected 0 to 3"),
        ("event 1 of 3..2", "\"event 1 of 3..2\": place 1 of 3..2: several counts are only for place 0"),
        ("event 0 of 2 x", "\"event 0 of 2 x\": \"x\": expected the end of the line"),
        ("policy 0x12", "\"policy 0x12\": \"0x12\": expected 0x and 8 digits 0-9 and a-f"),
        ("task 1 0x123456789ABCDEF0", "\"task 1 0x123456789ABCDEF0\": \"0x123456789ABCDEF0\": expected 0x and 16 digits 0-9 and a-f"),
        ("customer 1 0x", "\"customer 1 0x\": \"0x\": expected the number of the user"),
    ];
    for (line, expected) in bad {
        assert_eq!(refused(&format!("policy 0x00000000\n{line}")), (3, expected.into()));
    }
    assert_eq!(
        refused("policy 0x00000000\n# late"),
        (3, "comments are allowed below line 1 only".into())
    );
    assert_eq!(refused("end\npolicy 0x00000000"), (3, "expected nothing after \"end\"".into()));
    let text = b"rota.choices/1\n\xff\nend\n";
    let error = Recording::parse(text).expect_err("no text");
    assert_eq!(error, ChoiceError { line: 2, what: "not UTF-8 text".into() });
}

#[test]
fn a_choice_that_does_not_fit_is_told_with_what_was_recorded_and_asked() {
    const WHY: &str = "the recording is of another workload, policy, machine or version";
    let choose = |site, count| Question::Choose(site, Among { count, documented: 0 });
    let cases = [
        (
            "event 1 of 3\n",
            choose(Site::NextCpu, 3),
            "event 1 of 3: but the run chooses next-cpu of 3",
        ),
        ("event 1 of 3\n", choose(Site::Event, 2), "event 1 of 3: but the run chooses event of 2"),
        (
            "event 1 of 3\n",
            Question::Draw(Origin::Task(4, 77)),
            "event 1 of 3: but the run chooses a random number for task 4",
        ),
        (
            "task 3 0x0000000000000001\n",
            Question::Draw(Origin::Task(4, 3)),
            "task 3 0x0000000000000001: but the run chooses a random number for task 4",
        ),
        (
            "tick-turn 1 1 of 2\n",
            choose(Site::TickTurn { number: 2 }, 2),
            "tick-turn 1 1 of 2: but the run chooses tick-turn 2 of 2",
        ),
        ("", choose(Site::Event, 2), "end: but the run chooses event of 2"),
    ];
    for (lines, question, expected) in cases {
        let mut choices = replayed(&format!("# one\n# two\n{lines}"));
        ask(&mut choices, question);
        let error = choices.end().expect_err(lines);
        assert_eq!(error, ChoiceError { line: 4, what: format!("{expected}: {WHY}") });
    }
}

#[test]
fn of_a_line_for_several_choices_the_one_that_does_not_fit_is_told() {
    let mut choices = replayed("event 0 of 5..2\n");
    let event = |count| Question::Choose(Site::Event, Among { count, documented: 0 });
    assert_eq!([5, 4].map(|count| ask(&mut choices, event(count))), [0, 0]);
    assert_eq!(choices.error(), None);
    ask(&mut choices, event(2));
    let error = choices.end().expect_err("3 come before 2");
    assert!(error.what.starts_with("event of 3: but the run chooses event of 2: "), "{error}");
    assert_eq!(error.line, 2);
}

#[test]
fn choices_that_are_left_over_are_told() {
    let mut choices = replayed("policy 0x0000000a\nevent 0 of 3..2\n");
    assert_eq!(ask(&mut choices, Question::Draw(Origin::Policy)), 10);
    ask(&mut choices, Question::Choose(Site::Event, Among { count: 3, documented: 1 }));
    let error = choices.end().expect_err("one of 2 is left");
    assert!(error.what.starts_with("event of 2: but the run chooses nothing more: "), "{error}");
    assert_eq!(error.line, 3);
}

#[test]
fn a_choice_can_be_edited_by_hand() {
    // With Windows's ends of lines, too.
    let text = "rota.choices/1\r\n# mine\r\nevent 2 of 3\r\nend\r\n";
    let recording = parsed(text).expect("is right");
    let mut choices = Choices::by(Replayed::new(Arc::new(recording)));
    let among = Among { count: 3, documented: 2 };
    assert_eq!(choices.choose(Site::Event, &among), 1, "two places after 2, around the end");
    assert_eq!(choices.end(), Ok(()));
}
