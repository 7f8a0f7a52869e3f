// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user looks at, and what keys do.

use crate::policy::Policy;
use crate::rows::{By, Order};
use crate::snapshot::Snapshot;
use crate::timeline::STEP_NS;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::Arc;

/// How much time a column of the timeline is.
const ZOOMS: [u64; 5] = [STEP_NS, 2 * STEP_NS, 5 * STEP_NS, 10 * STEP_NS, 20 * STEP_NS];
/// Rows that a page moves by.
const PAGE: usize = 10;
/// What a line of input can hold.
const LONGEST_INPUT: usize = 200;

/// Where the events come from, and what that allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// For the title: the kernel, or the file.
    pub name: String,
    /// It is this computer, now: what happens can be recorded.
    pub live: bool,
}

/// What is open above the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Panel {
    #[default]
    None,
    Help,
    /// The policy, with the tunable that is selected.
    Policy(usize),
}

/// A line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Filter,
    /// The new value of a tunable.
    Value(String),
    /// The policy that shall schedule in place of this one.
    Policy,
    /// The file of a recording.
    File,
}

/// What a key asks of whoever shows the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing more.
    None,
    /// To end.
    Quit,
    /// To hold the picture, or go on.
    Pause(bool),
    /// To set a tunable of the policy.
    Set(String, String),
    /// To load this policy, with settings, in place of the one that `rota run` has loaded.
    Switch(String),
    /// To record into this file.
    Record(String),
    /// To end the recording.
    StopRecording,
}

/// What is shown, and how.
#[derive(Clone, Debug, Default)]
pub struct App {
    /// Where events come from.
    pub source: Source,
    /// What is shown.
    pub snapshot: Arc<Snapshot>,
    /// The policy of `rota run`.
    pub policy: Option<Policy>,
    /// The sched_ext scheduler that the kernel has.
    pub scheduler: Option<String>,
    /// The file that is recorded into, and since when.
    pub recording: Option<String>,
    /// There are no more events.
    pub ended: bool,
    /// Events that were lost.
    pub lost: u64,
    pub(crate) message: Option<String>,
    pub(crate) paused: bool,
    pub(crate) by: By,
    pub(crate) order: Order,
    pub(crate) reverse: bool,
    pub(crate) filter: String,
    pub(crate) first_row: usize,
    pub(crate) first_cpu: usize,
    pub(crate) panel: Panel,
    pub(crate) input: Option<(Input, String)>,
    zoom: usize,
}

impl App {
    /// Of these events.
    pub fn new(source: Source) -> Self {
        Self { source, zoom: 2, ..Self::default() }
    }

    /// Says something in the last line, until the next key.
    pub fn say(&mut self, message: String) {
        self.message = Some(message);
    }

    /// Whether the picture is held.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The time that a column of the timeline is of.
    pub(crate) fn column_ns(&self) -> u64 {
        ZOOMS[self.zoom.min(ZOOMS.len() - 1)]
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Action::Quit,
                _ => Action::None,
            };
        }
        if let Some((input, text)) = self.input.take() {
            return self.type_in(input, text, key.code);
        }
        match (&self.panel, key.code) {
            (_, KeyCode::Char('q')) => Action::Quit,
            (Panel::Help, _) => self.open(Panel::None),
            (Panel::Policy(at), code) => {
                let at = *at;
                self.policy_key(at, code)
            }
            (Panel::None, code) => self.main_key(code),
        }
    }

    fn main_key(&mut self, code: KeyCode) -> Action {
        match code {
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.open(Panel::Help),
            KeyCode::Char(' ') => {
                self.paused = !self.paused;
                Action::Pause(self.paused)
            }
            KeyCode::Char('/') => self.ask(Input::Filter, self.filter.clone()),
            KeyCode::Esc => {
                self.filter.clear();
                self.top()
            }
            KeyCode::Char('s') => {
                self.order = self.order.next();
                self.top()
            }
            KeyCode::Char('r') => {
                self.reverse = !self.reverse;
                self.top()
            }
            KeyCode::Char('g') => {
                self.by = if self.by == By::Tasks { By::Cgroups } else { By::Tasks };
                self.top()
            }
            KeyCode::Char('+' | '=') => self.zoom(self.zoom.saturating_sub(1)),
            KeyCode::Char('-') => self.zoom((self.zoom + 1).min(ZOOMS.len() - 1)),
            KeyCode::Char(']') => self.cpus(self.first_cpu + 1),
            KeyCode::Char('[') => self.cpus(self.first_cpu.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(self.first_row + 1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(self.first_row.saturating_sub(1)),
            KeyCode::PageDown => self.scroll(self.first_row + PAGE),
            KeyCode::PageUp => self.scroll(self.first_row.saturating_sub(PAGE)),
            KeyCode::Home => self.scroll(0),
            KeyCode::Char('p') => self.open(Panel::Policy(0)),
            KeyCode::Char('w') => self.record(),
            _ => Action::None,
        }
    }

    fn policy_key(&mut self, at: usize, code: KeyCode) -> Action {
        let tunables = self.policy.as_ref().map_or(&[][..], |policy| &policy.tunables);
        let last = tunables.len().saturating_sub(1);
        match code {
            KeyCode::Esc | KeyCode::Char('p') => self.open(Panel::None),
            KeyCode::Down | KeyCode::Char('j') => self.open(Panel::Policy((at + 1).min(last))),
            KeyCode::Up | KeyCode::Char('k') => self.open(Panel::Policy(at.saturating_sub(1))),
            KeyCode::Char('s') if self.policy.is_some() => self.ask(Input::Policy, String::new()),
            KeyCode::Enter => match tunables.get(at) {
                Some(tunable) if tunable.live => {
                    let (name, value) = (tunable.name.clone(), tunable.value.clone());
                    self.ask(Input::Value(name), value)
                }
                Some(tunable) => {
                    let name = &tunable.name;
                    self.message = Some(format!(
                        "{name} is fixed when the policy is loaded: restart rota run with --set {name}=…"
                    ));
                    Action::None
                }
                None => Action::None,
            },
            _ => Action::None,
        }
    }

    fn record(&mut self) -> Action {
        if self.recording.is_some() {
            return Action::StopRecording;
        }
        if !self.source.live {
            self.message = Some("a trace that is played is recorded already".into());
            return Action::None;
        }
        self.ask(Input::File, "rota-top.parquet".into())
    }

    fn type_in(&mut self, input: Input, mut text: String, code: KeyCode) -> Action {
        match code {
            KeyCode::Esc => return Action::None,
            KeyCode::Enter => return self.typed(input, text),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(char) if text.len() < LONGEST_INPUT => text.push(char),
            _ => {}
        }
        if input == Input::Filter {
            self.filter.clone_from(&text);
            self.first_row = 0;
        }
        self.input = Some((input, text));
        Action::None
    }

    fn typed(&mut self, input: Input, text: String) -> Action {
        match input {
            Input::Filter => {
                self.filter = text;
                self.top()
            }
            Input::Value(name) => Action::Set(name, text),
            Input::Policy | Input::File if text.trim().is_empty() => Action::None,
            Input::Policy => Action::Switch(text),
            Input::File => Action::Record(text),
        }
    }

    fn open(&mut self, panel: Panel) -> Action {
        self.panel = panel;
        Action::None
    }

    fn ask(&mut self, input: Input, text: String) -> Action {
        self.input = Some((input, text));
        Action::None
    }

    fn top(&mut self) -> Action {
        self.scroll(0)
    }

    fn scroll(&mut self, to: usize) -> Action {
        let rows = match self.by {
            By::Tasks => self.snapshot.tasks.len(),
            By::Cgroups => self.snapshot.groups.len(),
        };
        self.first_row = to.min(rows.saturating_sub(1));
        Action::None
    }

    fn cpus(&mut self, to: usize) -> Action {
        self.first_cpu = to.min(self.snapshot.cpus.len().saturating_sub(1));
        Action::None
    }

    fn zoom(&mut self, to: usize) -> Action {
        self.zoom = to;
        Action::None
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
