// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes XML elements of a picture.

use std::borrow::Cow;

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::Writer;

/// A document in the making.
pub(crate) struct Svg {
    writer: Writer<Vec<u8>>,
}

/// Attributes of an element: names and values.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Svg {
    pub(crate) fn new() -> Self {
        Svg { writer: Writer::new(Vec::new()) }
    }

    /// Begins a picture of this size, with a class by which its rules leave a page that it is part of
    /// alone; `close("svg")` ends it.
    pub(crate) fn picture(class: &str, width: &str, height: &str) -> Self {
        let mut svg = Self::new();
        let box_of_view = format!("0 0 {width} {height}");
        svg.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("width", width),
                ("height", height),
                ("viewBox", &box_of_view),
                ("role", "img"),
                ("class", class),
            ],
        );
        svg.line();
        svg
    }

    /// Begins an element; [`Svg::close`] ends it.
    pub(crate) fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.event(Event::Start(start(name, attributes)));
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.event(Event::End(BytesEnd::new(name)));
        self.line();
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.event(Event::Empty(start(name, attributes)));
        self.line();
    }

    /// An element that holds text.
    pub(crate) fn text(&mut self, name: &str, attributes: Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.event(Event::Text(BytesText::new(&printable(text))));
        self.close(name);
    }

    /// An element with a tooltip.
    pub(crate) fn with_title(&mut self, name: &str, attributes: Attributes<'_>, title: &str) {
        self.open(name, attributes);
        self.event(Event::Start(BytesStart::new("title")));
        self.event(Event::Text(BytesText::new(&printable(title))));
        self.event(Event::End(BytesEnd::new("title")));
        self.close(name);
    }

    pub(crate) fn line(&mut self) {
        self.event(Event::Text(BytesText::from_escaped("\n")));
    }

    pub(crate) fn finish(self) -> String {
        String::from_utf8_lossy(&self.writer.into_inner()).into_owned()
    }

    fn event(&mut self, event: Event<'_>) {
        // Writing to memory cannot fail.
        let _ = self.writer.write_event(event);
    }
}

fn start<'a>(name: &'a str, attributes: Attributes<'a>) -> BytesStart<'a> {
    let mut start = BytesStart::new(name);
    attributes.iter().for_each(|attribute| start.push_attribute(*attribute));
    start
}

/// XML cannot hold control characters, escaped or not.
fn printable(text: &str) -> Cow<'_, str> {
    let is_bad =
        |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{fffe}' | '\u{ffff}');
    if text.contains(is_bad) {
        Cow::Owned(text.replace(is_bad, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}
