// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws a timeline.

use std::collections::BTreeMap;

use super::colours::{style, Colours};
use super::layout::*;
use super::legend::Legend;
use super::time::{text, tick_texts};
use super::{Caption, CpuSegment, TaskRow, TaskSegment, Timeline};
use crate::svg::Svg;

/// A bar shorter than this, in hundredths of a pixel, is hard to see.
const LEAST_BAR: u32 = 90;

pub(crate) fn render(timeline: &Timeline, caption: &Caption) -> String {
    let layout = Layout::of(timeline);
    let tasks = timeline.tasks.iter();
    let colours = Colours::of(tasks.map(|task| (task.name.as_str(), task.instance_of.as_str())));
    let legend = Legend::of(timeline, &layout, &colours);
    let height_px = legend.bottom_px() + 6;
    let (width, height) = (WIDTH_PX.to_string(), height_px.to_string());
    let mut drawing = Drawing {
        svg: Svg::picture(CLASS, &width, &height),
        colours,
        tasks: timeline.tasks.iter().map(|task| (task.pid, task)).collect(),
        layout,
    };
    drawing.head(timeline, caption);
    drawing.axis();
    drawing.cpus(timeline);
    drawing.tasks();
    if let Some((at_ns, reason)) = &timeline.policy_exit {
        drawing.policy_exit(*at_ns, reason);
    }
    legend.draw(&mut drawing.svg);
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
    (".n", "fill:#6e7781"),
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

struct Drawing<'a> {
    svg: Svg,
    layout: Layout<'a>,
    colours: Colours,
    tasks: BTreeMap<u32, &'a TaskRow>,
}

impl Drawing<'_> {
    fn name(&self, pid: u32) -> String {
        let named = self.tasks.get(&pid).filter(|task| !task.name.is_empty());
        named.map_or_else(|| format!("pid {pid}"), |task| task.name.clone())
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
        self.svg.text("style", &[], &style(CLASS, LIGHT, DARK));
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
            let nexts = segments.iter().skip(1).map(|next| next.start_ns).chain([timeline.to_ns]);
            for (segment, next_ns) in segments.iter().zip(nexts) {
                self.cpu_segment(segment, next_ns, cpu, top_px);
            }
            if self.layout.picks_shown {
                self.picks(segments, top_px);
            }
        }
    }

    fn paint(&self, task: &TaskRow) -> usize {
        self.colours.paint(&task.name, &task.instance_of)
    }

    fn cpu_segment(&mut self, segment: &CpuSegment, next_ns: u64, cpu: u32, top_px: u32) {
        let CpuSegment { start_ns, end_ns, pid, ref picks_ns } = *segment;
        let (from, to) = self.visible(start_ns, end_ns, next_ns);
        let name = self.name(pid);
        let paint = self.tasks.get(&pid).map_or(0, |task| self.paint(task));
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

    /// Ticks on the upper edge where slices begin.
    fn picks(&mut self, segments: &[CpuSegment], top_px: u32) {
        let picks = segments.iter().flat_map(|segment| &segment.picks_ns);
        let mut places: Vec<u32> = picks.map(|at_ns| self.layout.x(*at_ns)).collect();
        places.dedup();
        if places.is_empty() {
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
            let paint = self.paint(task);
            let nexts = task.segments.iter().skip(1).map(|next| next.start_ns);
            let nexts = nexts.chain([self.layout.scale.to_ns]);
            for (segment, next_ns) in task.segments.iter().zip(nexts) {
                self.task_segment(task, segment, next_ns, paint, top_px);
            }
        }
    }

    fn task_segment(
        &mut self,
        task: &TaskRow,
        segment: &TaskSegment,
        next_ns: u64,
        paint: usize,
        top_px: u32,
    ) {
        let TaskSegment { start_ns, end_ns, cpu } = *segment;
        let (what, class, span_px) = match cpu {
            Some(cpu) => (format!("on CPU {cpu}"), format!("f{paint}"), (top_px, TASK_BAR_PX)),
            None => {
                let top_px = top_px + (TASK_BAR_PX - WAIT_BAR_PX) / 2;
                ("waiting".to_owned(), format!("f{paint} w"), (top_px, WAIT_BAR_PX))
            }
        };
        let next_ns = if cpu.is_some() { next_ns } else { end_ns };
        let (from, to) = self.visible(start_ns, end_ns, next_ns);
        let title = format!("{} {what}\n{}", self.name(task.pid), spell(start_ns, end_ns));
        self.bar(&class, from, to, span_px, &title);
    }

    /// Where a segment is drawn: a very short one a little longer, if there is room.
    fn visible(&self, start_ns: u64, end_ns: u64, next_ns: u64) -> (u32, u32) {
        let from = self.layout.x(start_ns);
        let least = (from + LEAST_BAR).min(self.layout.x(next_ns));
        (from, self.layout.x(end_ns).max(least))
    }

    fn bar(
        &mut self,
        class: &str,
        from: u32,
        to: u32,
        (top_px, height_px): (u32, u32),
        title: &str,
    ) {
        if from == to {
            return;
        }
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
}

/// A time from here to there, in words.
fn spell(start_ns: u64, end_ns: u64) -> String {
    format!("{} to {} ({})", text(start_ns), text(end_ns), text(end_ns - start_ns))
}
