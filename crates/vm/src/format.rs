// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's `printf` as BPF programs may use it: integers, characters, pointers
//! and kernel strings.

use crate::error::Fault;
use crate::memory::Memory;
use std::fmt::Write;

/// Strings longer than this are cut.
const MAX_STRING: u32 = 512;

/// A conversion between `%` and its letter.
#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    alternate: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of the argument.
    bytes: u32,
}

/// Formats `fmt` with arguments as 64-bit words. Arguments that are missing are 0;
/// a conversion that does not exist is printed as it stands.
pub fn format(memory: &Memory, fmt: &str, args: &[u64]) -> String {
    let mut args = args.iter().copied();
    let mut out = String::new();
    let mut rest = fmt;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (spec, tail) = spec(after);
        let mut letters = tail.chars();
        let letter = letters.next();
        rest = letters.as_str();
        match letter {
            Some('%') => out.push('%'),
            Some('d' | 'i') => {
                let value = narrow_signed(args.next().unwrap_or(0), spec.bytes);
                let sign = if value < 0 {
                    "-"
                } else if spec.plus {
                    "+"
                } else {
                    ""
                };
                number(&mut out, &spec, sign, &value.unsigned_abs().to_string());
            }
            Some('u') => {
                let value = narrow(args.next().unwrap_or(0), spec.bytes);
                number(&mut out, &spec, "", &value.to_string());
            }
            Some(letter @ ('x' | 'X')) => {
                let value = narrow(args.next().unwrap_or(0), spec.bytes);
                let digits =
                    if letter == 'x' { format!("{value:x}") } else { format!("{value:X}") };
                let prefix = if spec.alternate { "0x" } else { "" };
                number(&mut out, &spec, prefix, &digits);
            }
            Some('c') => {
                let value = args.next().unwrap_or(0) as u8;
                pad(&mut out, &spec, char::from(value).to_string().as_str());
            }
            Some('p') => {
                // %pK, %px and %ps are what BPF may say; all print the address.
                rest = rest.strip_prefix(['K', 'x', 's', 'S', 'B']).unwrap_or(rest);
                let value = args.next().unwrap_or(0);
                pad(&mut out, &spec, &format!("{value:016x}"));
            }
            Some('s') => {
                let addr = args.next().unwrap_or(0);
                let text = memory.c_string(addr, MAX_STRING).unwrap_or_else(|_| "(null)".into());
                let cut = spec.precision.unwrap_or(usize::MAX);
                pad(&mut out, &spec, &text.chars().take(cut).collect::<String>());
            }
            other => {
                out.push('%');
                out.extend(other);
            }
        }
    }
    out.push_str(rest);
    out
}

/// A format string and its arguments in guest memory, as `bpf_snprintf` and the
/// `*_bstr` kernel functions get them: `data_len` is in bytes.
pub fn bstr(memory: &Memory, fmt: u64, data: u64, data_len: u64) -> Result<String, Fault> {
    // MAX_BPRINTF_VARARGS.
    const MAX_ARGS: u64 = 12;
    if data_len % 8 != 0 || data_len / 8 > MAX_ARGS {
        return Err(Fault::denied(format!("format arguments of {data_len} bytes")));
    }
    let text = memory.c_string(fmt, MAX_STRING)?;
    let words = if data_len == 0 { &[] } else { memory.bytes(data, data_len as u32)? };
    let args: Vec<u64> = words
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
        .collect();
    Ok(format(memory, &text, &args))
}

/// Reads flags, width, precision and length; returns what follows them.
fn spec(text: &str) -> (Spec, &str) {
    let mut spec = Spec { bytes: 4, ..Spec::default() };
    let mut rest = text;
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' => spec.left = true,
            '0' => spec.zero = true,
            '#' => spec.alternate = true,
            '+' => spec.plus = true,
            ' ' => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    (spec.width, rest) = digits(rest);
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = digits(after);
        spec.precision = Some(precision);
        rest = after;
    }
    for (prefix, bytes) in [("ll", 8), ("l", 8), ("z", 8), ("hh", 1), ("h", 2)] {
        if let Some(after) = rest.strip_prefix(prefix) {
            spec.bytes = bytes;
            rest = after;
            break;
        }
    }
    (spec, rest)
}

/// A decimal number, no wider than a line.
fn digits(text: &str) -> (usize, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().unwrap_or(0).min(128), &text[end..])
}

fn narrow(value: u64, bytes: u32) -> u64 {
    value & u64::MAX >> (64 - 8 * bytes)
}

fn narrow_signed(value: u64, bytes: u32) -> i64 {
    let shift = 64 - 8 * bytes;
    ((value << shift) as i64) >> shift
}

fn number(out: &mut String, spec: &Spec, prefix: &str, digits: &str) {
    let digits = match spec.precision {
        Some(least) => format!("{digits:0>least$}"),
        None if spec.zero && !spec.left => {
            let least = spec.width.saturating_sub(prefix.len());
            format!("{digits:0>least$}")
        }
        None => digits.to_owned(),
    };
    pad(out, spec, &format!("{prefix}{digits}"));
}

fn pad(out: &mut String, spec: &Spec, text: &str) {
    let width = spec.width;
    // Writing to a String cannot fail.
    let _ = if spec.left { write!(out, "{text:<width$}") } else { write!(out, "{text:>width$}") };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Perm;
    use proptest::prelude::*;

    fn with(fmt: &str, args: &[u64]) -> String {
        format(&Memory::new(), fmt, args)
    }

    #[test]
    fn integers_are_cut_to_their_length() {
        let all = u64::MAX;
        assert_eq!(with("%d %u %ld %lu", &[all; 4]), format!("-1 {} -1 {all}", u32::MAX));
        assert_eq!(with("%hhd %hu %llx", &[0x1ff, 0x1_0001, 0xab]), "-1 1 ab");
    }

    #[test]
    fn width_zeroes_sides_and_precision() {
        assert_eq!(with("[%5d|%-5d|%05d|%.3d|%+d]", &[7; 5]), "[    7|7    |00007|007|+7]");
        assert_eq!(with("[%#x|%#08x|%X]", &[10, 10, 10]), "[0xa|0x00000a|A]");
    }

    #[test]
    fn strings_come_from_guest_memory() {
        let mut memory = Memory::new();
        let text = memory.alloc("text", 8, Perm::ReadOnly);
        memory.bytes_mut(text, 4).unwrap().copy_from_slice(b"idle");
        assert_eq!(
            format(&memory, "%s/%.2s/%6s/%s", &[text, text, text, 1 << 40]),
            "idle/id/  idle/(null)"
        );
    }

    #[test]
    fn what_is_no_conversion_is_printed_as_it_stands() {
        assert_eq!(with("100%% %y %", &[]), "100% %y %");
    }

    #[test]
    fn arguments_of_odd_length_are_refused() {
        let memory = Memory::new();
        assert!(bstr(&memory, 0, 0, 7).is_err());
        assert!(bstr(&memory, 0, 0, 13 * 8).is_err());
    }

    proptest! {
        #[test]
        fn any_format_gives_some_text(fmt in "\\PC*|(%[-0#+ .l0-9hz]*[a-zA-Z%]?)*", args in any::<[u64; 4]>()) {
            with(&fmt, &args);
        }
    }
}
