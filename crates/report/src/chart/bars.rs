// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars to the right, in groups, with their numbers.

use super::paper::{px, Paper, TOP, WIDTH};
use super::scale::{name, Scale, Span};

const LEFT: f64 = 78.0;
/// Room for the number of the longest bar.
const RIGHT: f64 = 64.0;
const HEADING: f64 = 22.0;
const ROW: f64 = 18.0;
const BAR: f64 = 13.0;
const BELOW: f64 = 42.0;

/// Groups of bars over one axis.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Heading.
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    /// What the axis counts, with its unit.
    pub label: String,
    /// From top to bottom.
    pub groups: Vec<BarGroup>,
}

/// Bars under a heading.
#[derive(Clone, Debug, Default)]
pub struct BarGroup {
    /// The heading.
    pub name: String,
    /// From top to bottom; those of one place have the same colour in every group.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its length, on the axis. What is no number, or below 0, has none.
    pub value: f64,
}

impl Bars {
    /// Draws it as one SVG document.
    pub fn render(&self) -> String {
        let rows: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let bottom = TOP + HEADING * self.groups.len() as f64 + ROW * rows as f64 + 4.0;
        let mut paper = Paper::new(&self.title, &self.description, bottom + BELOW);
        let values = self.groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value);
        let span = Span::of(Scale::Linear, values, LEFT, WIDTH - RIGHT);
        let mut y = TOP;
        for group in &self.groups {
            paper.word("small muted", 8.0, y + 14.0, &group.name);
            y += HEADING;
            for (number, bar) in group.bars.iter().enumerate() {
                bar.draw(&mut paper, number, y, &span);
                y += ROW;
            }
        }
        paper.axis(&span, bottom, &self.label);
        paper.finish()
    }
}

impl Bar {
    fn draw(&self, paper: &mut Paper, number: usize, y: f64, span: &Span) {
        paper.word("small end", LEFT - 8.0, y + BAR - 2.0, &self.name);
        let place = span.place(self.value).filter(|right| *right >= LEFT);
        let Some(right) = place else {
            paper.word("small", LEFT + 6.0, y + BAR - 2.0, "–");
            return;
        };
        let colour = crate::timeline::colours::PAINTS[number % 8].fill;
        let [x, top, width, height] = [LEFT, y, right - LEFT, BAR].map(px);
        let bar = [("x", &*x), ("y", &*top), ("width", &*width), ("height", &*height)];
        let bar = [bar[0], bar[1], bar[2], bar[3], ("fill", colour)];
        let value = in_words(self.value);
        paper.svg.with_title("rect", &bar, &format!("{}: {value}", self.name));
        paper.word("small", right + 6.0, y + BAR - 2.0, &value);
    }
}

/// Three digits that count, or as many as there are before the point.
fn in_words(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    let rounded = 10f64.powi(decimals);
    name((value * rounded).round() / rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        assert_eq!(
            [0.0474, 1.394, 44.91, 207.21, 0.0].map(in_words),
            ["0.047", "1.39", "44.9", "207", "0"]
        );
    }
}
