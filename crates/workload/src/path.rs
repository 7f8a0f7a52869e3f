// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another value for a key of a workload file, named by its path: `tasks.ui.run`. The rest of the
//! text stays as it is, comments and lines included.

use crate::json::{parse, value_length, Node, Pos, Value};
use std::fmt;

/// Why a path leads to no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is not JSON: line, column and why.
    Syntax(u32, u32, String),
    /// Nothing of this name is there.
    Unknown {
        /// The part of the path that was found.
        above: String,
        /// What is not there.
        name: String,
        /// What is.
        known: Vec<String>,
    },
    /// The key is there several times, as events of a task can be.
    Several {
        /// The key.
        name: String,
        /// How often.
        count: usize,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(line, column, what) => write!(f, "line {line}:{column}: {what}"),
            Self::Unknown { above, name, known } => {
                let place = if above.is_empty() { "the file" } else { above };
                write!(f, "no key \"{name}\" in {place}")?;
                match known.is_empty() {
                    true => write!(f, ", which has no keys"),
                    false => write!(f, ", expected one of {}", known.join(", ")),
                }
            }
            Self::Several { name, count } => {
                write!(f, "{name} is there {count} times, expected {name}#1 to {name}#{count}")
            }
        }
    }
}

impl std::error::Error for PathError {}

/// The text with another value at the place to which the path leads; `json` is the value as JSON.
/// Parts of a path are keys or, in arrays, numbers from 0. Of a key that is there several times, as
/// events are, `run#2` is the second.
///
/// # Errors
///
/// If the text is not JSON, or the path leads to no value or to several.
pub fn with_value(text: &str, path: &str, json: &str) -> Result<String, PathError> {
    let syntax = |at: Pos, message| PathError::Syntax(at.line, at.column, message);
    let root = parse(text).map_err(|error| syntax(error.at, error.message))?;
    let node = find(&root, path, "")?;
    let start = offset(text, node.at);
    let length = value_length(&text[start..]).map_err(|error| syntax(node.at, error.message))?;
    Ok(format!("{}{json}{}", &text[..start], &text[start + length..]))
}

fn find<'a>(node: &'a Node, path: &str, above: &str) -> Result<&'a Node, PathError> {
    let (found, name, rest) = match &node.value {
        Value::Object(members) => {
            // Names may have dots, so the longest key that fits is meant.
            let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
            let mut ends: Vec<usize> = ends.collect();
            ends.reverse();
            let mut found = None;
            for end in ends {
                let name = &path[..end];
                let of = |key: &str| {
                    let same = members.iter().filter(|member| member.key == key);
                    same.map(|member| &member.node).collect::<Vec<_>>()
                };
                let nodes = of(name);
                if nodes.len() > 1 {
                    let (name, count) = (name.to_owned(), nodes.len());
                    return Err(PathError::Several { name, count });
                }
                let numbered = || {
                    let (key, number) = name.rsplit_once('#')?;
                    of(key).get(number.parse::<usize>().ok()?.checked_sub(1)?).copied()
                };
                if let Some(node) = nodes.first().copied().or_else(numbered) {
                    found = Some((node, end));
                    break;
                }
            }
            let first = path.find('.').unwrap_or(path.len());
            let (node, end) = found.map_or((None, first), |(node, end)| (Some(node), end));
            (node, &path[..end], path.get(end + 1..))
        }
        Value::Array(nodes) => {
            let end = path.find('.').unwrap_or(path.len());
            let at = path[..end].parse::<usize>().ok();
            (at.and_then(|at| nodes.get(at)), &path[..end], path.get(end + 1..))
        }
        _ => (None, path, None),
    };
    // A key without a value has no text that another one could take the place of.
    let Some(found) = found.filter(|node| node.value != Value::Missing) else {
        let (above, name) = (above.to_owned(), name.to_owned());
        return Err(PathError::Unknown { above, name, known: known(node) });
    };
    let here = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    rest.map_or(Ok(found), |rest| find(found, rest, &here))
}

/// Each key once, with numbers for those that are there several times.
fn known(node: &Node) -> Vec<String> {
    match &node.value {
        Value::Object(members) => {
            let mut names: Vec<String> = Vec::new();
            for (at, member) in members.iter().enumerate() {
                let key = &member.key;
                let same = |members: &[crate::json::Member]| {
                    members.iter().filter(|other| other.key == *key).count()
                };
                names.push(match same(members) {
                    1 => key.clone(),
                    _ => format!("{key}#{}", same(&members[..=at])),
                });
            }
            names
        }
        Value::Array(nodes) => (0..nodes.len()).map(|at| at.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// Where a place is, in bytes.
fn offset(text: &str, at: Pos) -> usize {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (text.len() - rest.len(), rest),
        None => (0, text),
    };
    let lines = text.split_inclusive('\n').take(at.line as usize - 1);
    let start: usize = lines.map(str::len).sum();
    let line = &text[start..];
    let column = line.char_indices().nth(at.column as usize - 1).map_or(line.len(), |(at, _)| at);
    mark + start + column
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str =
        "{\n  /* two */ \"tasks\": {\"ui\": {\"run\": 1000, \"sleep\": 5, \"run\": 7,},\n\
                        \"a.b\": {\"cpus\": [0, 1], \"x\": \"ä\"}}}\n";

    #[test]
    fn only_the_value_changes() {
        let sleep = with_value(TEXT, "tasks.ui.sleep", "77").expect("there");
        assert_eq!(sleep, TEXT.replace("\"sleep\": 5", "\"sleep\": 77"));
        let second = with_value(TEXT, "tasks.ui.run#2", "\"x\"").expect("there");
        assert_eq!(second, TEXT.replace("\"run\": 7", "\"run\": \"x\""));
        let cpu = with_value(TEXT, "tasks.a.b.cpus.1", "3").expect("there");
        assert_eq!(cpu, TEXT.replace("[0, 1]", "[0, 3]"));
        let whole = with_value(TEXT, "tasks.a.b.cpus", "[2]").expect("there");
        assert_eq!(whole, TEXT.replace("[0, 1]", "[2]"));
        let text = with_value(TEXT, "tasks.a.b.x", "1").expect("there");
        assert_eq!(text, TEXT.replace("\"ä\"", "1"));
        let marked = format!("\u{feff}{TEXT}");
        let sleep = with_value(&marked, "tasks.ui.sleep", "77").expect("there");
        assert_eq!(sleep, marked.replace("\"sleep\": 5", "\"sleep\": 77"));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told_with_what_is_there() {
        let of = |path| with_value(TEXT, path, "1").err().map(|error| error.to_string());
        assert_eq!(
            of("tasks.ui.rn").as_deref(),
            Some("no key \"rn\" in tasks.ui, expected one of run#1, sleep, run#2")
        );
        assert_eq!(
            of("tasks.ui.run").as_deref(),
            Some("run is there 2 times, expected run#1 to run#2")
        );
        assert_eq!(
            of("task").as_deref(),
            Some("no key \"task\" in the file, expected one of tasks")
        );
        assert_eq!(
            of("tasks.ui.sleep.x").as_deref(),
            Some("no key \"x\" in tasks.ui.sleep, which has no keys")
        );
        assert!(of("tasks.ui.run#3").is_some() && of("tasks.a.b.cpus.2").is_some());
        assert!(with_value("{", "a", "1").is_err());
    }

    proptest! {
        #[test]
        fn any_text_and_path_is_changed_or_refused(text in "[{}\\[\\]\":,a-c0-9 \n/*ä]{0,40}", path in "[a-c.#0-9]{0,8}") {
            if let Ok(changed) = with_value(&text, &path, "12345") {
                prop_assert!(changed.contains("12345"));
                prop_assert_eq!(with_value(&changed, &path, "12345"), Ok(changed.clone()));
            }
        }
    }
}
