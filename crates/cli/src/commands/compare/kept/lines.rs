// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the file consists of: lines of JSON, each with a checksum of what it holds. The first one
//! names the format, and what was compared. The checksums of the others go over its checksum, too:
//! a run of another comparison does not pass.
//!
//! ```json
//! {"schema":"rota.compare.runs/3","sum":"0123456789abcdef","inputs":{…}}
//! {"sum":"0123456789abcdef","run":{…}}
//! ```

use super::Inputs;
use crate::comparison::Run;
use crate::load::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version; a change of the format gets a new number.
const SCHEMA: &str = "rota.compare.runs/3";
/// How every version begins.
const NAME: &str = "rota.compare.runs/";
/// Digits of a checksum: a slip is not to pass, nobody has to be kept from forging one.
const DIGITS: usize = 16;
/// What stands between the checksum and what it is of.
const INPUTS: &str = "\",\"inputs\":";
const RUN: &str = "\",\"run\":";

/// Checksum of a first line, which binds the others to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding(String);

/// What a whole file holds.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) inputs: Inputs,
    pub(super) binding: Binding,
    pub(super) runs: Vec<Run>,
    /// Bytes of its whole lines; after them is a line that was being written when a process ended.
    pub(super) whole: usize,
}

/// Why a file cannot be gone on with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is no file of runs.
    Foreign,
    /// Another version made it, whose schema this is.
    Version(String),
    /// A line is not as it was written: its number, and what is wrong.
    Damaged(usize, String),
}

fn before_sum(schema: bool) -> String {
    if schema {
        return format!("{{\"schema\":\"{SCHEMA}\",\"sum\":\"");
    }
    "{\"sum\":\"".to_owned()
}

/// The first line is bound to nothing.
fn sum_of(binding: Option<&Binding>, text: &str) -> String {
    let mut hash = Sha256::new();
    if let Some(Binding(sum)) = binding {
        hash.update(sum);
    }
    hash.update(text);
    hex(hash)[..DIGITS].to_owned()
}

/// The first line, and what binds the others to it.
pub(super) fn header(inputs: &Inputs) -> serde_json::Result<(String, Binding)> {
    let text = serde_json::to_string(inputs)?;
    let sum = sum_of(None, &text);
    Ok((format!("{}{sum}{INPUTS}{text}}}\n", before_sum(true)), Binding(sum)))
}

/// The line of a run.
pub(super) fn run(binding: &Binding, run: &Run) -> serde_json::Result<String> {
    let text = serde_json::to_string(run)?;
    Ok(format!("{}{}{RUN}{text}}}\n", before_sum(false), sum_of(Some(binding), &text)))
}

/// What a line holds, if it is as it was written, and its checksum. Without a binding it is the
/// first one.
fn held<'a>(line: &'a [u8], binding: Option<&Binding>) -> Result<(&'a str, &'a str), String> {
    let (schema, key) = (binding.is_none(), if binding.is_none() { INPUTS } else { RUN });
    let shape = || format!("not a line of this file: expected {}…{key}…}}", before_sum(schema));
    let line = std::str::from_utf8(line).map_err(|_| "not UTF-8 text".to_owned())?;
    let rest = line.strip_prefix(&before_sum(schema)).ok_or_else(shape)?;
    let (sum, rest) = rest.split_at_checked(DIGITS).ok_or_else(shape)?;
    let text = rest.strip_prefix(key).and_then(|rest| rest.strip_suffix('}')).ok_or_else(shape)?;
    match sum_of(binding, text) {
        of if of == sum => Ok((text, sum)),
        of if schema => Err(format!("its checksum is {sum}, expected {of}")),
        of => Err(format!("its checksum is {sum}, expected {of} in this file")),
    }
}

/// Reads a file; `None` for one that nothing was written to, or not even a whole first line.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Content>, Unfit> {
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let begins = bytes.starts_with(before_sum(true).as_bytes());
    if bytes.is_empty() || whole == 0 && begins {
        return Ok(None);
    }
    let mut lines = (1..).zip(bytes[..whole].split_inclusive(|b| *b == b'\n'));
    let (_, first) = lines.next().ok_or(Unfit::Foreign)?;
    let first = &first[..first.len() - 1];
    if !begins {
        return Err(version(first));
    }
    let damaged = |number: usize| move |why: String| Unfit::Damaged(number, why);
    let of_json = |number| move |e: serde_json::Error| Unfit::Damaged(number, e.to_string());
    let (inputs, sum) = held(first, None).map_err(damaged(1))?;
    let binding = Binding(sum.to_owned());
    let inputs = serde_json::from_str(inputs).map_err(of_json(1))?;
    let mut runs = Vec::new();
    for (number, line) in lines {
        let line = &line[..line.len() - 1];
        let (run, _) = held(line, Some(&binding)).map_err(damaged(number))?;
        runs.push(serde_json::from_str(run).map_err(of_json(number))?);
    }
    Ok(Some(Content { inputs, binding, runs, whole }))
}

/// A first line that is not of this version.
fn version(first: &[u8]) -> Unfit {
    let first: Option<Value> = serde_json::from_slice(first).ok();
    let schema = first.as_ref().and_then(|first| first["schema"].as_str());
    match schema {
        Some(SCHEMA) => Unfit::Damaged(1, format!("expected {}…", before_sum(true))),
        Some(schema) if schema.starts_with(NAME) => Unfit::Version(schema.to_owned()),
        _ => Unfit::Foreign,
    }
}

/// What this version calls its files.
pub(super) fn schema() -> &'static str {
    SCHEMA
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Exit;
    use proptest::prelude::*;

    fn file() -> String {
        file_of("250")
    }

    fn file_of(hz: &str) -> String {
        let inputs = Inputs::from([("--hz".to_owned(), hz.to_owned())]);
        let exit = Exit { kind: 64, code: 0, reason: "unregistered".into(), ejected: false };
        let one = Run {
            workload: "a.json".into(),
            cpus: 4,
            policy: "wfq".into(),
            seed: 17,
            exit,
            duration_ns: 1_000,
            measures: [("jain".to_owned(), 0.1 + 0.2)].into(),
            tasks: Vec::new(),
            samples: [("wakeup_p99".to_owned(), 4)].into(),
            curves: vec![rota_measure::Curve {
                name: "turnaround".to_owned(),
                count: 2,
                waiting: 0,
                points: vec![(0.0, 1), (99.90234375, 2)],
            }],
        };
        let two = Run { seed: 18, ..one.clone() };
        let (first, binding) = header(&inputs).expect("JSON");
        let runs = [one, two].map(|one| run(&binding, &one).expect("JSON"));
        first + &runs.concat()
    }

    #[test]
    fn what_is_written_is_read() {
        let text = file();
        let content = read(text.as_bytes()).expect("in order").expect("not empty");
        assert_eq!((content.inputs["--hz"].as_str(), content.whole), ("250", text.len()));
        let seeds: Vec<u64> = content.runs.iter().map(|run| run.seed).collect();
        assert_eq!((seeds, content.runs[0].measures["jain"]), (vec![17, 18], 0.1 + 0.2));
        assert_eq!(content.runs[0].samples["wakeup_p99"], 4);
        assert_eq!(content.runs[0].curves[0].points[1], (99.90234375, 2));
        for line in text.lines() {
            serde_json::from_str::<Value>(line).expect("JSON");
        }
    }

    #[test]
    fn a_file_may_end_anywhere_in_its_last_line() {
        let text = file();
        for end in 0..text.len() {
            let whole = text[..end].rfind('\n').map_or(0, |at| at + 1);
            match read(&text.as_bytes()[..end]) {
                Ok(Some(content)) => assert_eq!(content.whole, whole),
                Ok(None) => assert_eq!(whole, 0),
                // Too little to know whose it is.
                Err(unfit) => {
                    assert_eq!(unfit, Unfit::Foreign);
                    assert!(end < before_sum(true).len(), "{end}");
                }
            }
        }
    }

    #[test]
    fn no_byte_of_a_line_changes_unseen() {
        let text = file();
        let is_same = |content: Content| {
            content.inputs["--hz"] == "250"
                && content.runs.iter().map(|r| r.seed).sum::<u64>() == 35
        };
        for at in 0..text.len() - 1 {
            for by in [1, 0x10, 0x80] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= by;
                // What becomes a new line ends the file at worst.
                let read = read(&bytes);
                assert!(read.is_err(), "byte {at} {:?}: {read:?}", bytes[at] as char);
            }
        }
        assert!(read(text.as_bytes()).is_ok_and(|content| content.is_some_and(is_same)));
    }

    #[test]
    fn a_run_of_another_comparison_is_refused() {
        let (ours, theirs) = (file(), file_of("1000"));
        let last = |text: &str| text.trim_end().rsplit_once('\n').map(|(_, last)| last.to_owned());
        let copied = last(&theirs).expect("a run") + "\n";
        let of = |text: &str| read(text.as_bytes()).err();
        assert!(matches!(of(&(ours.clone() + &copied)), Some(Unfit::Damaged(4, why))
            if why.contains("in this file")));
        // Nor does one pass below the first line of another.
        let (first, runs) = theirs.split_once('\n').expect("lines");
        assert_eq!(of(&format!("{first}\n{runs}")), None);
        let (_, runs) = ours.split_once('\n').expect("lines");
        assert!(matches!(of(&format!("{first}\n{runs}")), Some(Unfit::Damaged(2, _))));
    }

    #[test]
    fn others_are_told_apart() {
        let of = |text: &str| read(text.as_bytes()).err();
        assert_eq!(of("hello\n"), Some(Unfit::Foreign));
        assert_eq!(of("hello"), Some(Unfit::Foreign));
        assert_eq!(of("\n\n"), Some(Unfit::Foreign));
        assert_eq!(of("{\"schema\":\"rota.sim/1\"}\n"), Some(Unfit::Foreign));
        for version in ["rota.compare.runs/1", "rota.compare.runs/2"] {
            let old = file().replace(SCHEMA, version);
            assert_eq!(of(&old), Some(Unfit::Version(version.into())));
        }
        let damaged = of(&file().replace("\"seed\":18", "\"seed\":19"));
        assert!(matches!(damaged, Some(Unfit::Damaged(3, why)) if why.contains("checksum")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(!matches!(read(&bytes), Ok(Some(_))));
        }

        #[test]
        fn lines_with_right_sums_and_anything_in_them_are_read_or_refused(
            inputs in "\\PC{0,20}",
            runs in prop::collection::vec("\\PC{0,40}", 0..3),
        ) {
            let sum = sum_of(None, &inputs);
            let mut text = format!("{}{sum}{INPUTS}{inputs}}}\n", before_sum(true));
            let binding = Binding(sum);
            for run in &runs {
                let sum = sum_of(Some(&binding), run);
                text += &format!("{}{sum}{RUN}{run}}}\n", before_sum(false));
            }
            if let Err(unfit) = read(text.as_bytes()) {
                let Unfit::Damaged(line, _) = unfit else { panic!("{unfit:?}") };
                prop_assert!((1..=runs.len() + 1).contains(&line));
            }
        }
    }
}
