// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::app::Source;
use crate::policy::{Policy, Tunable};
use crate::state::State;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn tell(state: &mut State, ms: u64, cpu: u32, kind: EventKind) {
    state.event(&Event { time_ns: ms * MS, cpu: Some(cpu), kind });
}

fn name(state: &mut State, pid: u32, name: &str) {
    let (name, instance_of) = (name.to_owned(), None);
    tell(state, 0, 0, EventKind::Task { pid, name, weight: 100, instance_of });
}

/// What is shown of a trace at a time.
fn app(state: &mut State, ms: u64) -> App {
    state.advance(ms * MS);
    let mut app = App::new(Source { name: "run.parquet".into(), live: false });
    app.snapshot = Arc::new(state.snapshot());
    app
}

/// The lines of a terminal of this size, without the blanks at their ends.
fn screen(app: &App, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| draw(app, frame.area(), frame.buffer_mut())).expect("drawn");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let lines: Vec<String> = (0..height).map(|y| line(y).trim_end().to_owned()).collect();
    assert_eq!(lines.join("\n") + "\n", text(app, width, height), "the text is the screen");
    lines
}

const CAPTION: &str = "50.0ms a column; A-z task, - partly idle, . idle, ! idle while a task waits";
const HEADER: &str =
    "  task                pid     cpu run delay wakeup p99     max wakeups/s   waits";
const KEYS: &str = "? help  q quit  space pause  / filter  s sort  g groups  p policy  w record";

/// Blanks for columns of the timeline before its events began, of 72.
fn before(columns: usize) -> String {
    " ".repeat(72 - columns)
}

#[test]
fn an_idle_machine_is_dots() {
    let mut state = State::new(2);
    name(&mut state, 7, "tick");
    tell(&mut state, 100, 0, EventKind::Wakeup { pid: 7, waker: 0 });
    tell(&mut state, 100, 0, EventKind::SwitchIn { pid: 7 });
    tell(&mut state, 106, 0, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep });
    // 6 of 2000 ms were busy, 6 of the 50 ms of the third column.
    let lines = screen(&app(&mut state, 1000), (80, 16));
    let expected = [
        "rota top  run.parquet, 2 CPUs                                               1.0s".into(),
        "busy 0.3%  wasted idle 0.0%  waiting 0  wakeup p99 0ns  1 switches/s".into(),
        CAPTION.into(),
        format!("CPU 0   {}..-.................", before(20)),
        format!("CPU 1   {}....................", before(20)),
        "1 task by cpu; the last 1.0s".to_owned(),
        HEADER.into(),
        "A tick                  7    0.6%      0.0%        0ns     0ns       1.0       -".into(),
    ];
    assert_eq!(lines[..8], expected);
    assert_eq!((&lines[8..15], lines[15].as_str()), (&[const { String::new() }; 7][..], KEYS));
}

#[test]
fn an_overloaded_machine_shows_who_waits_and_which_cpu_idles_meanwhile() {
    let mut state = State::new(2);
    for (pid, of) in [(1, "busy-1"), (2, "busy-2"), (3, "hungry"), (4, "late")] {
        name(&mut state, pid, of);
    }
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 1 });
    tell(&mut state, 0, 1, EventKind::SwitchIn { pid: 2 });
    tell(&mut state, 400, 0, EventKind::Wakeup { pid: 3, waker: 1 });
    tell(&mut state, 500, 1, EventKind::SwitchOut { pid: 2, why: OffCpu::Sleep });
    tell(&mut state, 600, 1, EventKind::SwitchIn { pid: 3 });
    tell(&mut state, 900, 0, EventKind::Wakeup { pid: 4, waker: 1 });
    // Busy 1000 + 500 + 400 of 2000 ms; CPU 1 was idle 500 to 600 ms while task 3 waited.
    let lines = screen(&app(&mut state, 1000), (80, 16));
    let expected = [
        "rota top  run.parquet, 2 CPUs                                               1.0s".into(),
        "busy 95.0%  wasted idle 5.0%  waiting 1  wakeup p99 200ms  3 switches/s".into(),
        CAPTION.into(),
        format!("CPU 0   {}AAAAAAAAAAAAAAAAAAAA", before(20)),
        format!("CPU 1   {}BBBBBBBBBB!!CCCCCCCC", before(20)),
        "4 tasks by cpu; the last 1.0s".to_owned(),
        HEADER.into(),
        "A busy-1                1  100.0%      0.0%          -       -       0.0       -".into(),
        "B busy-2                2   50.0%      0.0%          -       -       0.0       -".into(),
        "C hungry                3   40.0%     20.0%      200ms   200ms       1.0       -".into(),
        "  late                  4    0.0%     10.0%          -       -       0.0   100ms".into(),
    ];
    assert_eq!(lines[..11], expected);
}

#[test]
fn an_ejected_policy_is_said_with_its_reason() {
    let mut state = State::new(1);
    name(&mut state, 1, "A-1");
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 1 });
    let reason = "runnable task stall (B-1[1002] failed to run for 0.148s)".to_owned();
    // SCX_EXIT_ERROR_STALL
    tell(&mut state, 750, 0, EventKind::PolicyExit { kind: 1026, code: 0, reason });
    let mut app = app(&mut state, 1000);
    app.scheduler = Some("mine".into());
    let lines = screen(&app, (80, 16));
    let title = "rota top  run.parquet, 1 CPU, scheduler mine";
    assert_eq!(lines[0], format!("{title:<76}1.0s"));
    assert_eq!(
        lines[2],
        "the policy was ejected at 0.750s: runnable task stall (B-1[1002] failed to run fo"
            .chars()
            .take(80)
            .collect::<String>()
    );
    assert_eq!(lines[3], CAPTION);
    assert_eq!(lines[4], format!("CPU 0   {}AAAAAAAAAAAAAAAAAAAA", before(20)));
    // SCX_EXIT_UNREG
    tell(
        &mut state,
        1000,
        0,
        EventKind::PolicyExit { kind: 64, code: 0, reason: "unregistered".into() },
    );
    app.snapshot = Arc::new(state.snapshot());
    assert_eq!(screen(&app, (80, 16))[2], "the policy left at 1.000s: unregistered");
}

#[test]
fn what_is_open_takes_the_place_of_the_table() {
    let mut app = app(&mut State::new(1), 1000);
    app.key(KeyEvent::new(KeyCode::Char('?'), KeyModifiers::NONE));
    let lines = screen(&app, (80, 24));
    assert_eq!(lines[2], "keys");
    assert!(lines.iter().any(|line| line.contains("Ctrl-C     quit")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("Numbers are of")), "all of it: {lines:#?}");
    app.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
    app.key(KeyEvent::new(KeyCode::Char('p'), KeyModifiers::NONE));
    assert!(screen(&app, (80, 24))[2].contains("No policy"));
    let tunable = |name: &str, live| Tunable {
        name: name.into(),
        value: "5".into(),
        live,
        help: "What it does".into(),
    };
    app.policy = Some(Policy {
        name: "wfq".into(),
        pid: 12,
        statistics: vec!["wfq, 1.00s at 12.198".into(), "  picks/s".into()],
        tunables: vec![tunable("quantum_ns", true), tunable("tie", false)],
    });
    let expected = [
        "wfq, held by process 12",
        "wfq, 1.00s at 12.198",
        "  picks/s",
        "tunables (fixed ones need a restart); s: switch to another policy",
        "> quantum_ns=5  live   What it does",
        "  tie=5         fixed  What it does",
    ];
    assert_eq!(screen(&app, (80, 24))[2..8], expected);
}

#[test]
fn many_cpus_leave_room_for_the_table_and_can_be_scrolled() {
    let mut app = app(&mut State::new(64), 1000);
    // Of 24 lines 6 have other uses: 9 for CPUs.
    let lines = screen(&app, (80, 24));
    assert!(lines[2].starts_with("CPUs 0 to 8 of 64 ([ and ]"), "{}", lines[2]);
    assert_eq!((&lines[3][..6], &lines[11][..6], &lines[12][..7]), ("CPU 0 ", "CPU 8 ", "0 tasks"));
    app.key(KeyEvent::new(KeyCode::Char(']'), KeyModifiers::NONE));
    assert_eq!(&screen(&app, (80, 24))[3][..6], "CPU 1 ");
}

#[test]
fn a_terminal_that_is_too_small_says_so_and_none_is_too_large() {
    let app = app(&mut State::new(1), 1000);
    assert_eq!(screen(&app, (30, 3))[..2], ["terminal too small", "80 x 16 needed, 30 x 3 here"]);
    for size in [(1, 1), (80, 15), (79, 24), (80, 16), (81, 17), (500, 200)] {
        screen(&app, size);
    }
}

#[test]
fn what_is_typed_and_said_is_in_the_last_line() {
    let mut app = app(&mut State::new(1), 1000);
    app.say("rotten".into());
    assert_eq!(screen(&app, (80, 16))[15], "rotten");
    "/we".chars().for_each(|char| {
        app.key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE));
    });
    let lines = screen(&app, (80, 16));
    assert_eq!(lines[15], "filter by name, pid or cgroup: we_   (Enter: done, Esc: not)");
    assert_eq!(lines[4], "0 of 0 tasks with \"we\" by cpu; the last 1.0s");
}

#[test]
fn a_name_cannot_speak_to_the_terminal() {
    let mut state = State::new(1);
    name(&mut state, 7, "a\u{1b}[31m\nb\u{9b}c");
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 7 });
    let mut app = app(&mut state, 1000);
    app.say("d\u{1b}]0;e".into());
    let lines = screen(&app, (80, 16));
    assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("A a[31mbc")), "{lines:#?}");
}
