//! Tables with a header, cut to the width of the terminal.

use std::io;

use anstyle::Style;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

use super::{
    screen::Screen,
    style::{self, paint},
};

/// A row of a table. `painted` colours the first cell equal to it.
#[derive(Debug)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<String>,
    pub(crate) painted: Option<(&'static str, Style)>,
}

impl Screen {
    /// Prints a table, cut to the width of a terminal, or uncut to a pipe.
    pub(crate) fn table(self, names: &[&str], rows: Vec<TableRow>) -> io::Result<()> {
        self.say(self.draw(names, rows))
    }

    fn draw(self, names: &[&str], rows: Vec<TableRow>) -> String {
        let mut table = Table::new();
        let mut header = comfy_table::Row::from(names.to_vec());
        // One line for each row, the header too: whatever does not fit is cut, and no row is lost.
        header.max_height(1);
        table.load_style(presets::NOTHING).set_header(header).set_truncation_indicator("…");
        if self.terminal {
            table.set_width(self.width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        let painted: Vec<_> = rows.iter().map(|row| row.painted).collect();
        for row in rows {
            let mut cells = comfy_table::Row::from(row.cells);
            cells.max_height(1);
            table.add_row(cells);
        }
        // The first column is an id, which nothing may cut; and no column stands away from the
        // edge.
        if let Some(column) = table.column_mut(0) {
            column.set_padding((0, 1)).set_constraint(ColumnConstraint::ContentWidth);
        }
        let mut lines = table.lines();
        let header = lines.next().map(|line| paint(style::FAINT, line.trim_end())).unwrap_or_default();
        let rows = lines.zip(painted).map(|(line, painted)| match painted {
            Some((word, style)) => {
                line.trim_end().replacen(&format!(" {word} "), &paint(style, format!(" {word} ")), 1)
            }
            None => line.trim_end().to_owned(),
        });
        std::iter::once(header).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

/// Lines of names and values.
pub(crate) fn facts<const N: usize>(rows: [(&str, Option<String>); N]) -> String {
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("  {} {value}", paint(style::FAINT, format!("{name:<10}"))))
    };
    rows.into_iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::TableRow;
    use crate::terminal::screen::Screen;

    #[test]
    fn a_table_has_a_line_for_each_row_however_narrow_the_terminal() {
        let names = ["STEP", "KIND", "STATE", "TOOK", "RESULT"];
        let row = |n: usize| TableRow {
            cells: vec![
                format!("a-step-with-a-long-name-{n}"),
                "once".into(),
                "done".into(),
                "1.0 s".into(),
                "ok".into(),
            ],
            painted: None,
        };
        for width in [20, 40, 60, 80, 120] {
            let screen = Screen { json: false, terminal: true, answers: false, notes_are_read: false, width };
            let drawn = screen.draw(&names, (0..5).map(row).collect());
            assert_eq!(drawn.lines().count(), 6, "{width} columns:\n{drawn}");
        }
    }
}
