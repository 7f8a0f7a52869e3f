// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line for each CPU: what it did when, now at the right end.

use super::{DIM, WARN};
use crate::app::App;
use crate::snapshot::CpuLine;
use crate::timeline::{Cell, STEP_NS};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use rota_measure::units::time;

/// `CPU 511 `
const LABEL: usize = 8;
const IDLE: char = '.';
const PARTLY: char = '-';
const WASTED: char = '!';
const OFFLINE: char = ' ';
const COLOURS: [Color; 5] = [Color::Cyan, Color::Green, Color::Yellow, Color::Magenta, Color::Blue];

/// The caption and at most so many CPUs.
pub(super) fn lines(app: &App, width: usize, most: usize) -> Vec<Line<'static>> {
    let of = &app.snapshot.cpus;
    let first = app.first_cpu.min(of.len().saturating_sub(most));
    let shown = of.iter().enumerate().skip(first).take(most);
    let mut lines = vec![caption(app, first, most)];
    let columns = width - LABEL;
    lines.extend(shown.map(|(cpu, line)| {
        let mut spans = vec![Span::raw(format!("CPU {cpu:<4}"))];
        let steps = (app.column_ns() / STEP_NS) as usize;
        spans.extend(
            symbols(line, columns, steps, app.snapshot.now_ns / STEP_NS).into_iter().map(styled),
        );
        Line::from(spans)
    }));
    lines
}

fn caption(app: &App, first: usize, most: usize) -> Line<'static> {
    let column = time(app.column_ns());
    let cpus = app.snapshot.cpus.len();
    let what = match cpus > most {
        true => {
            let last = (first + most).min(cpus) - 1;
            format!(
                "CPUs {first} to {last} of {cpus} ([ and ]), {column} a column; {WASTED} idle \
                 while a task waits"
            )
        }
        false => format!(
            "{column} a column; A-z task, {PARTLY} partly idle, {IDLE} idle, {WASTED} idle while \
             a task waits"
        ),
    };
    Line::styled(what, DIM)
}

/// A character for each column, those without steps blank. Columns begin at multiples of their length,
/// so that they stay as they are when they move; the last one is not whole yet. `end` is the number of
/// the step that goes on.
fn symbols(line: &CpuLine, columns: usize, steps: usize, end: u64) -> Vec<char> {
    let cells = &line.cells;
    // Less than `steps`: it fits.
    let begun = (end % steps as u64) as usize;
    let (whole, begun) = cells.split_at(cells.len().saturating_sub(begun));
    let begun = Some(begun).filter(|begun| !begun.is_empty());
    let chunks = begun.into_iter().chain(whole.rchunks(steps)).take(columns);
    let mut symbols: Vec<char> = chunks.map(|chunk| symbol(chunk, line.offline)).collect();
    symbols.resize(columns, ' ');
    symbols.reverse();
    symbols
}

/// What a CPU did for most of a column. Idle time beside a waiting task is what one looks for: a tenth
/// of it is shown.
fn symbol(cells: &[Cell], offline: bool) -> char {
    let all = cells.len() as u64 * STEP_NS;
    let sum = |of: fn(&Cell) -> u32| cells.iter().map(|cell| u64::from(of(cell))).sum::<u64>();
    let (busy, wasted) = (sum(|cell| cell.busy_ns), sum(|cell| cell.wasted_ns));
    if wasted * 10 >= all {
        return WASTED;
    }
    if busy * 2 >= all {
        return char::from(top(cells));
    }
    match busy * 20 >= all {
        true => PARTLY,
        false if offline => OFFLINE,
        false => IDLE,
    }
}

/// The letter of the task that had most of them.
fn top(cells: &[Cell]) -> u8 {
    let mut sums: Vec<(u8, u64)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.letter != 0) {
        match sums.iter_mut().find(|(letter, _)| *letter == cell.letter) {
            Some((_, ns)) => *ns += u64::from(cell.top_ns),
            None => sums.push((cell.letter, u64::from(cell.top_ns))),
        }
    }
    let most = sums.into_iter().max_by_key(|(letter, ns)| (*ns, std::cmp::Reverse(*letter)));
    // Many tasks ran, none for long.
    most.map_or(crate::letters::NO_LETTER, |(letter, _)| letter)
}

fn styled(symbol: char) -> Span<'static> {
    Span::styled(symbol.to_string(), style(symbol))
}

/// The colour of a letter.
pub(super) fn style(symbol: char) -> Style {
    match symbol {
        WASTED => WARN,
        IDLE | PARTLY => DIM,
        letter => match u8::try_from(letter) {
            Ok(letter) if letter.is_ascii_alphabetic() => {
                Style::new().fg(COLOURS[usize::from(letter & 31) % COLOURS.len()])
            }
            _ => Style::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(letter: u8, top_ms: u32, busy_ms: u32, wasted_ms: u32) -> Cell {
        let [top_ns, busy_ns, wasted_ns] = [top_ms, busy_ms, wasted_ms].map(|ms| ms * 1_000_000);
        Cell { letter, top_ns, busy_ns, wasted_ns }
    }

    #[test]
    fn a_column_shows_what_most_of_its_time_was() {
        for (cells, expected) in [
            (vec![cell(b'A', 10, 10, 0)], 'A'),
            (vec![cell(b'A', 5, 5, 0)], 'A'),
            (vec![cell(b'A', 4, 4, 0)], '-'),
            (vec![cell(0, 0, 0, 0)], '.'),
            // A tenth of the column.
            (vec![cell(b'A', 9, 9, 1)], '!'),
            (vec![cell(b'A', 9, 9, 0), cell(b'A', 9, 9, 1)], 'A'),
            // B has 6 ms, A 8 ms in two steps.
            (vec![cell(b'A', 4, 9, 0), cell(b'B', 6, 9, 0), cell(b'A', 4, 9, 0)], 'A'),
            (vec![cell(0, 0, 10, 0)], '#'),
        ] {
            assert_eq!(symbol(&cells, false), expected, "{cells:?}");
        }
        assert_eq!(symbol(&[cell(0, 0, 0, 0)], true), ' ');
    }

    #[test]
    fn now_is_at_the_right_end() {
        let cells = vec![cell(0, 0, 0, 0), cell(b'A', 10, 10, 0), cell(b'B', 10, 10, 0)];
        let line = CpuLine { cells, ..CpuLine::default() };
        assert_eq!(symbols(&line, 5, 1, 3), [' ', ' ', '.', 'A', 'B']);
        assert_eq!(symbols(&line, 2, 1, 3), ['A', 'B']);
        // Two steps a column: 0 and 1, then 2 so far; a step later 1 and 2 are one.
        assert_eq!(symbols(&line, 3, 2, 3), [' ', 'A', 'B']);
        assert_eq!(symbols(&line, 3, 2, 4), [' ', '.', 'A']);
    }
}
