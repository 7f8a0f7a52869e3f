// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON as rt-app files use it: comments, trailing commas, repeated keys, and keys without value.
//!
//! Members keep their order and everything keeps its place, which the usual parsers drop and
//! a workload needs: events run in file order, and errors name lines and columns.

use std::fmt;

/// Objects and arrays may nest this deep.
const MAX_DEPTH: u32 = 64;

/// A place in a text, both from 1; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pos {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Pos,
    pub(crate) value: Value,
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A key stands alone, as rt-app's workgen lets it.
    Missing,
    Null,
    Bool(bool),
    Int(i64),
    /// Numbers with a fraction or exponent, and integers beyond 64 bits.
    Float(f64),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One `"key": value` of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) at: Pos,
    pub(crate) node: Node,
}

/// Text that is not JSON: where and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: Pos,
    pub(crate) message: String,
}

/// As error messages show a value: its kind and, where short, itself.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Missing => f.write_str("nothing"),
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::String(s) if s.chars().count() <= 40 => write!(f, "{s:?}"),
            Value::String(_) => f.write_str("a long string"),
            Value::Array(_) => f.write_str("an array"),
            Value::Object(_) => f.write_str("an object"),
        }
    }
}

/// Reads one value and nothing after it but blanks and comments.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest, at: Pos { line: 1, column: 1 } };
    let node = reader.value(0)?;
    reader.blanks()?;
    if reader.rest.is_empty() {
        Ok(node)
    } else {
        Err(reader.unexpected("the end of the file"))
    }
}

/// How many bytes the value has with which the text begins.
pub(crate) fn value_length(text: &str) -> Result<usize, SyntaxError> {
    let mut reader = Reader { rest: text, at: Pos { line: 1, column: 1 } };
    reader.value(0)?;
    Ok(text.len() - reader.rest.len())
}

struct Reader<'a> {
    rest: &'a str,
    at: Pos,
}

impl<'a> Reader<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError { at: self.at, message: message.into() })
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let message = match self.rest.chars().next() {
            Some(c) => format!("expected {wanted}, found {c:?}"),
            None => format!("expected {wanted}, found the end of the file"),
        };
        SyntaxError { at: self.at, message }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at(bytes);
        self.rest = tail;
        match head.rfind('\n') {
            Some(end) => {
                self.at.line += head.bytes().filter(|b| *b == b'\n').count() as u32;
                self.at.column = 1 + head[end + 1..].chars().count() as u32;
            }
            None => self.at.column += head.chars().count() as u32,
        }
        head
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.starts_with(token);
        if found {
            self.take(token.len());
        }
        found
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            let blank = |c: char| !matches!(c, ' ' | '\t' | '\r' | '\n');
            self.take(self.rest.find(blank).unwrap_or(self.rest.len()));
            if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if let Some(body) = self.rest.strip_prefix("/*") {
                match body.find("*/") {
                    Some(end) => self.take(end + 4),
                    None => return self.error("this comment has no end"),
                };
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: u32) -> Result<Node, SyntaxError> {
        self.blanks()?;
        if depth > MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let at = self.at;
        let value = match self.rest.as_bytes().first() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ if self.eat("true") => Value::Bool(true),
            _ if self.eat("false") => Value::Bool(false),
            _ if self.eat("null") => Value::Null,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { at, value })
    }

    fn object(&mut self, depth: u32) -> Result<Value, SyntaxError> {
        self.take(1);
        let mut members = Vec::new();
        loop {
            self.blanks()?;
            if self.eat("}") {
                return Ok(Value::Object(members));
            }
            if !self.rest.starts_with('"') {
                return Err(self.unexpected("a key in double quotes or '}'"));
            }
            let at = self.at;
            let key = self.string()?;
            self.blanks()?;
            let node = if self.eat(":") {
                self.value(depth + 1)?
            } else if self.rest.starts_with([',', '}']) {
                Node { at: self.at, value: Value::Missing }
            } else {
                return Err(self.unexpected(&format!("':' after the key {key:?}")));
            };
            members.push(Member { key, at, node });
            self.comma('}')?;
        }
    }

    fn array(&mut self, depth: u32) -> Result<Value, SyntaxError> {
        self.take(1);
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            if self.eat("]") {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.comma(']')?;
        }
    }

    /// A comma, or the closing bracket still to come.
    fn comma(&mut self, close: char) -> Result<(), SyntaxError> {
        self.blanks()?;
        if self.eat(",") || self.rest.starts_with(close) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("',' or '{close}'")))
        }
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let part = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let end = self.rest.find(part).unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        if !is_json_number(text) {
            return self.error(format!("{text:?} is not a number"));
        }
        self.take(end);
        if let Ok(int) = text.parse() {
            return Ok(Value::Int(int));
        }
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Value::Float(x)),
            _ => self.error(format!("{text:?} is too large a number")),
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        self.take(1);
        let mut text = String::new();
        loop {
            let plain = |c: char| c == '"' || c == '\\' || c.is_control();
            let end = self.rest.find(plain).unwrap_or(self.rest.len());
            text.push_str(self.take(end));
            match self.rest.chars().next() {
                Some('"') => {
                    self.take(1);
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                // A tab is harmless; a line break means the closing quote is missing.
                Some('\t') => text.push_str(self.take(1)),
                Some('\n' | '\r') | None => return self.error("this string has no closing quote"),
                Some(c) => return self.error(format!("a string cannot hold {c:?}")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        self.take(1);
        let Some(letter) = self.rest.chars().next() else {
            return self.error("this string has no closing quote");
        };
        let c = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                self.take(1);
                return self.unicode_escape();
            }
            _ => return self.error(format!("unknown escape \"\\{letter}\" in a string")),
        };
        self.take(1);
        Ok(c)
    }

    /// The digits of `\uXXXX`, and of the second half where they are a surrogate pair.
    fn unicode_escape(&mut self) -> Result<char, SyntaxError> {
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.eat("\\u") {
            let second = self.hex4()?;
            if !(0xdc00..0xe000).contains(&second) {
                return self.error("a \\u escape is half a surrogate pair");
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        match char::from_u32(code) {
            Some(c) => Ok(c),
            None => self.error("a \\u escape is half a surrogate pair"),
        }
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.rest.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
            Some(code) => {
                self.take(4);
                Ok(code)
            }
            None => self.error("\\u needs four hexadecimal digits"),
        }
    }
}

/// Whether the text has the form of a JSON number: `-?(0|[1-9]d*)(.d+)?([eE][+-]?d+)?`.
fn is_json_number(text: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    let text = text.strip_prefix('-').unwrap_or(text);
    let Some(mut rest) = text.strip_prefix('0').or_else(|| digits(text)) else {
        return false;
    };
    if let Some(fraction) = rest.strip_prefix('.') {
        match digits(fraction) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        match digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
