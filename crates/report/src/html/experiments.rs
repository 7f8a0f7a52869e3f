// SPDX-License-Identifier: MIT OR Apache-2.0
//! One HTML file about a paper's experiments: for each what the paper says, what came out, the
//! numbers side by side, and pictures. It has no scripts, and needs no other file.

use super::assets;
use super::markup::Html;
use crate::chart::STYLE;

/// What such a page shows.
#[derive(Clone, Debug, Default)]
pub struct Experiments {
    /// Heading.
    pub title: String,
    /// What there is to know about all of it, as name and value.
    pub facts: Vec<(String, String)>,
    /// Command line that gives this page again.
    pub command: String,
    /// Program and version.
    pub version: String,
    /// In their order.
    pub sections: Vec<Section>,
}

/// One experiment.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Name in links: letters and digits.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Where the paper has it.
    pub place: String,
    /// Headings and texts, before the numbers and after them.
    pub before: Vec<(String, String)>,
    /// See `before`.
    pub after: Vec<(String, String)>,
    /// Numbers under their headings; the first column is words.
    pub numbers: Vec<(String, Table)>,
    /// SVG documents of [`crate::chart`].
    pub charts: Vec<String>,
    /// Further numbers, folded away.
    pub tables: Vec<(String, Table)>,
}

/// Rows under a header.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// What this page has beyond the style of all reports.
const MORE_STYLE: &str = "\
/* Charts are as wide as a telephone's screen, or all there is. */\n\
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); \
gap: 20px 24px; margin: 18px 0; }\n\
.charts svg { width: 100%; height: auto; max-width: 560px; }\n\
.experiment h3 { margin-top: 18px; }\n\
.place { color: var(--muted); font-weight: 400; font-size: 0.87rem; }\n";

impl Experiments {
    /// The page as one document.
    pub fn render(&self) -> String {
        let mut html = Html::default();
        html.raw("<!DOCTYPE html>\n<!-- A report of rota reproduce. It needs no other file and no network. -->\n");
        html.open("html", &[("lang", "en")]);
        self.head(&mut html);
        html.open("body", &[]);
        self.introduction(&mut html);
        html.open("main", &[]);
        self.sections.iter().for_each(|section| section.write(&mut html));
        html.close("main");
        html.open("footer", &[]);
        html.element("p", &[], &format!("Made by {}.", self.version));
        html.close("footer");
        html.close("body");
        html.close("html");
        html.finish()
    }

    fn head(&self, html: &mut Html) {
        let style = assets::style() + MORE_STYLE;
        html.open("head", &[]);
        html.open("meta", &[("charset", "utf-8")]);
        let policy = assets::security_policy_of_styles(&[&style, STYLE]);
        html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
        let width = "width=device-width, initial-scale=1";
        html.open("meta", &[("name", "viewport"), ("content", width)]);
        html.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        html.open("link", &[("rel", "icon"), ("href", "data:,")]);
        html.element("title", &[], &self.title);
        html.open("style", &[]);
        html.raw(&style);
        html.close("style");
        html.close("head");
    }

    fn introduction(&self, html: &mut Html) {
        html.open("header", &[]);
        html.element("h1", &[], &self.title);
        html.open("dl", &[("class", "facts")]);
        html.element("dt", &[], "command");
        html.open("dd", &[]);
        html.element("code", &[], &self.command);
        html.close("dd");
        for (name, value) in &self.facts {
            html.element("dt", &[], name);
            html.element("dd", &[], value);
        }
        html.close("dl");
        html.open("nav", &[("aria-label", "Figures")]);
        for section in &self.sections {
            html.element("a", &[("href", &format!("#{}", section.id))], &section.title);
        }
        html.close("nav");
        html.close("header");
    }
}

impl Section {
    fn write(&self, html: &mut Html) {
        html.open("section", &[("class", "workload experiment"), ("id", &self.id)]);
        html.element("h2", &[], &self.title);
        html.element("p", &[("class", "place")], &self.place);
        texts(html, &self.before);
        for (heading, table) in &self.numbers {
            html.element("h3", &[], heading);
            table.write(html);
        }
        html.open("div", &[("class", "charts")]);
        self.charts.iter().for_each(|chart| html.raw(chart));
        html.close("div");
        texts(html, &self.after);
        for (title, table) in &self.tables {
            html.open("details", &[]);
            html.element("summary", &[], title);
            table.write(html);
            html.close("details");
        }
        html.close("section");
    }
}

impl Table {
    fn write(&self, html: &mut Html) {
        html.open("div", &[("class", "scroll")]);
        html.open("table", &[("class", "data")]);
        html.open("thead", &[]);
        html.open("tr", &[]);
        for (column, name) in self.header.iter().enumerate() {
            let class = if column == 0 { "word" } else { "number" };
            html.element("th", &[("scope", "col"), ("class", class)], name);
        }
        html.close("tr");
        html.close("thead");
        html.open("tbody", &[]);
        for row in &self.rows {
            html.open("tr", &[]);
            for (column, cell) in row.iter().enumerate() {
                match column {
                    0 => html.element("th", &[("scope", "row")], cell),
                    _ => html.element("td", &[], cell),
                }
            }
            html.close("tr");
        }
        html.close("tbody");
        html.close("table");
        html.close("div");
    }
}

fn texts(html: &mut Html, texts: &[(String, String)]) {
    for (heading, text) in texts {
        html.element("h3", &[], heading);
        html.prose("p", text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_texts_and_forbids_all_that_is_not_in_it() {
        let numbers = Table {
            header: vec!["number".into(), "paper".into()],
            rows: vec![vec!["a < b".into(), "1".into()]],
        };
        let section = Section {
            id: "fig1".into(),
            title: "One".into(),
            before: vec![("Why".into(), "`a < b` is off, and ` alone stays".into())],
            numbers: vec![("Numbers".into(), numbers)],
            ..Section::default()
        };
        let page =
            Experiments { title: "T".into(), sections: vec![section], ..Experiments::default() };
        let html = page.render();
        assert!(html.contains("a &lt; b") && html.contains("href=\"#fig1\""));
        assert!(html.contains("<p><code>a &lt; b</code> is off, and ` alone stays</p>"));
        assert!(html.contains("default-src &#39;none&#39;; style-src &#39;sha256-"));
        assert!(!html.contains("<script"));
    }
}
