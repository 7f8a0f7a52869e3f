// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::policy::Tunable;

fn app(live: bool) -> App {
    let mut app = App::new(Source { name: "here".into(), live });
    let tunable = |name: &str, value: &str, live| Tunable {
        name: name.into(),
        value: value.into(),
        live,
        help: String::new(),
    };
    let tunables = vec![tunable("quantum_ns", "10", true), tunable("tie", "rr", false)];
    app.policy = Some(Policy { name: "wfq".into(), tunables, ..Policy::default() });
    app
}

fn press(app: &mut App, code: KeyCode) -> Action {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Types characters; returns what the last one asked for.
fn type_in(app: &mut App, text: &str) -> Action {
    text.chars().map(|char| press(app, KeyCode::Char(char))).last().expect("a character")
}

#[test]
fn q_and_ctrl_c_quit_from_everywhere() {
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for before in ["", "?", "p"] {
        let mut app = app(true);
        before.chars().for_each(|char| drop(press(&mut app, KeyCode::Char(char))));
        assert_eq!(app.clone().key(ctrl_c), Action::Quit, "{before}");
        assert_eq!(press(&mut app, KeyCode::Char('q')), Action::Quit, "{before}");
    }
    // A q that is typed is a letter.
    let mut app = app(true);
    assert_eq!(type_in(&mut app, "/q"), Action::None);
    assert_eq!((app.clone().key(ctrl_c), app.filter.as_str()), (Action::Quit, "q"));
}

#[test]
fn a_filter_holds_while_it_is_typed_and_esc_ends_it() {
    let mut app = app(true);
    type_in(&mut app, "/we bx");
    press(&mut app, KeyCode::Backspace);
    assert_eq!(app.filter, "we b");
    press(&mut app, KeyCode::Enter);
    assert_eq!((app.filter.as_str(), app.input.is_none()), ("we b", true));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.filter, "");
}

#[test]
fn space_holds_the_picture_and_lets_it_go() {
    let mut app = app(true);
    assert_eq!(press(&mut app, KeyCode::Char(' ')), Action::Pause(true));
    assert_eq!(press(&mut app, KeyCode::Char(' ')), Action::Pause(false));
}

#[test]
fn a_tunable_is_changed_with_its_value_to_begin_with() {
    let mut app = app(true);
    press(&mut app, KeyCode::Char('p'));
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Backspace);
    type_in(&mut app, "5ms");
    let set = Action::Set("quantum_ns".into(), "15ms".into());
    assert_eq!(press(&mut app, KeyCode::Enter), set);
    assert_eq!(app.panel, Panel::Policy(0), "the panel stays");
}

#[test]
fn a_fixed_tunable_is_not_asked_for_but_explained() {
    let mut app = app(true);
    press(&mut app, KeyCode::Char('p'));
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    assert_eq!(app.panel, Panel::Policy(1), "there are two");
    assert_eq!(press(&mut app, KeyCode::Enter), Action::None);
    assert!(app.input.is_none());
    assert!(app.message.as_ref().is_some_and(|m| m.contains("--set tie=…")), "{:?}", app.message);
    // Without a policy there is nothing to select.
    app.policy = None;
    assert_eq!(press(&mut app, KeyCode::Enter), Action::None);
}

#[test]
fn another_policy_is_asked_for_where_one_answers() {
    let mut app = app(true);
    press(&mut app, KeyCode::Char('p'));
    press(&mut app, KeyCode::Char('s'));
    assert_eq!(press(&mut app.clone(), KeyCode::Enter), Action::None, "no name");
    type_in(&mut app, "wfq:quantum_ns=2ms");
    let switch = Action::Switch("wfq:quantum_ns=2ms".into());
    assert_eq!(press(&mut app, KeyCode::Enter), switch);
    assert_eq!(app.panel, Panel::Policy(0), "the panel stays");
    app.policy = None;
    press(&mut app, KeyCode::Char('s'));
    assert!(app.input.is_none());
}

#[test]
fn a_recording_is_begun_and_ended_with_the_same_key() {
    let mut app = app(true);
    press(&mut app, KeyCode::Char('w'));
    (0.."rota-top.parquet".len()).for_each(|_| drop(press(&mut app, KeyCode::Backspace)));
    assert_eq!(press(&mut app.clone(), KeyCode::Enter), Action::None, "no file");
    type_in(&mut app, "a.csv");
    assert_eq!(press(&mut app, KeyCode::Enter), Action::Record("a.csv".into()));
    app.recording = Some("a.csv".into());
    assert_eq!(press(&mut app, KeyCode::Char('w')), Action::StopRecording);
}

#[test]
fn a_trace_is_not_recorded() {
    let mut app = app(false);
    assert_eq!(press(&mut app, KeyCode::Char('w')), Action::None);
    assert!(app.input.is_none() && app.message.is_some());
}

#[test]
fn keys_choose_order_rows_and_columns() {
    let mut app = app(true);
    assert_eq!(
        (app.order, app.reverse, app.by, app.column_ns()),
        (Order::Cpu, false, By::Tasks, 50_000_000)
    );
    type_in(&mut app, "srg-");
    assert_eq!((app.order, app.reverse, app.by), (Order::RunDelay, true, By::Cgroups));
    assert_eq!(app.column_ns(), 100_000_000);
    type_in(&mut app, "---");
    assert_eq!(app.column_ns(), 200_000_000);
    type_in(&mut app, "++++++");
    assert_eq!(app.column_ns(), 10_000_000);
}

#[test]
fn releasing_a_key_does_nothing() {
    let mut app = app(true);
    let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    key.kind = KeyEventKind::Release;
    assert_eq!(app.key(key), Action::None);
}
