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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_on_the_right() {
        let rows = vec![vec!["long name".into(), "7".into()], vec!["a".into(), "1234".into()]];
        let expected = ["name       count", "long name      7", "a           1234"];
        assert_eq!(lines(&["name", "count"], 1, rows), expected);
    }
}
