// SPDX-License-Identifier: MIT OR Apache-2.0
//! The frames in a table, and as pictures.

use super::jobs::{Entry, ENTRIES, SHARES};
use super::numbers::Frames;
use rota_report::chart::{Axis, Line, LineChart, Scale};

/// What pictures show: three cycles.
const SHOWN_NS: u64 = 900_000_000;
/// An instruction of a machine on a counted clock.
const INSTRUCTION_NS: f64 = 2.0;

/// For the page, and for the terminal.
pub fn markdown(kernel: &str, encoder: &str, all: &[Frames]) -> String {
    let total: u64 = SHARES.iter().sum();
    let seconds = Frames::seconds();
    let of = |frames: &Frames| frames.at_ns.iter().map(Vec::len).sum::<usize>();
    let frames = all.iter().map(of).sum::<usize>() as f64 / all.len() as f64;
    let frame_ms = seconds * 1e3 / frames;
    let millions = frame_ms * 1e6 / INSTRUCTION_NS / 1e6;
    let mut text = format!(
        "{kernel}, {encoder}; {seconds} s, ten cycles. A frame takes {frame_ms:.2} ms, {millions:.2} \
         million instructions.\n\n\
         | scheduler | share | frames | part | due | jitter (ms) | longest (ms) | frames in a row |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for (entry, frames) in ENTRIES.iter().zip(all) {
        for (share, n) in SHARES.iter().zip(frames.numbers()) {
            text += &format!(
                "| {} | {share} | {} | {:.1} % | {:.1} % | {:.2} | {:.1} | {} |\n",
                entry.name,
                n.frames,
                n.part * 100.0,
                *share as f64 / total as f64 * 100.0,
                n.jitter_ms,
                n.longest_ms,
                n.row
            );
        }
    }
    let jitter = |at: usize| all.get(at).map_or(f64::NAN, Frames::jitter_ms);
    let (linux, wfq, vtrr) = (jitter(0), jitter(1), jitter(2));
    text + &format!(
        "\nJitter of an encoder, averaged over the five: {linux:.2} ms under Linux 2.2, {wfq:.2} ms \
         under WFQ, {vtrr:.2} ms under VTRR. Linux 2.2 has {:.2} times as much as VTRR.\n",
        linux / vtrr
    )
}

/// Frames over time, an SVG.
pub fn picture(entry: &Entry, frames: &Frames) -> String {
    let line = |(share, at): (&u64, &Vec<u64>)| {
        let shown = at.iter().take_while(|at| **at <= SHOWN_NS).enumerate();
        let points = shown.map(|(done, at)| (*at as f64 / 1e9, (done + 1) as f64));
        Line {
            name: format!("share {share}"),
            points: std::iter::once((0.0, 0.0)).chain(points).collect(),
        }
    };
    LineChart {
        title: format!("{}: frames that lame has encoded, in a kernel", entry.name),
        description: format!(
            "Frames that five copies of lame with shares 1 to 5 have done under {}, over three \
             cycles of 300 ms",
            entry.name
        ),
        x: Axis { label: "time (s)".into(), scale: Scale::Linear },
        y: Axis { label: "frames".into(), scale: Scale::Linear },
        lines: SHARES.iter().zip(&frames.at_ns).map(line).rev().collect(),
    }
    .render()
}
