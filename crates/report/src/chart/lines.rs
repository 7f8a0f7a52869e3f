// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines over two axes, with a legend.

use super::paper::{px, Paper, TOP, WIDTH};
use super::scale::{name, Axis, Span};

const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const HEIGHT: f64 = 220.0;
const BELOW: f64 = 42.0;
const LEGEND_ROW: f64 = 18.0;
const LEGEND_COLUMN: f64 = (WIDTH - 16.0) / 2.0;
/// So that neighbours differ by more than colour.
const DASHES: [&str; 2] = ["none", "6 3"];

/// Lines over two axes.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// Heading.
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// At most eight.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

impl LineChart {
    /// Draws it as one SVG document.
    pub fn render(&self) -> String {
        let rows = self.lines.len().div_ceil(2);
        let top = TOP + LEGEND_ROW * rows as f64 + 8.0;
        let bottom = top + HEIGHT;
        let mut paper = Paper::new(&self.title, &self.description, bottom + BELOW);
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let x = Span::of(self.x.scale, all().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Span::of(self.y.scale, all().map(|point| point.1), bottom, top);
        for mark in y.marks() {
            if let Some(at) = y.place(mark) {
                paper.straight("grid", (LEFT, at), (WIDTH - RIGHT, at));
                paper.word("small end", LEFT - 6.0, at + 4.0, &name(mark));
            }
        }
        paper.axis(&x, bottom, &self.x.label);
        paper.upwards("small muted middle", 14.0, (top + bottom) / 2.0, &self.y.label);
        for (number, line) in self.lines.iter().enumerate() {
            self.line(&mut paper, number, line, &x, &y);
        }
        paper.finish()
    }

    fn line(&self, paper: &mut Paper, number: usize, line: &Line, x: &Span, y: &Span) {
        let colour = crate::timeline::colours::PAINTS[number % 8].fill;
        let dash = DASHES[number % 2];
        let places =
            line.points.iter().filter_map(|(at, value)| Some((x.place(*at)?, y.place(*value)?)));
        let places: Vec<String> = places.map(|(x, y)| format!("{},{}", px(x), px(y))).collect();
        let (left, row) = ((number % 2) as f64, (number / 2) as f64);
        let legend = (8.0 + LEGEND_COLUMN * left, TOP + LEGEND_ROW * row);
        for points in [
            places.join(" "),
            format!("{},{} {},{}", px(legend.0), px(legend.1), px(legend.0 + 24.0), px(legend.1)),
        ] {
            let look = [("class", "line"), ("stroke", colour), ("stroke-dasharray", dash)];
            paper.svg.empty("polyline", &[look[0], look[1], look[2], ("points", &points)]);
        }
        paper.word("small", legend.0 + 30.0, legend.1 + 4.0, &line.name);
    }
}
