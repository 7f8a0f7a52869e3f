// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines below a timeline that say what its signs and colours mean.

use std::collections::BTreeMap;

use super::colours::Colours;
use super::layout::{text_px, Layout, TASK_BAR_PX, WAIT_BAR_PX};
use super::names::shortened;
use super::Timeline;
use crate::svg::Svg;

const ROW_PX: u32 = 20;
const SIGN_PX: u32 = 22;
/// Kinds of task beyond these are not listed.
const MOST_KINDS: usize = 30;

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
pub(crate) struct Legend {
    items: Vec<Item>,
    top_px: u32,
    rows: u32,
}

impl Legend {
    pub(crate) fn of(timeline: &Timeline, layout: &Layout<'_>, colours: &Colours) -> Self {
        let mut signs = vec![
            (Sign::Running, "on a CPU".to_owned()),
            (Sign::Waiting, "waiting for a CPU".to_owned()),
        ];
        if layout.picks_shown {
            signs.push((Sign::Pick, "a slice begins".to_owned()));
        }
        if let Some((_, reason)) = &timeline.policy_exit {
            signs.push((Sign::Exit, shortened(&format!("the policy left: {reason}"), 90)));
        }
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let mut kinds: Vec<&str> = Vec::new();
        for task in timeline.tasks.iter().filter(|_| colours.by_kind) {
            let count = counts.entry(&task.instance_of).or_default();
            *count += 1;
            if *count == 1 && kinds.len() < MOST_KINDS {
                kinds.push(&task.instance_of);
            }
        }
        for name in kinds {
            let paint = colours.paint(name, name);
            let text = match counts.get(name) {
                Some(2..) => format!("{} ({})", shortened(name, 20), counts[name]),
                _ => shortened(name, 20),
            };
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
        Legend { items, top_px: layout.axis_px + 34, rows: row + 1 }
    }

    pub(crate) fn bottom_px(&self) -> u32 {
        self.top_px + self.rows * ROW_PX
    }

    pub(crate) fn draw(&self, svg: &mut Svg) {
        for Item { sign, text, x_px, row } in &self.items {
            let middle_px = self.top_px + row * ROW_PX + 6;
            let (x, text_x) = (x_px.to_string(), (x_px + SIGN_PX).to_string());
            let rect = |svg: &mut Svg, class: &str, height_px: u32| {
                let y = (middle_px - height_px / 2).to_string();
                let height = height_px.to_string();
                let attributes =
                    [("class", class), ("x", &x), ("y", &y), ("width", "16"), ("height", &height)];
                svg.empty("rect", &attributes);
            };
            match sign {
                Sign::Running => rect(svg, "n", TASK_BAR_PX),
                Sign::Waiting => rect(svg, "n w", WAIT_BAR_PX),
                Sign::Kind(paint) => rect(svg, &format!("f{paint}"), TASK_BAR_PX),
                Sign::Pick => {
                    let path = format!("M{} {}v6", x_px + 8, middle_px - 3);
                    svg.empty("path", &[("class", "k"), ("d", &path)]);
                }
                Sign::Exit => {
                    let path = format!("M{} {}v12", x_px + 8, middle_px - 6);
                    svg.empty("path", &[("class", "x"), ("d", &path)]);
                }
            }
            let y = (middle_px + 4).to_string();
            svg.text("text", &[("class", "m"), ("x", &text_x), ("y", &y)], text);
        }
    }
}
