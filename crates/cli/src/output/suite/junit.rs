// SPDX-License-Identifier: MIT OR Apache-2.0
//! JUnit XML: a test suite for each test, a test case for each expectation of a policy.

use crate::output::plain::plain;
use crate::suite::Checked;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use quick_xml::Writer;
use std::io;

/// The document.
pub(crate) fn document(file: &str, all: &[Checked]) -> io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::Start(counted("testsuites", file, all)))?;
    for tests in all.chunk_by(|a, b| a.test == b.test) {
        xml.write_event(Event::Start(counted("testsuite", &tests[0].test, tests)))?;
        tests.iter().try_for_each(|checked| case(&mut xml, file, checked))?;
        xml.write_event(Event::End(BytesEnd::new("testsuite")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
    let mut bytes = xml.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

/// An element with its name, and how many are in it.
fn counted(element: &'static str, name: &str, all: &[Checked]) -> BytesStart<'static> {
    let failed = all.iter().filter(|checked| checked.failed).count();
    let mut start = BytesStart::new(element);
    start.push_attribute(("name", plain(name).as_ref()));
    start.push_attribute(("tests", all.len().to_string().as_str()));
    start.push_attribute(("failures", failed.to_string().as_str()));
    start
}

fn case(xml: &mut Writer<Vec<u8>>, file: &str, checked: &Checked) -> io::Result<()> {
    let name = format!("{}: {}: {}", checked.place(), checked.policy, checked.condition);
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("name", plain(&name).as_ref()));
    start.push_attribute(("classname", plain(&checked.test).as_ref()));
    start.push_attribute(("file", plain(file).as_ref()));
    start.push_attribute(("line", checked.line.to_string().as_str()));
    if !checked.failed {
        return xml.write_event(Event::Empty(start));
    }
    xml.write_event(Event::Start(start))?;
    let mut failure = BytesStart::new("failure");
    failure.push_attribute(("message", plain(&checked.seen).as_ref()));
    xml.write_event(Event::Start(failure))?;
    let lines = [&checked.command].into_iter().chain(&checked.kept);
    let text: Vec<String> = lines.map(|line| plain(line).into_owned()).collect();
    xml.write_event(Event::Text(BytesText::new(&text.join("\n"))))?;
    xml.write_event(Event::End(BytesEnd::new("failure")))?;
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}
