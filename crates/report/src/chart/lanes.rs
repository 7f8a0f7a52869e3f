// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who had the CPU when: a row for each client.

use super::paper::{px, Paper, TOP, WIDTH};
use super::scale::{Scale, Span};

const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const ROW: f64 = 22.0;
const BAR: f64 = 16.0;
const BELOW: f64 = 42.0;

/// Rows of times.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// Heading.
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    /// What the axis counts, with its unit.
    pub label: String,
    /// End of the axis, which begins at 0.
    pub end: f64,
    /// Dashed lines across all rows, every so often; 0: none.
    pub every: f64,
    /// From top to bottom.
    pub rows: Vec<Lane>,
}

/// The times of one client.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// From and to, on the axis.
    pub times: Vec<(f64, f64)>,
}

impl Lanes {
    /// Draws it as one SVG document.
    pub fn render(&self) -> String {
        let bottom = TOP + ROW * self.rows.len() as f64 + 4.0;
        let mut paper = Paper::new(&self.title, &self.description, bottom + BELOW);
        let span = Span::of(Scale::Linear, [0.0, self.end].into_iter(), LEFT, WIDTH - RIGHT);
        for (number, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * number as f64;
            paper.word("small end", LEFT - 8.0, y + BAR / 2.0 + 4.0, &row.name);
            paper.straight("grid", (LEFT, y + ROW - 3.0), (WIDTH - RIGHT, y + ROW - 3.0));
            let colour = crate::timeline::colours::PAINTS[number % 8].fill;
            for (from, to) in &row.times {
                let places = span.place(from.max(0.0)).zip(span.place(to.min(self.end)));
                let Some((left, right)) = places.filter(|(left, right)| left < right) else {
                    continue;
                };
                let place = [("x", px(left)), ("y", px(y)), ("width", px(right - left))];
                let place = place.each_ref().map(|(name, value)| (*name, value.as_str()));
                let (height, title) = (px(BAR), format!("{}: {from} to {to}", row.name));
                let bar = [place[0], place[1], place[2], ("height", &height), ("fill", colour)];
                paper.svg.with_title("rect", &bar, &title);
            }
        }
        let marks = (1..).map(|n| f64::from(n) * self.every);
        for mark in marks.take_while(|mark| self.every > 0.0 && *mark < self.end) {
            if let Some(at) = span.place(mark) {
                paper.straight("mark", (at, TOP - 6.0), (at, bottom));
            }
        }
        paper.axis(&span, bottom, &self.label);
        paper.finish()
    }
}
