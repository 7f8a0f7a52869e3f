// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the parts of a timeline are. Lengths are hundredths of a pixel unless they end in
//! `_px`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::names::shortened;
use super::time::Scale;
use super::{CpuSegment, TaskRow, Timeline};

/// Rows beyond these are left out, with a note.
pub(crate) const MOST_CPUS: usize = 64;
pub(crate) const MOST_TASKS: usize = 40;

pub(crate) const WIDTH_PX: u32 = 1000;
pub(crate) const MARGIN_PX: u32 = 16;
pub(crate) const CPU_ROW_PX: u32 = 26;
pub(crate) const CPU_BAR_PX: u32 = 20;
pub(crate) const TASK_ROW_PX: u32 = 18;
pub(crate) const TASK_BAR_PX: u32 = 12;
/// Waiting is drawn flat, so that it differs from running by shape too.
pub(crate) const WAIT_BAR_PX: u32 = 6;
pub(crate) const TITLE_PX: u32 = 32;
pub(crate) const SUBTITLE_PX: u32 = 51;
const ROWS_PX: u32 = 68;
const GROUP_GAP_PX: u32 = 10;
const NAME_GAP_PX: u32 = 8;

/// Space for a row's name, in characters, and for each of them in the widest usual font.
const LONGEST_NAME: usize = 20;
const LETTER_PX: u32 = 8;
/// Between marks of the axis.
const TICKS_APART: u32 = 85_00;
/// Slice starts nearer to each other than this are not told apart.
const PICKS_APART: u32 = 2_50;

/// Usual width of the text in bars and legend; generous, as fonts differ.
pub(crate) fn text_px(text: &str) -> u32 {
    7 * u32::try_from(text.chars().count()).unwrap_or(u32::MAX / 7)
}

/// A picture's rows and axis.
pub(crate) struct Layout<'a> {
    pub(crate) scale: Scale,
    /// Left end of the time axis.
    pub(crate) left_px: u32,
    pub(crate) cpus: Vec<u32>,
    pub(crate) tasks: Vec<&'a TaskRow>,
    pub(crate) tasks_top_px: u32,
    pub(crate) axis_px: u32,
    /// Whether slice starts are far enough from each other to be told apart.
    pub(crate) picks_shown: bool,
    pub(crate) ticks: Vec<u64>,
    /// What is not in the picture.
    pub(crate) notes: Vec<String>,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(timeline: &'a Timeline) -> Self {
        let cpus: Vec<u32> = timeline.cpus.keys().copied().take(MOST_CPUS).collect();
        let tasks = busiest(&timeline.tasks);
        let names = tasks.iter().map(|task| row_name(&task.name));
        let names = names.chain(cpus.iter().map(|cpu| cpu_name(*cpu)));
        let longest = names.map(|name| name.chars().count()).max();
        let names_px = LETTER_PX * u32::try_from(longest.unwrap_or(0)).unwrap_or(0);
        let left_px = MARGIN_PX + names_px + NAME_GAP_PX;
        let length = (WIDTH_PX - MARGIN_PX - left_px) * 100;
        let scale = Scale { from_ns: timeline.from_ns, to_ns: timeline.to_ns, length };
        let rows_px = |rows: usize, each_px: u32| u32::try_from(rows).unwrap_or(0) * each_px;
        let tasks_top_px = ROWS_PX + rows_px(cpus.len(), CPU_ROW_PX) + GROUP_GAP_PX;
        let axis_px = tasks_top_px + rows_px(tasks.len(), TASK_ROW_PX) + 4;
        let notes = notes(timeline, cpus.len(), &tasks);
        let ticks = scale.ticks(TICKS_APART);
        let picks_shown = cpus.iter().all(|cpu| !is_dense(&timeline.cpus[cpu], &scale));
        Layout { scale, left_px, cpus, tasks, tasks_top_px, axis_px, picks_shown, ticks, notes }
    }

    /// Position of a time from the left edge of the picture.
    pub(crate) fn x(&self, at_ns: u64) -> u32 {
        self.left_px * 100 + self.scale.place(at_ns)
    }

    pub(crate) fn right_px(&self) -> u32 {
        WIDTH_PX - MARGIN_PX
    }

    pub(crate) fn cpu_row_px(&self, row: usize) -> u32 {
        ROWS_PX + u32::try_from(row).unwrap_or(0) * CPU_ROW_PX
    }

    pub(crate) fn task_row_px(&self, row: usize) -> u32 {
        self.tasks_top_px + u32::try_from(row).unwrap_or(0) * TASK_ROW_PX
    }

    /// Where the rows of CPUs begin: the axis lines start here.
    pub(crate) fn top_px(&self) -> u32 {
        ROWS_PX - 4
    }
}

/// Whether most slices of a CPU begin hardly after the one before.
fn is_dense(segments: &[CpuSegment], scale: &Scale) -> bool {
    let picks = segments.iter().flat_map(|segment| &segment.picks_ns);
    let places: Vec<u32> = picks.map(|at_ns| scale.place(*at_ns)).collect();
    let dense = places.windows(2).filter(|pair| pair[1] - pair[0] < PICKS_APART).count();
    2 * dense > places.len()
}

/// A hundredth-pixel length as SVG has it.
pub(crate) fn px(length: u32) -> String {
    match (length / 100, length % 100) {
        (whole, 0) => whole.to_string(),
        (whole, part) if part % 10 == 0 => format!("{whole}.{}", part / 10),
        (whole, part) => format!("{whole}.{part:02}"),
    }
}

pub(crate) fn cpu_name(cpu: u32) -> String {
    format!("CPU {cpu}")
}

pub(crate) fn row_name(task: &str) -> String {
    shortened(task, LONGEST_NAME)
}

/// If there are too many tasks, those with most CPU time of each kind, in their old order.
fn busiest(tasks: &[TaskRow]) -> Vec<&TaskRow> {
    let mut order: Vec<&TaskRow> = tasks.iter().collect();
    order.sort_by_key(|task| (Reverse(task.cpu_ns()), task.pid));
    let mut of_kind: BTreeMap<&str, u32> = BTreeMap::new();
    let mut ranked: Vec<(u32, &TaskRow)> = Vec::new();
    for task in order {
        let rank = of_kind.entry(&task.instance_of).or_default();
        ranked.push((*rank, task));
        *rank += 1;
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(MOST_TASKS);
    let mut chosen: Vec<&TaskRow> = ranked.into_iter().map(|(_, task)| task).collect();
    chosen.sort_by_key(|task| task.pid);
    chosen
}

fn notes(timeline: &Timeline, cpus: usize, tasks: &[&TaskRow]) -> Vec<String> {
    let mut notes = Vec::new();
    if timeline.tasks.is_empty() {
        notes.push("nothing ran in this time".to_owned());
    }
    if timeline.cut_short {
        notes.push("ends here: more would not fit a picture".to_owned());
    }
    let missing = timeline.cpus.len() - cpus;
    if missing > 0 {
        notes.push(format!("{missing} more CPUs are not shown"));
    }
    let missing = timeline.tasks.len() - tasks.len();
    if missing > 0 {
        notes.push(format!("{missing} tasks have no row"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::TaskSegment;

    #[test]
    fn lengths_are_written_without_needless_digits() {
        assert_eq!(
            [0, 5, 50, 100, 1_230, 99_999].map(px),
            ["0", "0.05", "0.5", "1", "12.3", "999.99"]
        );
    }

    #[test]
    fn the_busiest_tasks_get_the_rows() {
        let task = |pid: u32| {
            let end_ns = u64::from(pid % 50 + 1);
            let segments = vec![TaskSegment { start_ns: 0, end_ns, cpu: Some(0) }];
            TaskRow { pid, name: format!("t-{pid}"), instance_of: "t".into(), segments }
        };
        let tasks: Vec<TaskRow> = (0..50).map(task).collect();
        let timeline = Timeline { to_ns: 100, tasks, ..Timeline::default() };
        let layout = Layout::of(&timeline);
        let pids: Vec<u32> = layout.tasks.iter().map(|task| task.pid).collect();
        assert_eq!(pids, (10..50).collect::<Vec<_>>());
        assert_eq!(layout.notes, ["10 tasks have no row"]);
    }

    #[test]
    fn every_kind_of_task_has_rows() {
        let task = |pid: u32, name: &str, end_ns: u64| {
            let segments = vec![TaskSegment { start_ns: 0, end_ns, cpu: Some(0) }];
            TaskRow { pid, name: format!("{name}-{pid}"), instance_of: name.into(), segments }
        };
        let idle = (0..40).map(|pid| task(pid, "idle", 1));
        let tasks = idle.chain((40..90).map(|pid| task(pid, "busy", 100))).collect();
        let timeline = Timeline { to_ns: 100, tasks, ..Timeline::default() };
        let layout = Layout::of(&timeline);
        let idle = layout.tasks.iter().filter(|task| task.name.starts_with("idle")).count();
        assert_eq!((idle, layout.tasks.len()), (20, 40));
    }
}
