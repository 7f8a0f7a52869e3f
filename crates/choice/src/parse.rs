// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings from their text.

use crate::error::ChoiceError;
use crate::recording::{digits, Entry, Recording, END, HEADER};
use crate::site::{Origin, Site};
use std::str::SplitAsciiWhitespace;

/// What an entry can begin with.
const KINDS: [&str; 8] =
    ["first-cpu", "next-cpu", "event", "tick-turn", "policy", "start", "task", "customer"];
/// Characters of a bad line that an error repeats.
const SHOWN: usize = 60;

impl Recording {
    /// Reads the text of a recording.
    pub fn parse(text: &[u8]) -> Result<Self, ChoiceError> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let mut lines = (1u64..).zip(text.split(|byte| *byte == b'\n'));
        let mut recording = Recording::default();
        header(lines.next().map_or(&[], |(_, line)| line))?;
        let mut last = 1;
        for (number, line) in &mut lines {
            last = number;
            let fail = |what: String| ChoiceError { line: number, what };
            let line = std::str::from_utf8(line).map_err(|_| fail("not UTF-8 text".into()))?;
            let line = line.strip_suffix('\r').unwrap_or(line);
            match line.strip_prefix('#') {
                Some(comment) if recording.entries.is_empty() => {
                    recording.comments.push(comment.to_owned());
                    continue;
                }
                Some(_) => return Err(fail("comments are allowed below line 1 only".into())),
                None if line == END => return nothing_in(lines).map(|()| recording),
                None => {}
            }
            let parsed = entry(line).map_err(|what| fail(format!("{}: {what}", shown(line))))?;
            recording.entries.push(parsed);
        }
        let what = format!("the file is cut off: expected {END:?} as its last line");
        Err(ChoiceError { line: last + 1, what })
    }
}

fn header(line: &[u8]) -> Result<(), ChoiceError> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_ascii_end();
    if line == HEADER {
        return Ok(());
    }
    let what = match line.strip_prefix("rota.choices/") {
        Some(_) => format!("{}: another version of the format, expected {HEADER}", shown(line)),
        None => format!("{}: no recorded choices, expected {HEADER}", shown(line)),
    };
    Err(ChoiceError { line: 1, what })
}

/// What follows the end.
fn nothing_in<'a>(lines: impl Iterator<Item = (u64, &'a [u8])>) -> Result<(), ChoiceError> {
    for (line, text) in lines {
        if !text.trim_ascii().is_empty() {
            let what = format!("expected nothing after {END:?}");
            return Err(ChoiceError { line, what });
        }
    }
    Ok(())
}

fn entry(line: &str) -> Result<Entry, String> {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next().unwrap_or_default();
    let words = &mut words;
    let entry = match kind {
        "first-cpu" => chosen(Site::FirstCpu, words)?,
        "next-cpu" => chosen(Site::NextCpu, words)?,
        "event" => chosen(Site::Event, words)?,
        "tick-turn" => chosen(Site::TickTurn { number: number(words, "tick")? }, words)?,
        "policy" => drawn(Origin::Policy, words)?,
        "start" => drawn(Origin::Start(number(words, "definition")?), words)?,
        "task" => drawn(Origin::Task(number(words, "task")?, 0), words)?,
        "customer" => {
            let (source, user) = (number(words, "source")?, number(words, "user")?);
            drawn(Origin::Customer(source, user), words)?
        }
        _ => return Err(unknown(kind)),
    };
    match words.next() {
        Some(word) => Err(format!("{}: expected the end of the line", shown(word))),
        None => Ok(entry),
    }
}

/// `2 of 4` or `0 of 5..2`.
fn chosen(site: Site, words: &mut SplitAsciiWhitespace<'_>) -> Result<Entry, String> {
    let places: u32 = number(words, "place of the chosen alternative")?;
    if words.next() != Some("of") {
        return Err("expected \"of\" and the number of alternatives".into());
    }
    let counts = words.next().unwrap_or_default();
    let (count, least) = counts.split_once("..").unwrap_or((counts, counts));
    let (count, least): (u32, u32) = match (decimal(count), decimal(least)) {
        (Some(count), Some(least)) => (count, least),
        _ => return Err(format!("{}: expected a number of alternatives", shown(counts))),
    };
    if least < 2 || least > count {
        return Err(format!("of {counts}: expected 2 alternatives or more, as 4 or 4..2"));
    }
    if places >= count {
        return Err(format!("place {places} of {count}: expected 0 to {}", count - 1));
    }
    if places != 0 && count != least {
        return Err(format!("place {places} of {counts}: several counts are only for place 0"));
    }
    Ok(Entry::Chosen { site, places, count, least })
}

/// `0x0123abcd`.
fn drawn(origin: Origin, words: &mut SplitAsciiWhitespace<'_>) -> Result<Entry, String> {
    let (word, digits) = (words.next().unwrap_or_default(), digits(origin));
    let number = word.strip_prefix("0x").filter(|hex| {
        hex.len() == digits && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    });
    match number.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
        Some(number) => Ok(Entry::Drawn { origin, number }),
        None => Err(format!("{}: expected 0x and {digits} digits 0-9 and a-f", shown(word))),
    }
}

fn number<N: std::str::FromStr>(
    words: &mut SplitAsciiWhitespace<'_>,
    of: &str,
) -> Result<N, String> {
    let word = words.next().unwrap_or_default();
    decimal(word).ok_or_else(|| format!("{}: expected the number of the {of}", shown(word)))
}

/// Digits alone, without the sign that Rust takes.
fn decimal<N: std::str::FromStr>(word: &str) -> Option<N> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

fn unknown(kind: &str) -> String {
    let begin: String = kind.chars().take(SHOWN).collect();
    let distance = |known: &str| strsim::damerau_levenshtein(known, &begin);
    match KINDS.iter().find(|known| distance(known) <= known.len() / 3) {
        Some(known) => format!("unknown choice, did you mean {known:?}?"),
        None => format!("unknown choice, expected one of {}", KINDS.join(", ")),
    }
}

/// Quoted, and not too long.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?} …", &text[..end]),
        None => format!("{text:?}"),
    }
}
