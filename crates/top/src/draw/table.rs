// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of tasks or cgroups.

use super::timeline::style;
use super::DIM;
use crate::app::App;
use crate::rows::{rows, By, Order};
use crate::snapshot::Row;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use rota_measure::units::{percent, time};

/// Widths of the columns after the name, with the blank before each.
const COLUMNS: [usize; 7] = [8, 8, 10, 11, 8, 10, 8];
/// The letter and a blank.
const LETTER: usize = 2;
/// From this width on tasks have their cgroup, too.
const WIDE: usize = 120;
const CGROUP: usize = 32;

/// The caption, the header and as many rows as there is room for.
pub(super) fn lines(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    let of = &app.snapshot;
    let rows = rows(of, app.by, &app.filter, (app.order, app.reverse));
    let cgroup = app.by == By::Tasks && width >= WIDE;
    let mut name = width - LETTER - COLUMNS.iter().sum::<usize>();
    if cgroup {
        name -= CGROUP;
    }
    let mut lines = vec![caption(app, rows.len()), header(app.by, name, cgroup)];
    let shown = rows.iter().skip(app.first_row).take(room.saturating_sub(lines.len()));
    lines.extend(shown.map(|row| line(row, of.window_ns, name, cgroup)));
    lines
}

fn caption(app: &App, shown: usize) -> Line<'static> {
    let (what, all) = match app.by {
        By::Tasks => ("task", app.snapshot.tasks.len()),
        By::Cgroups => ("cgroup", app.snapshot.groups.len()),
    };
    let what = if all == 1 { what.to_owned() } else { format!("{what}s") };
    let order = match (app.order == Order::Name, app.reverse) {
        (false, false) => "",
        (false, true) => ", least first",
        (true, false) => "",
        (true, true) => ", last first",
    };
    let filter = match app.filter.is_empty() {
        true => format!("{all} {what}"),
        false => format!("{shown} of {all} {what} with \"{}\"", app.filter),
    };
    let window = app.snapshot.window_ns as f64 / 1e9;
    let what = format!("{filter} by {}{order}; the last {window:.1}s", app.order.title());
    Line::styled(what, DIM)
}

fn header(by: By, name: usize, cgroup: bool) -> Line<'static> {
    let (first, second) = match by {
        By::Tasks => ("task", "pid"),
        By::Cgroups => ("cgroup", "tasks"),
    };
    let titles = [second, "cpu", "run delay", "wakeup p99", "max", "wakeups/s", "waits"];
    let mut text = format!("{:LETTER$}{first:<name$}", "");
    for (title, width) in titles.iter().zip(COLUMNS) {
        text.push_str(&format!("{title:>width$}"));
    }
    if cgroup {
        text.push_str("  cgroup");
    }
    Line::styled(text, Style::new().add_modifier(Modifier::REVERSED))
}

fn line(row: &Row, window_ns: u64, name: usize, cgroup: bool) -> Line<'static> {
    let part = |ns: u64| percent(ns as f64 / window_ns.max(1) as f64);
    let or_dash = |ns: Option<u64>| ns.map_or("-".into(), time);
    let of = &row.numbers;
    let per_second = of.wakeups as f64 * 1e9 / window_ns.max(1) as f64;
    let cells = [
        row.pid.map_or(row.tasks.to_string(), |pid| pid.to_string()),
        part(of.run_ns),
        part(of.delay_ns),
        or_dash(of.p99_ns),
        or_dash(of.max_ns),
        format!("{per_second:.1}"),
        or_dash(row.waits_ns),
    ];
    let letter = row.letter.map_or(' ', char::from);
    let mut text = format!(" {:<name$}", shortened(&row.name, name));
    for (cell, width) in cells.iter().zip(COLUMNS) {
        text.push_str(&format!("{cell:>width$}"));
    }
    if cgroup {
        text.push_str(&format!("  {}", shortened(&row.group, CGROUP - 2)));
    }
    Line::from(vec![Span::styled(letter.to_string(), style(letter)), Span::raw(text)])
}

/// A name that fits. Of a path the end says most.
fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let keep = most.saturating_sub(1);
    match name.starts_with('/') {
        true => format!("…{}", name.chars().skip(length - keep).collect::<String>()),
        false => format!("{}…", name.chars().take(keep).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_too_long_lose_what_says_least() {
        assert_eq!(shortened("nginx", 5), "nginx");
        assert_eq!(shortened("nginx-worker", 6), "nginx…");
        assert_eq!(shortened("/system.slice/nginx", 6), "…nginx");
    }
}
