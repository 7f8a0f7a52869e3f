// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every chart is drawn on: its size, style, title and words.

use super::scale::{name, Span};
use crate::svg::{Attributes, Svg};

pub(crate) const WIDTH: f64 = 460.0;
/// Of a small character, at most.
const SMALL_WIDTH: f64 = 7.0;
/// Height of the title's line.
pub(crate) const TOP: f64 = 34.0;

/// The same in every chart, so that a page with a content security policy can name it.
pub(crate) const STYLE: &str = "\
.rota-chart{background:#fff}\n\
.rota-chart text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;fill:#1f2328;\
font-variant-numeric:tabular-nums}\n\
.rota-chart .title{font-size:14px;font-weight:600}\n\
.rota-chart .small{font-size:11px}\n\
.rota-chart .muted{fill:#59636e}\n\
.rota-chart .end{text-anchor:end}\n\
.rota-chart .middle{text-anchor:middle}\n\
.rota-chart .grid{stroke:#d8dee4}\n\
.rota-chart .axis{stroke:#59636e}\n\
.rota-chart .mark{stroke:#1f2328;stroke-dasharray:3 3}\n\
.rota-chart .none{fill:#f3f5f7}\n\
.rota-chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round}\n\
.rota-chart .hot{fill:#d55e00}\n\
.rota-chart .cold{fill:#0072b2}\n\
@media (prefers-color-scheme:dark){\
.rota-chart{background:#0d1117}\n\
.rota-chart text{fill:#e6edf3}\n\
.rota-chart .muted{fill:#9198a1}\n\
.rota-chart .grid{stroke:#30363d}\n\
.rota-chart .axis{stroke:#9198a1}\n\
.rota-chart .mark{stroke:#e6edf3}\n\
.rota-chart .none{fill:#161b22}\n\
.rota-chart .line{filter:brightness(1.3)}}\n";

/// A chart in the making.
pub(crate) struct Paper {
    pub(crate) svg: Svg,
}

impl Paper {
    /// Begins a chart.
    pub(crate) fn new(title: &str, description: &str, height: f64) -> Self {
        let mut svg = Svg::picture("rota-chart", &px(WIDTH), &px(height));
        svg.text("title", &[], title);
        svg.text("desc", &[], description);
        svg.text("style", &[], STYLE);
        let mut paper = Self { svg };
        paper.word("title", 8.0, 20.0, title);
        paper
    }

    /// Words, of a class that says how they look.
    pub(crate) fn word(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y) = (px(x), px(y));
        self.svg.text("text", &[("class", class), ("x", &x), ("y", &y)], text);
    }

    /// The axis that everything stands on: its line, marks, and what it counts.
    pub(crate) fn axis(&mut self, x: &Span, bottom: f64, label: &str) {
        for mark in x.marks() {
            if let Some(at) = x.place(mark) {
                self.straight("axis", (at, bottom), (at, bottom + 4.0));
                self.below_mark(at, bottom + 17.0, &name(mark));
            }
        }
        let (left, right) = x.ends();
        self.straight("axis", (left, bottom), (right, bottom));
        self.word("small muted middle", (left + right) / 2.0, bottom + 34.0, label);
    }

    /// What stands below a mark of the axis: in its middle, if there is room up to the right edge.
    fn below_mark(&mut self, x: f64, y: f64, text: &str) {
        if x + text.chars().count() as f64 * SMALL_WIDTH / 2.0 > WIDTH {
            self.word("small end", WIDTH, y, text);
        } else {
            self.word("small middle", x, y, text);
        }
    }

    /// Words along the left edge, upwards.
    pub(crate) fn upwards(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let turned = format!("translate({} {}) rotate(-90)", px(x), px(y));
        self.svg.text("text", &[("class", class), ("transform", &turned)], text);
    }

    pub(crate) fn straight(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        let attributes: Attributes<'_> =
            &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)];
        self.svg.empty("line", attributes);
    }

    pub(crate) fn finish(mut self) -> String {
        self.svg.close("svg");
        self.svg.finish()
    }
}

/// A length, to a tenth of a pixel.
pub(crate) fn px(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
