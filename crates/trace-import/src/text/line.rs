// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that every line of an event has.

use crate::record::in_interrupt;

/// A line.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    /// The task that ran; 0: none.
    pub(super) pid: u32,
    pub(super) cpu: u32,
    /// Whether an interrupt ran; `None`: the line does not say.
    pub(super) interrupt: Option<bool>,
    pub(super) time_ns: u64,
    /// The tracepoint, without its system.
    pub(super) event: &'a str,
    /// What it says.
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    /// `None`: it is none.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        // A task's name may have brackets, too: the CPU is in the first ones that fit.
        let mut from = 0;
        loop {
            let open = from + text.get(from..)?.find('[')?;
            if let Some(line) = Self::around(text, open) {
                return Some(line);
            }
            from = open + 1;
        }
    }

    fn around(text: &'a str, open: usize) -> Option<Self> {
        let (cpu, rest) = text[open + 1..].split_once(']')?;
        let cpu = number(cpu)?;
        let pid = pid(text[..open].trim_end())?;
        let (flags, rest) = match rest.trim_start().split_once(' ') {
            Some((flags, rest)) if !flags.ends_with(':') => (Some(flags), rest),
            _ => (None, rest),
        };
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let time_ns = time_ns(time)?;
        let (event, text) = rest.trim_start().split_once(':')?;
        // perf writes the system first.
        let (event, text) = match text.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => text.split_once(':')?,
            false => (event, text),
        };
        let interrupt = flags.and_then(interrupt);
        Some(Line { pid, cpu, interrupt, time_ns, event, text: text.trim() })
    }

    /// Whether it is one of the scheduler's that are read.
    pub(super) fn is_event(&self) -> bool {
        self.event.starts_with("sched_")
    }
}

fn number(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// `name-12`, `name-12 (  10)` or perf's `name 12`.
fn pid(task: &str) -> Option<u32> {
    let task = match task.strip_suffix(')') {
        Some(inside) => inside.rsplit_once('(')?.0.trim_end(),
        None => task,
    };
    let (_, digits) = task.rsplit_once(['-', ' '])?;
    // perf may write process and thread.
    number(digits.rsplit_once('/').map_or(digits, |(_, thread)| thread))
}

/// `12.345678` or `12.345678901`
fn time_ns(text: &str) -> Option<u64> {
    let (seconds, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10u64.pow(9 - part.len() as u32);
    let part_ns = part.parse::<u64>().ok()? * scale;
    u64::from(number(seconds)?).checked_mul(1_000_000_000)?.checked_add(part_ns)
}

/// `d..2.`: the third says what ran (`trace_print_lat_fmt()`, kernel/trace/trace_output.c).
fn interrupt(flags: &str) -> Option<bool> {
    let common = match flags.as_bytes().get(2)? {
        b'.' => 0,
        b'h' => 0x08,
        b's' => 0x10,
        b'H' => 0x18,
        b'z' | b'Z' => 0x40,
        _ => return None,
    };
    (flags.len() >= 4).then(|| in_interrupt(common))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (u32, u32, Option<bool>, u64, String, String) {
        let line = Line::parse(text).expect("a line");
        let (event, text) = (line.event.into(), line.text.into());
        (line.pid, line.cpu, line.interrupt, line.time_ns, event, text)
    }

    #[test]
    fn the_three_tools_lines_are_read() {
        let event = || ("sched_waking".to_string(), "comm=a pid=7".to_string());
        let expected = |interrupt, ns| (703, 1, interrupt, ns, event().0, event().1);
        let ns = 53_731_212_586_000;
        for (text, interrupt, ns) in [
            (
                "    my-app-703   [001] d..4. 53731.212586: sched_waking: comm=a pid=7",
                Some(false),
                ns,
            ),
            (
                "    a [5] b-703   [001] d.h4. 53731.212586: sched_waking: comm=a pid=7",
                Some(true),
                ns,
            ),
            (
                "  app-703  (  700) [001] dNs3 53731.212586: sched_waking: comm=a pid=7",
                Some(true),
                ns,
            ),
            ("   app-703   [001] 53731.212586: sched_waking:         comm=a pid=7", None, ns),
            ("   app-703   [001] 53731.212586123: sched_waking:  comm=a pid=7", None, ns + 123),
            ("my app   703 [001] 53731.212586: sched:sched_waking: comm=a pid=7", None, ns),
            ("my app 700/703 [001] 53731.212586:    sched:sched_waking: comm=a pid=7", None, ns),
        ] {
            assert_eq!(line(text), expected(interrupt, ns), "{text}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "# tracer: nop",
            "#              | |         |   |||||     |         |",
            "CPU:1 [LOST 5 EVENTS]",
            "  app-703   [001] d..4. 99999999999999.212586: sched_waking: x",
            "  app-x   [001] 1.2: sched_waking: x",
            "  app-1   [0x1] 1.2: sched_waking: x",
            "  app-1   [001] 1.1234567890: sched_waking: x",
            "  app-1   [001]",
        ] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
    }
}
