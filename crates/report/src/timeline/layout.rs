// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the parts of a timeline are. Lengths are hundredths of a pixel unless they end in
//! `_px`.

use std::cmp::Reverse;

use super::names::shortened;
use super::time::Scale;
use super::{TaskRow, Timeline};

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

/// Space for a row's name, in characters.
const LONGEST_NAME: usize = 20;
/// Between marks of the axis.
const TICKS_APART: u32 = 85_00;

/// Width of text of the row and legend size; generous, as fonts differ.
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
    pub(crate) ticks: Vec<u64>,
    /// What is not in the picture.
    pub(crate) notes: Vec<String>,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(timeline: &'a Timeline) -> Self {
        let cpus: Vec<u32> = timeline.cpus.keys().copied().take(MOST_CPUS).collect();
        let tasks = busiest(&timeline.tasks);
        let names = tasks.iter().map(|task| row_name(&task.name));
        let names_px = names.chain([cpu_name(9)]).map(|name| text_px(&name)).max().unwrap_or(0);
        let left_px = MARGIN_PX + names_px + NAME_GAP_PX;
        let length = (WIDTH_PX - MARGIN_PX - left_px) * 100;
        let scale = Scale { from_ns: timeline.from_ns, to_ns: timeline.to_ns, length };
        let rows_px = |rows: usize, each_px: u32| u32::try_from(rows).unwrap_or(0) * each_px;
        let tasks_top_px = ROWS_PX + rows_px(cpus.len(), CPU_ROW_PX) + GROUP_GAP_PX;
        let axis_px = tasks_top_px + rows_px(tasks.len(), TASK_ROW_PX) + 4;
        let notes = notes(timeline, cpus.len(), &tasks);
        let ticks = scale.ticks(TICKS_APART);
        Layout { scale, left_px, cpus, tasks, tasks_top_px, axis_px, ticks, notes }
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

/// The tasks with most CPU time if there are too many, in their old order.
fn busiest(tasks: &[TaskRow]) -> Vec<&TaskRow> {
    let mut chosen: Vec<&TaskRow> = tasks.iter().collect();
    chosen.sort_by_key(|task| (Reverse(task.cpu_ns()), task.pid));
    chosen.truncate(MOST_TASKS);
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
        notes.push(format!("{missing} tasks that ran less have no row"));
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
            TaskRow { pid, name: format!("t-{pid}"), segments }
        };
        let tasks: Vec<TaskRow> = (0..50).map(task).collect();
        let timeline = Timeline { to_ns: 100, tasks, ..Timeline::default() };
        let layout = Layout::of(&timeline);
        let pids: Vec<u32> = layout.tasks.iter().map(|task| task.pid).collect();
        assert_eq!(pids, (10..50).collect::<Vec<_>>());
        assert_eq!(layout.notes, ["10 tasks that ran less have no row"]);
    }
}
