// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that a workload file names as its own. What it means is for others to say.

use crate::json::{Node, Value};

/// The key `machine` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineKey {
    /// A machine by its name, or the name of its file.
    Named(String),
    /// The keys of a machine file, as JSON.
    Described {
        /// The line where it begins, from 1.
        line: u32,
        /// The object.
        json: String,
    },
}

impl MachineKey {
    /// That of a value; `None` if it is neither a text nor an object.
    pub(crate) fn of(node: &Node) -> Option<Self> {
        match &node.value {
            Value::String(name) => Some(Self::Named(name.clone())),
            Value::Object(_) => {
                let mut json = String::new();
                write(node, &mut json);
                Some(Self::Described { line: node.at.line, json })
            }
            _ => None,
        }
    }
}

/// As JSON that every reader takes: no comments, no commas too many.
fn write(node: &Node, json: &mut String) {
    match &node.value {
        Value::Missing | Value::Null => json.push_str("null"),
        Value::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => json.push_str(&value.to_string()),
        // With a fraction, so that it stays what it is.
        Value::Float(value) => json.push_str(&format!("{value:?}")),
        Value::String(text) => string(text, json),
        Value::Array(nodes) => {
            json.push('[');
            for (number, node) in nodes.iter().enumerate() {
                json.push_str(if number == 0 { "" } else { "," });
                write(node, json);
            }
            json.push(']');
        }
        Value::Object(members) => {
            json.push('{');
            for (number, member) in members.iter().enumerate() {
                json.push_str(if number == 0 { "" } else { "," });
                string(&member.key, json);
                json.push(':');
                write(&member.node, json);
            }
            json.push('}');
        }
    }
}

fn string(text: &str, json: &mut String) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            c if c < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_described_machine_comes_as_plain_json() {
        let text = "\n{ /* two */ \"cpus\": 2, \"a\\\"b\": [1.0, true, null, \"x\\n\"], }";
        let node = json::parse(text).expect("JSON with comments");
        let json = r#"{"cpus":2,"a\"b":[1.0,true,null,"x\u000a"]}"#.to_owned();
        assert_eq!(MachineKey::of(&node), Some(MachineKey::Described { line: 2, json }));
    }

    #[test]
    fn a_machine_is_a_name_or_an_object() {
        let of = |text| MachineKey::of(&json::parse(text).expect("JSON"));
        assert_eq!(of("\"server\""), Some(MachineKey::Named("server".into())));
        assert_eq!((of("2"), of("[]"), of("null")), (None, None, None));
    }
}
