// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills the model of the HTML report.

use crate::output::{command_line, reproduction};
use rota_report::html::experiments::{Experiments, Section, Table};
use rota_reproduce::{Figure, Reproduction};

/// The report.
pub(crate) fn html(found: &Reproduction) -> String {
    let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Experiments {
        title: format!("{}: the paper's experiments", found.title),
        facts: vec![
            fact("paper", &format!("{}, {}", found.authors, found.published)),
            fact("effort", reproduction::effort(found.effort)),
            fact("result", &reproduction::result(found)),
        ],
        command: command_line(),
        version: format!("rota {}", env!("CARGO_PKG_VERSION")),
        sections: found.figures.iter().map(section).collect(),
    }
    .render()
}

fn section(figure: &Figure) -> Section {
    let text = |heading: &str, text: &str| (heading.to_owned(), text.to_owned());
    let table = |header: &[String], rows: &[Vec<String>]| Table {
        header: header.to_vec(),
        rows: rows.to_vec(),
    };
    let known = reproduction::known(figure).into_iter();
    let known = known.map(|(what, why)| text("Known difference", &format!("{what}: {why}")));
    let header = reproduction::HEADER.map(str::to_owned);
    let mut numbers = vec![("Numbers".to_owned(), table(&header, &reproduction::rows(figure)))];
    let mut tables = Vec::new();
    for of in &figure.tables {
        let place = if of.long { &mut tables } else { &mut numbers };
        place.push((of.title.clone(), table(&of.header, &of.rows)));
    }
    Section {
        id: figure.id.clone(),
        title: figure.title.clone(),
        place: figure.place.clone(),
        before: vec![text("What the paper says", &figure.says), text("What was run", &figure.ran)],
        after: known.chain([text("Remarks", &figure.differs)]).collect(),
        numbers,
        charts: figure.drawings.iter().map(|drawing| drawing.svg.clone()).collect(),
        tables,
    }
}
