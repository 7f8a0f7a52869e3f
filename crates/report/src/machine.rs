// SPDX-License-Identifier: MIT OR Apache-2.0
//! A picture of a machine: nodes, last-level caches, clusters and cores as boxes in boxes, with a
//! legend of the kinds of cores. It is plain data, filled by whoever knows the machine.

mod layout;
#[cfg(test)]
mod tests;

use crate::svg::Svg;
use crate::timeline::colours::{self, PAINTS};
use layout::{boxed, Boxed, What};
use serde::{Deserialize, Serialize};

/// A machine to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name and where its numbers are from.
    pub title: String,
    /// How many of what it has.
    pub about: String,
    /// Nodes from the first to the last.
    pub nodes: Vec<Node>,
    /// Kinds of cores; empty: all are alike, and nothing is known of them.
    pub kinds: Vec<Kind>,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// As `node 0`; empty: a machine of one node need not show it.
    pub name: String,
    /// Its last-level caches.
    pub caches: Vec<Cache>,
}

/// A last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// As `cache 0, 32 MiB`.
    pub name: String,
    /// Cores that share a cache below this one; a cluster of one core has no box of its own.
    pub clusters: Vec<Vec<Core>>,
}

/// A core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// Place in [`Machine::kinds`].
    pub kind: usize,
    /// Numbers of its CPUs.
    pub cpus: Vec<u32>,
}

/// A kind of cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// As `p`.
    pub name: String,
    /// Speed in 1/1024 of the fastest kind; the length of its bar.
    pub speed: u32,
    /// What it is like, in a line.
    pub about: String,
}

/// Class of the picture: its rules leave a page that it is part of alone.
const CLASS: &str = "rota-machine";
/// Width of the picture, and room at its edges.
const WIDTH: u32 = 1000;
const EDGE: u32 = 10;
const LINE: u32 = 20;
/// Length of the bar of a kind with full speed.
const BAR: u32 = 96;
/// Letters that fit a line of the legend.
const LETTERS: usize = 118;

const LIGHT: &[(&str, &str)] = &[
    ("text", "font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"),
    ("text", "fill:#1f2328"),
    (".h", "font-size:15px;font-weight:600"),
    (".l", "font-size:11px"),
    (".k", "font-size:9px"),
    (".c", "text-anchor:middle"),
    (".m", "fill:#59636e"),
    (".n", "fill:#f3f5f7;stroke:#b7bfc8"),
    (".a", "fill:#fff;stroke:#8c959f"),
    (".g", "fill:none;stroke:#8c959f;stroke-dasharray:3 2"),
    (".e", "fill:none;stroke:#8c959f"),
    (".u", "fill:#fff;fill-opacity:.16"),
];
const DARK: &[(&str, &str)] = &[
    ("text", "fill:#e6edf3"),
    (".m", "fill:#9198a1"),
    (".n", "fill:#161b22;stroke:#3d444d"),
    (".a", "fill:#0d1117;stroke:#656c76"),
    (".g", "fill:none;stroke:#656c76;stroke-dasharray:3 2"),
    (".e", "fill:none;stroke:#656c76"),
];

/// Colours and fonts of [`drawing`]s on a page.
pub(crate) fn style() -> String {
    colours::style(CLASS, LIGHT, DARK)
}

/// The picture as a file of its own.
pub fn render(machine: &Machine) -> String {
    picture(machine, Some(&style()))
}

/// The picture as part of a page that has [`style`].
pub(crate) fn drawing(machine: &Machine) -> String {
    picture(machine, None)
}

fn picture(machine: &Machine, style: Option<&str>) -> String {
    let all = boxed(machine, WIDTH - 2 * EDGE);
    let top = EDGE + 2 * LINE + 6;
    let legend = top + all.height + LINE;
    let kinds = machine.kinds.len() as u32;
    let height = legend + kinds * LINE + EDGE - if kinds == 0 { LINE } else { LINE / 2 };
    let (width, height) = (WIDTH.to_string(), height.to_string());
    let mut svg = Svg::picture(CLASS, &width, &height);
    svg.text("title", &[], &format!("{}: {}", machine.title, machine.about));
    if let Some(style) = style {
        svg.text("style", &[], style);
        svg.empty("rect", &[("width", &width), ("height", &height), ("class", "a")]);
    }
    words(&mut svg, (EDGE, EDGE + 14), "h", &machine.title);
    words(&mut svg, (EDGE, EDGE + LINE + 14), "m", &machine.about);
    draw(&mut svg, machine, &all, (EDGE, top));
    for (kind, at) in machine.kinds.iter().zip(0..) {
        entry(&mut svg, kind, at, legend + at * LINE);
    }
    svg.close("svg");
    svg.finish()
}

fn words(svg: &mut Svg, (x, y): (u32, u32), class: &str, text: &str) {
    svg.text("text", &[("x", &x.to_string()), ("y", &y.to_string()), ("class", class)], text);
}

fn rectangle(svg: &mut Svg, (x, y): (u32, u32), (width, height): (u32, u32), class: &str) {
    let [x, y, width, height] = [x, y, width, height].map(|value| value.to_string());
    let place = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height)];
    svg.empty("rect", &[&place[..], &[("rx", "3"), ("class", class)]].concat());
}

/// Colour of a kind.
fn paint(kind: usize) -> usize {
    kind % PAINTS.len()
}

fn draw(svg: &mut Svg, machine: &Machine, of: &Boxed<'_>, (x, y): (u32, u32)) {
    let size = (of.width, of.height);
    match &of.what {
        What::Machine => {}
        What::Group { class, name } => {
            rectangle(svg, (x, y), size, class);
            if !name.is_empty() {
                words(svg, (x + 6, y + 14), "l m", name);
            }
        }
        What::Core(core) => {
            let colour = paint(core.kind);
            rectangle(svg, (x, y), size, &format!("f{colour}"));
            for (cpu, at) in core.cpus.iter().zip(0..) {
                let left = x + layout::CORE_EDGE + at * layout::CPU.0;
                let down = y + layout::CORE_EDGE;
                rectangle(svg, (left + 1, down), (layout::CPU.0 - 2, layout::CPU.1), "u");
                let middle = (left + layout::CPU.0 / 2, down + 13);
                words(svg, middle, &format!("l c t{colour}"), &cpu.to_string());
            }
            let kind = machine.kinds.get(core.kind).filter(|_| machine.kinds.len() > 1);
            if let Some(kind) = kind {
                let fits = (of.width / 6) as usize;
                let name: String = kind.name.chars().take(fits).collect();
                let middle = (x + of.width / 2, y + of.height - 4);
                words(svg, middle, &format!("k c t{colour}"), &name);
            }
        }
    }
    for ((left, down), inner) in &of.inner {
        draw(svg, machine, inner, (x + left, y + down));
    }
}

/// A line of the legend: colour, speed as a bar, words.
fn entry(svg: &mut Svg, kind: &Kind, at: u32, y: u32) {
    let colour = paint(at as usize);
    rectangle(svg, (EDGE, y), (BAR, 12), "e");
    let long = (kind.speed.min(1024) * BAR / 1024).max(1);
    rectangle(svg, (EDGE, y), (long, 12), &format!("f{colour}"));
    let mut text = format!("{}: {}", kind.name, kind.about);
    if text.chars().count() > LETTERS {
        text = text.chars().take(LETTERS - 1).chain(['…']).collect();
    }
    words(svg, (EDGE + BAR + 10, y + 11), "", &text);
}
