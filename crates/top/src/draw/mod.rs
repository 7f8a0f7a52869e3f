// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen, line by line: title, sums, timeline, table, keys; or a panel in place of the table.

mod panels;
mod table;
mod timeline;

use crate::app::{App, Input, Panel};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use rota_measure::units::{percent, time};

/// Less than this does not hold the table.
pub const LEAST: (u16, u16) = (80, 16);
/// Lines besides CPUs and rows: title, sums, two captions, the header of the table, keys.
const FIXED: usize = 6;

/// The whole screen.
pub fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (area.width, area.height);
    if width < LEAST.0 || height < LEAST.1 {
        let what = [
            Line::from("terminal too small"),
            Line::from(format!("{} x {} needed, {width} x {height} here", LEAST.0, LEAST.1)),
            Line::from("q quits"),
        ];
        return Paragraph::new(what.to_vec()).render(area, buffer);
    }
    let (width, height) = (usize::from(width), usize::from(height));
    let mut lines = vec![title(app, width), sums(app)];
    lines.extend(left(app));
    let room = height - lines.len() - 1;
    match app.panel {
        Panel::None => {
            let cpus = timeline::lines(app, width, (height - FIXED) / 2);
            lines.extend(cpus);
            let room = height - lines.len() - 1;
            lines.extend(table::lines(app, width, room));
        }
        Panel::Help => lines.extend(panels::help(room)),
        Panel::Policy(at) => lines.extend(panels::policy(app, at, room)),
    }
    lines.truncate(height - 1);
    lines.resize(height - 1, Line::default());
    lines.push(footer(app));
    Paragraph::new(lines).render(area, buffer);
}

/// The screen as text, for a terminal that is none: without colours, without blanks at the ends.
pub fn text(app: &App, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(app, area, &mut buffer);
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Where the events come from on the left, what is the case on the right.
fn title(app: &App, width: usize) -> Line<'static> {
    let mut states = Vec::new();
    if app.lost > 0 {
        states.push(format!("{} events LOST", app.lost));
    }
    if let Some(file) = &app.recording {
        states.push(format!("RECORDING into {file}"));
    }
    if app.paused {
        states.push("PAUSED".into());
    } else if app.ended {
        states.push("ENDED".into());
    }
    states.push(format!("{:.1}s", app.snapshot.now_ns as f64 / 1e9));
    let cpus = match app.snapshot.cpus.len() {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let scheduler = match (&app.scheduler, app.source.live) {
        (Some(name), _) => format!(", scheduler {name}"),
        (None, true) => ", the kernel's own scheduler".into(),
        (None, false) => String::new(),
    };
    let right = states.join("  ");
    let room = width.saturating_sub(right.chars().count() + 2);
    // Rather the scheduler than the kernel's release, where there is no room for both.
    let source = &app.source.name;
    let least = format!("rota top  {cpus}{scheduler}");
    let left = [format!("rota top  {source}, {cpus}{scheduler}"), least]
        .into_iter()
        .find(|text| text.chars().count() <= room)
        .unwrap_or_else(|| scheduler.trim_start_matches(", ").to_owned());
    let left: String = left.chars().take(room).collect();
    let line = format!("{left:<room$}  {right}");
    Line::styled(line, Style::new().add_modifier(Modifier::BOLD))
}

fn sums(app: &App) -> Line<'static> {
    let of = &app.snapshot;
    let (busy, wasted, all) = of.sums;
    let part = |ns: u64| percent(ns as f64 / all.max(1) as f64);
    let p99 = of.all.p99_ns.map_or("-".into(), time);
    let per_second = of.all.switches as f64 * 1e9 / of.window_ns.max(1) as f64;
    let rest = format!("  waiting {}  wakeup p99 {p99}  {per_second:.0} switches/s", of.waiting);
    let style = if wasted * 100 > all { WARN } else { Style::new() };
    Line::from(vec![
        Span::raw(format!("busy {}  ", part(busy))),
        Span::styled(format!("wasted idle {}", part(wasted)), style),
        Span::raw(rest),
    ])
}

fn left(app: &App) -> Option<Line<'static>> {
    let left = app.snapshot.left.as_ref()?;
    let verb = if left.is_ejection() { "was ejected" } else { "left" };
    let at = left.at_ns as f64 / 1e9;
    Some(Line::styled(format!("the policy {verb} at {at:.3}s: {}", left.reason), WARN))
}

fn footer(app: &App) -> Line<'static> {
    let typed = |what: &str, text: &str| {
        Line::from(vec![
            Span::styled(format!("{what}: "), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("{text}_")),
            Span::styled("   (Enter: done, Esc: not)", DIM),
        ])
    };
    match (&app.input, &app.message) {
        (Some((Input::Filter, text)), _) => typed("filter by name, pid or cgroup", text),
        (Some((Input::Value(name), text)), _) => typed(&format!("new value of {name}"), text),
        (Some((Input::Policy, text)), _) => typed("switch to NAME, wfq:quantum_ns=2ms …", text),
        (Some((Input::File, text)), _) => typed("record into FILE.parquet, .pftrace …", text),
        (None, Some(message)) => Line::styled(message.clone(), WARN),
        (None, None) => {
            let keys = match app.panel {
                Panel::None => {
                    "? help  q quit  space pause  / filter  s sort  g groups  p policy  w record"
                }
                Panel::Help => "any key closes this  q quit",
                Panel::Policy(_) => "up/down select  Enter change  Esc back  q quit",
            };
            Line::styled(keys, DIM)
        }
    }
}

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const WARN: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

#[cfg(test)]
#[path = "../draw_tests.rs"]
mod tests;
