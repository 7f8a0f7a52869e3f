// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables: names on the left, numbers on the right, no lines and no colours.

use super::plain::plain;
use comfy_table::{presets, CellAlignment, Table};

/// Lays out rows under a header. The first `left` columns are texts, the others numbers.
pub(crate) fn lines(header: &[&str], left: usize, rows: Vec<Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    if !header.is_empty() {
        table.set_header(header.iter().map(|name| plain(name)));
    }
    // Before they are laid out, so that columns stand below each other.
    let cells = |row: Vec<String>| row.into_iter().map(|cell| plain(&cell).into_owned());
    table.add_rows(rows.into_iter().map(cells));
    for (at, column) in table.column_iter_mut().enumerate() {
        // Two blanks between columns, none before the first.
        column.set_padding((0, 2));
        if at >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Lays out rows whose first column is a name: columns that do not fit into the width go into
/// further blocks below, each with the names again and an empty line before it.
pub(crate) fn fitting(width: usize, header: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let size = |at: usize| {
        let cells = rows.iter().map(|row| row[at].as_str());
        cells.chain([header[at]]).map(|cell| plain(cell).chars().count()).max().unwrap_or(0)
    };
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for at in 1..header.len() {
        let wanted = size(at) + 2;
        match blocks.last_mut() {
            Some(block) if used + wanted <= width => {
                block.push(at);
                used += wanted;
            }
            _ => {
                blocks.push(vec![0, at]);
                used = size(0) + wanted;
            }
        }
    }
    let mut lines = Vec::new();
    for block in blocks {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let header: Vec<&str> = block.iter().map(|at| header[*at]).collect();
        let cells = |row: &Vec<String>| block.iter().map(|at| row[*at].clone()).collect();
        lines.extend(self::lines(&header, 1, rows.iter().map(cells).collect()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_on_the_right() {
        let rows = vec![vec!["long name".into(), "7".into()], vec!["a".into(), "1234".into()]];
        let expected = ["name       count", "long name      7", "a           1234"];
        assert_eq!(lines(&["name", "count"], 1, rows), expected);
    }

    #[test]
    fn columns_that_do_not_fit_go_below() {
        let rows = vec![vec!["rr".into(), "1ms".into(), "22ms".into(), "3".into()]];
        let expected = ["     a    bb", "rr  1ms  22ms", "", "    ccc", "rr    3"];
        let lines = fitting(13, &["", "a", "bb", "ccc"], rows);
        assert_eq!(lines.iter().map(|l| l.trim_end()).collect::<Vec<_>>().len(), expected.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 13), "{lines:?}");
        assert_eq!((lines[1].as_str(), lines[4].as_str()), (expected[1], expected[4]));
    }
}
