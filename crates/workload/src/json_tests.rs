// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the JSON reader.

use super::*;
use proptest::prelude::*;

fn message(text: &str) -> String {
    let error = parse(text).unwrap_err();
    format!("{}:{}: {}", error.at.line, error.at.column, error.message)
}

fn keys(node: &Node) -> Vec<(&str, u32, u32)> {
    let Value::Object(members) = &node.value else {
        panic!("not an object: {node:?}");
    };
    members.iter().map(|m| (m.key.as_str(), m.at.line, m.at.column)).collect()
}

#[test]
fn repeated_keys_keep_order_and_places() {
    let node = parse("{\n\"run\": 1,\n\n\"sleep\": 2, \"run\": 3\n}").unwrap();
    assert_eq!(keys(&node), [("run", 2, 1), ("sleep", 4, 1), ("run", 4, 13)]);
}

#[test]
fn comments_and_trailing_commas_are_skipped() {
    let text = "// one\n{ /* two\n lines */ \"a\": [1, 2, /* , */], // \"b\": 1\n}\n// end";
    let node = parse(text).unwrap();
    assert_eq!(keys(&node), [("a", 3, 11)]);
}

#[test]
fn comment_signs_inside_strings_are_text() {
    let node = parse(r#""a // b /* c */""#).unwrap();
    assert_eq!(node.value, Value::String("a // b /* c */".into()));
}

#[test]
fn numbers_are_whole_or_float() {
    let value = |text| parse(text).unwrap().value;
    assert_eq!(value("-12"), Value::Int(-12));
    assert_eq!(value("9223372036854775807"), Value::Int(i64::MAX));
    assert_eq!(value("9223372036854775808"), Value::Float(9_223_372_036_854_775_808.0));
    assert_eq!(value("1.5e3"), Value::Float(1500.0));
}

#[test]
fn malformed_numbers_are_refused() {
    for text in ["-", "01", "1.", ".5", "1e", "+1", "0x10", "1e999", "NaN", "1_000"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn escapes_are_decoded() {
    let node = parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#).unwrap();
    assert_eq!(node.value, Value::String("\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f600}".into()));
}

#[test]
fn errors_name_place_and_expectation() {
    assert_eq!(message("{\n\"a\" 1}"), "2:5: expected ':' after the key \"a\", found '1'");
    assert_eq!(message("{\"a\": 1\n\"b\": 2}"), "2:1: expected ',' or '}', found '\"'");
    assert_eq!(message("[1, 2"), "1:6: expected ',' or ']', found the end of the file");
    assert_eq!(message("{a: 1}"), "1:2: expected a key in double quotes or '}', found 'a'");
    assert_eq!(message("\n/* x"), "2:1: this comment has no end");
    assert_eq!(message("\"abc\n\""), "1:5: this string has no closing quote");
    assert_eq!(message("{} {}"), "1:4: expected the end of the file, found '{'");
    assert_eq!(message(""), "1:1: expected a value, found the end of the file");
    assert_eq!(message(r#""\ud800""#), "1:8: a \\u escape is half a surrogate pair");
    assert_eq!(message(r#""\x""#), "1:3: unknown escape \"\\x\" in a string");
}

#[test]
fn columns_count_characters() {
    let node = parse("{ \"ä\": 1, \"b\": 2 }").unwrap();
    assert_eq!(keys(&node), [("ä", 1, 3), ("b", 1, 11)]);
}

#[test]
fn a_value_may_be_left_out() {
    let node = parse("{ \"suspend\", \"run\": 1, \"yield\" }").unwrap();
    assert_eq!(keys(&node), [("suspend", 1, 3), ("run", 1, 14), ("yield", 1, 24)]);
    let Value::Object(members) = node.value else { unreachable!() };
    assert_eq!(members[0].node.value, Value::Missing);
    assert_eq!(members[2].node.value, Value::Missing);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let message = message(&"[".repeat(100_000));
    assert_eq!(message, "1:66: nested deeper than 64 levels");
    assert!(parse(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
}

const START: Pos = Pos { line: 1, column: 1 };

/// The value, as if all of it stood at the start.
fn placeless(value: Value) -> Value {
    let node = |node: Node| Node { at: START, value: placeless(node.value) };
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(node).collect()),
        Value::Object(members) => {
            let member = |m: Member| Member { key: m.key, at: START, node: node(m.node) };
            Value::Object(members.into_iter().map(member).collect())
        }
        other => other,
    }
}

/// Any value, written as text, with the value that must come back.
fn values() -> impl Strategy<Value = (String, Value)> {
    let leaf = prop_oneof![
        Just(("null".to_owned(), Value::Null)),
        any::<bool>().prop_map(|b| (b.to_string(), Value::Bool(b))),
        any::<i64>().prop_map(|i| (i.to_string(), Value::Int(i))),
        "[a-z /*,:]{0,8}".prop_map(|s| (format!("{s:?}"), Value::String(s))),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let array = proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| {
            let texts: Vec<&str> = items.iter().map(|(t, _)| t.as_str()).collect();
            let text = format!("[{} /* c */]", texts.join(" , "));
            let nodes = items.into_iter().map(|(_, value)| Node { at: START, value });
            (text, Value::Array(nodes.collect()))
        });
        let member = ("[a-c]{1,2}", inner);
        let object = proptest::collection::vec(member, 0..4).prop_map(|items| {
            let texts: Vec<String> =
                items.iter().map(|(k, (t, _))| format!("{k:?}:{t},")).collect();
            let members = items.into_iter().map(|(key, (_, value))| Member {
                key,
                at: START,
                node: Node { at: START, value },
            });
            (format!("{{{}}}", texts.concat()), Value::Object(members.collect()))
        });
        prop_oneof![array, object]
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn arbitrary_json_like_text_never_panics(
        text in "([\\[\\]{}:,\"\\\\u0-9aeE.+/*\n -]|true|null|\\PC){0,60}"
    ) {
        let _ = parse(&text);
    }

    #[test]
    fn written_values_come_back((text, value) in values()) {
        prop_assert_eq!(placeless(parse(&text).unwrap().value), value);
    }
}
