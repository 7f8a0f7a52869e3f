// SPDX-License-Identifier: MIT OR Apache-2.0
//! XML that may be anybody's, with limits.

use super::LARGEST_XML;
use rota_machine_file::MachineError;
use roxmltree::{Document, Node, ParsingOptions};

/// Most elements, attributes' values and texts of a file.
const MOST_NODES: u32 = 500_000;
/// Most attributes of an element: hwloc writes 15. The reader compares each with all others.
const MOST_ATTRIBUTES: usize = 256;

/// The document, if it is one of hwloc 2 or 3.
pub(super) fn open<'a>(file: &str, text: &'a str) -> Result<Document<'a>, MachineError> {
    let at = |line, what: String| MachineError { file: file.to_owned(), line, what };
    if text.len() > LARGEST_XML {
        let what = format!("{} bytes, expected at most {LARGEST_XML}", text.len());
        return Err(at(None, what));
    }
    // hwloc writes neither, and both can make a small file large.
    for refused in ["<!ENTITY", "xmlns"] {
        if let Some(offset) = text.find(refused) {
            let line = text[..offset].matches('\n').count() + 1;
            return Err(at(Some(line), format!("{refused}: expected none in XML of hwloc")));
        }
    }
    let many = |tag: &str| tag.bytes().filter(|byte| *byte == b'=').count() > MOST_ATTRIBUTES;
    if text.split('<').any(many) {
        let what = format!("an element of more than {MOST_ATTRIBUTES} attributes");
        return Err(at(None, what));
    }
    // The first line names hwloc's DTD, which is not fetched.
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, entity_resolver: None };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| at(Some(error.pos().row as usize), error.to_string()))?;
    let root = document.root_element();
    let version = root.attribute("version").unwrap_or("1");
    let is_known = ["2.", "3."].iter().any(|known| version.starts_with(known));
    if root.tag_name().name() != "topology" {
        let found = root.tag_name().name().to_owned();
        return Err(at(Some(1), format!("element {found}: expected topology, of lstopo --of xml")));
    }
    if !is_known {
        let what = format!("version {version} of hwloc's XML: expected 2 or 3, of a newer lstopo");
        return Err(at(Some(1), what));
    }
    Ok(document)
}

/// The number in an attribute.
pub(super) fn attribute<T: std::str::FromStr>(of: Node<'_, '_>, name: &str) -> Option<T> {
    of.attribute(name)?.parse().ok()
}
