// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a whole over time, stacked.

use super::paper::{px, Paper, TOP, WIDTH};
use super::scale::{Scale, Span};

const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const HEIGHT: f64 = 180.0;
const BELOW: f64 = 42.0;
const LEGEND_ROW: f64 = 18.0;
const LEGEND_COLUMNS: usize = 4;
const LEGEND_COLUMN: f64 = (WIDTH - 16.0) / LEGEND_COLUMNS as f64;

/// Stacked areas: who has how much of something, of which there is 1.
#[derive(Clone, Debug, Default)]
pub struct Areas {
    /// Heading.
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    /// What the horizontal axis counts, with its unit.
    pub label: String,
    /// What there is 1 of.
    pub whole: String,
    /// Places on that axis, from left to right; one that is there twice is a jump.
    pub at: Vec<f64>,
    /// From the bottom up.
    pub bands: Vec<Band>,
}

/// One area.
#[derive(Clone, Debug, Default)]
pub struct Band {
    /// Name in the legend.
    pub name: String,
    /// Its height at each place, from 0 to 1.
    pub parts: Vec<f64>,
}

impl Areas {
    /// Draws it as one SVG document.
    pub fn render(&self) -> String {
        let rows = self.bands.len().div_ceil(LEGEND_COLUMNS);
        let top = TOP + LEGEND_ROW * rows as f64 + 4.0;
        let bottom = top + HEIGHT;
        let mut paper = Paper::new(&self.title, &self.description, bottom + BELOW);
        let x = Span::of(Scale::Linear, self.at.iter().copied(), LEFT, WIDTH - RIGHT);
        let y = Span::of(Scale::Linear, [0.0, 1.0].into_iter(), bottom, top);
        let mut floor = vec![0.0; self.at.len()];
        for (number, band) in self.bands.iter().enumerate() {
            self.band(&mut paper, number, band, &mut floor, (&x, &y));
        }
        for mark in y.marks() {
            if let Some(at) = y.place(mark) {
                paper.straight("axis", (LEFT - 4.0, at), (LEFT, at));
                paper.word("small end", LEFT - 6.0, at + 4.0, &format!("{:.0}%", mark * 100.0));
            }
        }
        paper.axis(&x, bottom, &self.label);
        paper.upwards("small muted middle", 14.0, (top + bottom) / 2.0, &self.whole);
        paper.finish()
    }

    /// Draws a band on what is below it, and raises that.
    fn band(
        &self,
        paper: &mut Paper,
        number: usize,
        band: &Band,
        floor: &mut [f64],
        (x, y): (&Span, &Span),
    ) {
        let place = |at: &f64, height: f64| {
            let (x, y) = (x.place(*at)?, y.place(height.clamp(0.0, 1.0))?);
            Some(format!("{},{}", px(x), px(y)))
        };
        let below: Vec<String> =
            self.at.iter().zip(&*floor).filter_map(|(at, height)| place(at, *height)).collect();
        for (height, part) in floor.iter_mut().zip(&band.parts) {
            *height += if part.is_finite() { part.max(0.0) } else { 0.0 };
        }
        let above = self.at.iter().zip(&*floor).filter_map(|(at, height)| place(at, *height));
        let mut points: Vec<String> = above.collect();
        points.extend(below.into_iter().rev());
        let colour = crate::timeline::colours::PAINTS[number % 8].fill;
        let look = [("fill", colour), ("points", &*points.join(" "))];
        paper.svg.with_title("polygon", &look, &band.name);
        let (column, row) = (number % LEGEND_COLUMNS, number / LEGEND_COLUMNS);
        let (left, line) = (8.0 + LEGEND_COLUMN * column as f64, TOP + LEGEND_ROW * row as f64);
        let [width, height, x, y] = [12.0, 12.0, left, line - 8.0].map(px);
        let square = [("width", &*width), ("height", &*height), ("x", &*x), ("y", &*y)];
        let square = [square[0], square[1], square[2], square[3], ("fill", colour)];
        paper.svg.empty("rect", &square);
        paper.word("small", left + 18.0, line + 2.0, &band.name);
    }
}
