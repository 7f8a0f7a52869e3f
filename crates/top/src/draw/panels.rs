// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is shown in place of the table: the keys, and the policy.

use super::DIM;
use crate::app::App;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

const HELP: [&str; 19] = [
    "keys",
    "  q, Ctrl-C     quit                     space      hold the picture, go on",
    "  up, down      scroll (also PgUp, PgDn) g          tasks, or their cgroups",
    "  s             sort by the next column  r          the other way round",
    "  /             filter by name, pid or cgroup; Esc shows all again",
    "  + and -       less and more time in a column of the timeline",
    "  [ and ]       other CPUs",
    "  p             the policy of rota run: its counters; change its tunables, switch",
    "  w             write a recording into a file; again: end it",
    "",
    "timeline        what a CPU did for most of a column; # stands for many tasks",
    "wasted idle     a CPU was idle while a task waited that could have used it",
    "cpu             part of the time that it ran; 100% is one CPU",
    "run delay       part of the time that it waited for a CPU",
    "wakeup p99      99 of 100 wakeups were not longer from wakeup to running",
    "max             the longest of them",
    "waits           how long it has been waiting for a CPU by now",
    "",
    "Numbers are of the last 5 to 10 s.",
];

/// The keys and what the columns mean, as far as there is room.
pub(super) fn help(room: usize) -> Vec<Line<'static>> {
    HELP.iter().take(room).map(|line| Line::from(*line)).collect()
}

/// The policy of `rota run`, the tunable that is selected marked.
pub(super) fn policy(app: &App, at: usize, room: usize) -> Vec<Line<'static>> {
    let Some(policy) = &app.policy else {
        let what = [
            "No policy of rota run answers at its control socket.",
            "Start one with `sudo rota run NAME`; --control names another socket.",
        ];
        return what.map(Line::from).to_vec();
    };
    let mut lines = vec![Line::styled(
        format!("{}, held by process {}", policy.name, policy.pid),
        Style::new().add_modifier(Modifier::BOLD),
    )];
    let tunables = policy.tunables.len();
    // Tunables can be selected: they must be there. What is counted has the rest of the room.
    let shown = tunables.min(room.saturating_sub(4));
    let first = at.saturating_sub(shown.saturating_sub(1));
    let statistics = room.saturating_sub(shown + 3);
    lines.extend(policy.statistics.iter().take(statistics).map(|line| Line::from(line.clone())));
    if tunables > 0 {
        let what = "tunables (fixed ones need a restart); s: switch to another policy";
        lines.push(Line::styled(what, DIM));
    }
    let name = policy.tunables.iter().map(|of| of.name.len() + of.value.len() + 1).max();
    let name = name.unwrap_or(0);
    for (number, of) in policy.tunables.iter().enumerate().skip(first).take(shown) {
        let value = format!("{}={}", of.name, of.value);
        let live = if of.live { "live " } else { "fixed" };
        let mark = if number == at { '>' } else { ' ' };
        let style = match number == at {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        lines.push(Line::styled(format!("{mark} {value:<name$}  {live}  {}", of.help), style));
    }
    lines
}
