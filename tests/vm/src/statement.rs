// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a paper says, in a number, beside what was measured.

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What is counted.
    pub what: String,
    /// What it has to be.
    pub wanted: Wanted,
    /// What it is.
    pub found: f64,
    /// With a blank before it, if there is one.
    pub unit: &'static str,
    /// A command fails if it differs; others are only told.
    pub has_to: bool,
}

/// What a number has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// That or less.
    AtMost(f64),
    /// That, give or take the second.
    About(f64, f64),
    /// The paper names no number, and none is asked for.
    Anything,
}

impl Statement {
    /// None: it is not judged.
    pub fn agrees(&self) -> Option<bool> {
        match self.wanted {
            Wanted::AtMost(most) => Some(self.found <= most),
            Wanted::About(value, within) => Some((self.found - value).abs() <= within),
            Wanted::Anything => None,
        }
    }

    fn wanted(&self) -> String {
        let unit = self.unit;
        match self.wanted {
            Wanted::AtMost(most) => format!("≤ {most}{unit}"),
            Wanted::About(value, within) => format!("{value}{unit} ±{within}"),
            Wanted::Anything => "–".into(),
        }
    }
}

/// As a table.
pub fn markdown(statements: &[Statement]) -> String {
    let mut text = String::from("| number | wanted | here |  |\n|---|--:|--:|---|\n");
    for statement in statements {
        let verdict = match statement.agrees() {
            Some(true) => "agrees",
            Some(false) => "differs",
            None => "not judged",
        };
        let Statement { what, found, unit, .. } = statement;
        text += &format!("| {what} | {} | {found:.2}{unit} | {verdict} |\n", statement.wanted());
    }
    text
}

/// Those that have to agree and differ, in words.
pub fn problems(statements: &[Statement]) -> Vec<String> {
    let differ = |statement: &&Statement| statement.has_to && statement.agrees() == Some(false);
    let differ = statements.iter().filter(differ);
    let told = |statement: &Statement| {
        let Statement { what, found, unit, .. } = statement;
        format!("{what}: {found:.3}{unit}, expected {}", statement.wanted())
    };
    differ.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(wanted: Wanted, found: f64) -> Statement {
        Statement { what: "so many".into(), wanted, found, unit: " s", has_to: true }
    }

    #[test]
    fn numbers_agree_or_differ_and_what_was_not_measured_differs() {
        for (wanted, found, agrees) in [
            (Wanted::AtMost(1.0), 1.0, Some(true)),
            (Wanted::AtMost(1.0), 1.01, Some(false)),
            (Wanted::AtMost(1.0), f64::NAN, Some(false)),
            (Wanted::About(10.0, 2.5), 7.5, Some(true)),
            (Wanted::About(10.0, 2.5), 12.6, Some(false)),
            (Wanted::About(10.0, 2.5), f64::NAN, Some(false)),
            (Wanted::Anything, 3.0, None),
        ] {
            assert_eq!(statement(wanted, found).agrees(), agrees, "{wanted:?} {found}");
        }
    }

    #[test]
    fn those_that_differ_are_told_and_all_are_in_the_table() {
        let all = [
            statement(Wanted::AtMost(1.0), 0.5),
            statement(Wanted::About(2.0, 0.5), 3.0),
            statement(Wanted::Anything, 4.0),
        ];
        assert_eq!(problems(&all), ["so many: 3.000 s, expected 2 s ±0.5"]);
        let free = all.clone().map(|statement| Statement { has_to: false, ..statement });
        assert_eq!(problems(&free), Vec::<String>::new());
        let table = markdown(&all);
        assert!(table.contains("| so many | ≤ 1 s | 0.50 s | agrees |"), "{table}");
        assert!(table.contains("| so many | 2 s ±0.5 | 3.00 s | differs |"), "{table}");
        assert!(table.contains("| so many | – | 4.00 s | not judged |"), "{table}");
    }
}
