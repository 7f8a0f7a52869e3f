// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws a timeline.

use std::collections::BTreeMap;

use super::colours::{Colours, PAINTS};
use super::layout::*;
use super::names::kind;
use super::time::{text, tick_texts};
use super::{Caption, CpuSegment, TaskRow, TaskSegment, Timeline};
use crate::svg::Svg;

/// Slice starts nearer to each other than this are not told apart, in hundredths of a pixel.
const PICKS_APART: u32 = 2_50;
const LEGEND_ROW_PX: u32 = 20;

pub(crate) fn render(timeline: &Timeline, caption: &Caption) -> String {
    let layout = Layout::of(timeline);
    let legend = Legend::of(&layout, timeline);
    let height_px = layout.axis_px + 34 + legend.rows * LEGEND_ROW_PX + 6;
    let (width, height) = (WIDTH_PX.to_string(), height_px.to_string());
    let mut drawing = Drawing {
        svg: Svg::new(),
        colours: Colours::of(&timeline.tasks),
        names: timeline.tasks.iter().map(|task| (task.pid, task.name.as_str())).collect(),
        layout,
    };
    drawing.svg.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("width", &width),
            ("height", &height),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("role", "img"),
            ("class", CLASS),
        ],
    );
    drawing.svg.line();
    drawing.head(timeline, caption);
    drawing.axis();
    drawing.cpus(timeline);
    drawing.tasks();
    if let Some((at_ns, reason)) = &timeline.policy_exit {
        drawing.policy_exit(*at_ns, reason);
    }
    drawing.legend(&legend);
    drawing.svg.close("svg");
    drawing.svg.finish()
}

/// Class of the picture: its rules leave a page that it is part of alone.
const CLASS: &str = "rota-timeline";

/// Words and lines on a light ground, and what differs on a dark one.
const LIGHT: &[(&str, &str)] = &[
    ("text", "font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"),
    ("text", "fill:#1f2328"),
    (".h", "font-size:15px;font-weight:600"),
    (".l", "font-size:11px"),
    (".e", "text-anchor:end"),
    (".c", "text-anchor:middle"),
    (".m", "fill:#59636e"),
    (".b", "fill:#fff;stroke:#d1d9e0"),
    (".i", "fill:#f3f5f7"),
    (".g", "stroke:#d8dee4"),
    (".k", "stroke:#1f2328"),
    (".x", "stroke:#cf222e;stroke-width:2"),
    (".w", "opacity:.4"),
];
const DARK: &[(&str, &str)] = &[
    ("text", "fill:#e6edf3"),
    (".m", "fill:#9198a1"),
    (".b", "fill:#0d1117;stroke:#3d444d"),
    (".i", "fill:#1b2129"),
    (".g", "stroke:#30363d"),
    (".k", "stroke:#f0f6fc"),
    (".x", "stroke:#f85149"),
];

/// Colours and fonts; those of words and lines follow the reader's colour scheme.
fn style() -> String {
    let rule = |(selector, what): (&str, &str)| format!(".{CLASS} {selector}{{{what}}}\n");
    let rules = |list: &[(&str, &str)]| list.iter().copied().map(rule).collect::<String>();
    let paints = PAINTS.iter().enumerate().map(|(index, paint)| {
        rule((&format!(".f{index}"), &format!("fill:{}", paint.fill)))
            + &rule((&format!(".t{index}"), &format!("fill:{}", paint.ink)))
    });
    let dark = format!("@media (prefers-color-scheme:dark){{\n{}}}\n", rules(DARK));
    rules(LIGHT) + &dark + &paints.collect::<String>()
}

struct Drawing<'a> {
    svg: Svg,
    layout: Layout<'a>,
    colours: Colours,
    names: BTreeMap<u32, &'a str>,
}

impl Drawing<'_> {
    fn name(&self, pid: u32) -> String {
        self.names.get(&pid).filter(|n| !n.is_empty()).map_or(format!("pid {pid}"), |n| (*n).into())
    }

    fn head(&mut self, timeline: &Timeline, caption: &Caption) {
        let parts = [&caption.policy, &caption.workload];
        let title: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        let title = title.join(" · ");
        let window = format!("{} to {}", text(timeline.from_ns), text(timeline.to_ns));
        let mut parts = vec![caption.machine.clone(), window];
        parts.append(&mut self.layout.notes.clone());
        parts.retain(|part| !part.is_empty());
        let subtitle = parts.join(" · ");
        self.svg.text("title", &[], &format!("Timeline: {title}"));
        self.svg.text("desc", &[], &format!("Which task ran on which CPU when. {subtitle}"));
        self.svg.text("style", &[], &style());
        self.svg.empty(
            "rect",
            &[
                ("class", "b"),
                ("x", "0.5"),
                ("y", "0.5"),
                ("width", "99.9%"),
                ("height", "99.8%"),
                ("rx", "6"),
            ],
        );
        let x = MARGIN_PX.to_string();
        self.svg.text("text", &[("class", "h"), ("x", &x), ("y", &TITLE_PX.to_string())], &title);
        self.svg.text(
            "text",
            &[("class", "m"), ("x", &x), ("y", &SUBTITLE_PX.to_string())],
            &subtitle,
        );
    }

    fn axis(&mut self) {
        let (top, bottom) = (self.layout.top_px().to_string(), self.layout.axis_px.to_string());
        let below = (self.layout.axis_px + 16).to_string();
        let ticks = self.layout.ticks.clone();
        for (at_ns, text) in ticks.iter().zip(tick_texts(&ticks)) {
            let x = px(self.layout.x(*at_ns));
            self.svg.empty(
                "line",
                &[("class", "g"), ("x1", &x), ("x2", &x), ("y1", &top), ("y2", &bottom)],
            );
            // The last mark may be at the very edge.
            let near_edge = self.layout.x(*at_ns) + 25_00 > self.layout.right_px() * 100;
            let class = if near_edge { "m e" } else { "m c" };
            let x = if near_edge { self.layout.right_px().to_string() } else { x };
            self.svg.text("text", &[("class", class), ("x", &x), ("y", &below)], &text);
        }
    }

    fn row_name(&mut self, name: &str, middle_px: u32) {
        let x = (self.layout.left_px - 8).to_string();
        let y = (middle_px + 4).to_string();
        self.svg.text("text", &[("class", "e"), ("x", &x), ("y", &y)], name);
    }

    fn cpus(&mut self, timeline: &Timeline) {
        let left = self.layout.left_px.to_string();
        let width = px(self.layout.scale.length);
        for (row, cpu) in self.layout.cpus.clone().into_iter().enumerate() {
            let top_px = self.layout.cpu_row_px(row);
            self.row_name(&cpu_name(cpu), top_px + CPU_BAR_PX / 2);
            let (y, height) = (top_px.to_string(), CPU_BAR_PX.to_string());
            self.svg.empty(
                "rect",
                &[("class", "i"), ("x", &left), ("y", &y), ("width", &width), ("height", &height)],
            );
            let segments = timeline.cpus.get(&cpu).map_or(&[][..], Vec::as_slice);
            segments.iter().for_each(|segment| self.cpu_segment(segment, cpu, top_px));
            self.picks(segments, top_px);
        }
    }

    fn cpu_segment(&mut self, segment: &CpuSegment, cpu: u32, top_px: u32) {
        let CpuSegment { start_ns, end_ns, pid, ref picks_ns } = *segment;
        let (from, to) = (self.layout.x(start_ns), self.layout.x(end_ns));
        if from == to {
            return;
        }
        let name = self.name(pid);
        let paint = self.colours.paint(self.names.get(&pid).unwrap_or(&""));
        let slices = match picks_ns.len() {
            1 => "1 slice begins".to_owned(),
            n => format!("{n} slices begin"),
        };
        let title = format!("{name} on CPU {cpu}\n{}\n{slices}", spell(start_ns, end_ns));
        self.bar(&format!("f{paint}"), from, to, (top_px, CPU_BAR_PX), &title);
        if (text_px(&name) + 4) * 100 <= to - from {
            let middle = px((from + to) / 2);
            let y = (top_px + CPU_BAR_PX / 2 + 4).to_string();
            let class = format!("l c t{paint}");
            let attributes =
                [("class", class.as_str()), ("x", &middle), ("y", &y), ("pointer-events", "none")];
            self.svg.text("text", &attributes, &name);
        }
    }

    /// Ticks on the upper edge where slices begin, unless they are too dense to be seen.
    fn picks(&mut self, segments: &[CpuSegment], top_px: u32) {
        let picks = segments.iter().flat_map(|segment| &segment.picks_ns);
        let mut places: Vec<u32> = picks.map(|at_ns| self.layout.x(*at_ns)).collect();
        places.dedup();
        let dense = places.windows(2).filter(|pair| pair[1] - pair[0] < PICKS_APART).count();
        if places.is_empty() || 2 * dense > places.len() {
            return;
        }
        let path: String =
            places.iter().map(|x| format!("M{} {}v6", px(*x), top_px.saturating_sub(3))).collect();
        self.svg.empty("path", &[("class", "k"), ("d", &path)]);
    }

    fn tasks(&mut self) {
        for (row, task) in self.layout.tasks.clone().into_iter().enumerate() {
            let top_px = self.layout.task_row_px(row) + (TASK_ROW_PX - TASK_BAR_PX) / 2;
            self.row_name(&row_name(&self.name(task.pid)), top_px + TASK_BAR_PX / 2);
            let paint = self.colours.paint(&task.name);
            task.segments
                .iter()
                .for_each(|segment| self.task_segment(task, segment, paint, top_px));
        }
    }

    fn task_segment(&mut self, task: &TaskRow, segment: &TaskSegment, paint: usize, top_px: u32) {
        let TaskSegment { start_ns, end_ns, cpu } = *segment;
        let (from, to) = (self.layout.x(start_ns), self.layout.x(end_ns));
        if from == to {
            return;
        }
        let (what, class, span_px) = match cpu {
            Some(cpu) => (format!("on CPU {cpu}"), format!("f{paint}"), (top_px, TASK_BAR_PX)),
            None => {
                let top_px = top_px + (TASK_BAR_PX - WAIT_BAR_PX) / 2;
                ("waiting".to_owned(), format!("f{paint} w"), (top_px, WAIT_BAR_PX))
            }
        };
        let title = format!("{} {what}\n{}", self.name(task.pid), spell(start_ns, end_ns));
        self.bar(&class, from, to, span_px, &title);
    }

    fn bar(
        &mut self,
        class: &str,
        from: u32,
        to: u32,
        (top_px, height_px): (u32, u32),
        title: &str,
    ) {
        let (x, width) = (px(from), px(to - from));
        let (y, height) = (top_px.to_string(), height_px.to_string());
        let attributes =
            [("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)];
        self.svg.with_title("rect", &attributes, title);
    }

    fn policy_exit(&mut self, at_ns: u64, reason: &str) {
        let x = px(self.layout.x(at_ns));
        let (top, bottom) = (self.layout.top_px().to_string(), self.layout.axis_px.to_string());
        let title = format!("the policy left at {}: {reason}", text(at_ns));
        let attributes =
            [("class", "x"), ("x1", x.as_str()), ("x2", &x), ("y1", &top), ("y2", &bottom)];
        self.svg.with_title("line", &attributes, &title);
    }

    fn legend(&mut self, legend: &Legend) {
        let first_px = self.layout.axis_px + 34;
        for Item { sign, text, x_px, row } in &legend.items {
            let middle_px = first_px + row * LEGEND_ROW_PX + 6;
            let (x, text_x) = (x_px.to_string(), (x_px + SIGN_PX).to_string());
            let rect = |svg: &mut Svg, class: &str, height_px: u32| {
                let y = (middle_px - height_px / 2).to_string();
                let height = height_px.to_string();
                let attributes =
                    [("class", class), ("x", &x), ("y", &y), ("width", "16"), ("height", &height)];
                svg.empty("rect", &attributes);
            };
            match sign {
                Sign::Running => rect(&mut self.svg, "f7", TASK_BAR_PX),
                Sign::Waiting => rect(&mut self.svg, "f7 w", WAIT_BAR_PX),
                Sign::Kind(paint) => rect(&mut self.svg, &format!("f{paint}"), TASK_BAR_PX),
                Sign::Pick => {
                    let path = format!("M{} {}v6", x_px + 8, middle_px - 3);
                    self.svg.empty("path", &[("class", "k"), ("d", &path)]);
                }
                Sign::Exit => {
                    let path = format!("M{} {}v12", x_px + 8, middle_px - 6);
                    self.svg.empty("path", &[("class", "x"), ("d", &path)]);
                }
            }
            let y = (middle_px + 4).to_string();
            self.svg.text("text", &[("class", "m"), ("x", &text_x), ("y", &y)], text);
        }
    }
}

const SIGN_PX: u32 = 22;

enum Sign {
    Running,
    Waiting,
    Pick,
    Exit,
    Kind(usize),
}

struct Item {
    sign: Sign,
    text: String,
    x_px: u32,
    row: u32,
}

/// What the signs mean, set in lines.
struct Legend {
    items: Vec<Item>,
    rows: u32,
}

impl Legend {
    fn of(layout: &Layout<'_>, timeline: &Timeline) -> Self {
        let mut signs = vec![
            (Sign::Running, "on a CPU".to_owned()),
            (Sign::Waiting, "waiting for a CPU".to_owned()),
            (Sign::Pick, "a slice begins".to_owned()),
        ];
        if let Some((_, reason)) = &timeline.policy_exit {
            signs.push((
                Sign::Exit,
                super::names::shortened(&format!("the policy left: {reason}"), 90),
            ));
        }
        for (name, paint) in Colours::of(&timeline.tasks).kinds() {
            let count = timeline.tasks.iter().filter(|task| kind(&task.name) == name).count();
            let name = super::names::shortened(name, 20);
            let text = if count == 1 { name } else { format!("{name} ({count})") };
            signs.push((Sign::Kind(paint), text));
        }
        let (mut x_px, mut row, mut items) = (layout.left_px, 0, Vec::new());
        for (sign, text) in signs {
            let width_px = SIGN_PX + text_px(&text) + 14;
            let new_line = items.last().is_some_and(|last: &Item| {
                matches!(sign, Sign::Kind(_)) && !matches!(last.sign, Sign::Kind(_))
            });
            if new_line || (x_px > layout.left_px && x_px + width_px > layout.right_px()) {
                (x_px, row) = (layout.left_px, row + 1);
            }
            items.push(Item { sign, text, x_px, row });
            x_px += width_px;
        }
        Legend { items, rows: row + 1 }
    }
}

/// A time from here to there, in words.
fn spell(start_ns: u64, end_ns: u64) -> String {
    format!("{} to {} ({})", text(start_ns), text(end_ns), text(end_ns - start_ns))
}
