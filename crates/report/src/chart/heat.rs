// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table whose cells are coloured by their values: red where positive, blue where negative,
//! the stronger the larger, on a logarithmic scale. The numbers are in the cells. What is not known
//! is left out: rows and columns without any number, and what is in other cells.

use super::paper::{px, Paper, TOP, WIDTH};

const LEFT: f64 = 56.0;
const RIGHT: f64 = 8.0;
const ROW: f64 = 30.0;
const BELOW: f64 = 44.0;
/// Words on the strongest colour can still be read.
const STRONGEST: f64 = 0.55;

/// A table of values over two lists.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// Heading.
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    /// What the columns are.
    pub x_label: String,
    /// Names of the columns.
    pub x: Vec<String>,
    /// What the rows are.
    pub y_label: String,
    /// Names of the rows, the first at the bottom.
    pub y: Vec<String>,
    /// What values are counted in.
    pub unit: String,
    /// By row, then column; `None`: not known.
    pub values: Vec<Vec<Option<f64>>>,
}

/// What of a map is drawn.
struct Known<'a> {
    x: Vec<&'a str>,
    y: Vec<&'a str>,
    values: Vec<Vec<Option<f64>>>,
}

impl HeatMap {
    /// Draws it as one SVG document.
    pub fn render(&self) -> String {
        let map = self.known();
        let bottom = TOP + ROW * map.y.len() as f64;
        let title = format!("{} ({})", self.title, self.unit);
        let mut paper = Paper::new(&title, &self.description, bottom + BELOW);
        let width = (WIDTH - LEFT - RIGHT) / map.x.len().max(1) as f64;
        let known = map.values.iter().flatten().flatten();
        let largest = known.fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (row, (name, values)) in map.y.iter().zip(&map.values).enumerate() {
            let y = bottom - ROW * (row + 1) as f64;
            paper.word("small end", LEFT - 8.0, y + ROW / 2.0 + 4.0, name);
            for ((column, value), x_name) in values.iter().enumerate().zip(&map.x) {
                let x = LEFT + width * column as f64;
                let place = format!("{} {name}, {} {x_name}", self.y_label, self.x_label);
                self.cell(&mut paper, (x, y, width), *value, largest, &place);
            }
        }
        for (column, name) in map.x.iter().enumerate() {
            let middle = LEFT + width * (column as f64 + 0.5);
            paper.word("small middle", middle, bottom + 16.0, name);
        }
        paper.word("small muted middle", (LEFT + WIDTH) / 2.0, bottom + 34.0, &self.x_label);
        paper.upwards("small muted middle", 16.0, (TOP + bottom) / 2.0, &self.y_label);
        paper.finish()
    }

    /// The map without rows and columns in which no value is known.
    fn known(&self) -> Known<'_> {
        let has = |values: &[Option<f64>]| values.iter().any(Option::is_some);
        let in_column =
            |at: usize| self.values.iter().any(|row| row.get(at).is_some_and(Option::is_some));
        let columns: Vec<usize> = (0..self.x.len()).filter(|at| in_column(*at)).collect();
        let rows = self.y.iter().zip(&self.values).filter(|(_, values)| has(values));
        let of_row = |values: &[Option<f64>]| {
            columns.iter().map(|at| values.get(*at).copied().flatten()).collect()
        };
        let (y, values) = rows.map(|(name, values)| (name.as_str(), of_row(values))).unzip();
        Known { x: columns.iter().map(|at| self.x[*at].as_str()).collect(), y, values }
    }

    fn cell(
        &self,
        paper: &mut Paper,
        (x, y, width): (f64, f64, f64),
        value: Option<f64>,
        largest: f64,
        place: &str,
    ) {
        let class = match value {
            None => "none",
            Some(value) if value < 0.0 => "cold",
            Some(_) => "hot",
        };
        let opacity = match value {
            Some(value) if largest > 0.0 => {
                (1.0 + value.abs()).ln() / (1.0 + largest).ln() * STRONGEST
            }
            Some(_) => 0.0,
            None => 1.0,
        };
        let text =
            value.map_or("not run".to_owned(), |value| format!("{} {}", number(value), self.unit));
        paper.svg.with_title(
            "rect",
            &[
                ("class", class),
                ("x", &px(x + 1.0)),
                ("y", &px(y + 1.0)),
                ("width", &px(width - 2.0)),
                ("height", &px(ROW - 2.0)),
                ("fill-opacity", &format!("{opacity:.2}")),
            ],
            &format!("{place}: {text}"),
        );
        if let Some(value) = value {
            paper.word("small middle", x + width / 2.0, y + ROW / 2.0 + 4.0, &number(value));
        }
    }
}

/// Three digits or so; a hyphen would be too short a minus.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{:.digits$}", value.abs());
    let is_nothing = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    match value < 0.0 && !is_nothing {
        true => format!("−{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let texts = [398.4, 10.61, -3.84, 0.0, -0.001].map(number);
        assert_eq!(texts, ["398", "10.6", "−3.84", "0.00", "0.00"]);
    }
}
