// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says on the console.

/// Any of these in a line means that the kernel, not just a policy, is in trouble.
const TROUBLE: [&str; 15] = [
    "Kernel panic",
    "Oops",
    "BUG:",
    "WARNING:",
    "general protection fault",
    "Unable to handle kernel",
    "possible circular locking",
    "possible recursive locking",
    "inconsistent lock state",
    "suspicious RCU usage",
    "rcu_sched self-detected stall",
    "rcu_preempt self-detected stall",
    "detected stalls on CPUs",
    "soft lockup",
    "blocked for more than",
];

/// With this the guest says that a job begins; its name follows.
pub const JOB: &str = "rota-guest: job ";

/// The first line that tells of trouble, with some lines after it.
pub fn trouble(console: &str) -> Option<String> {
    let lines: Vec<&str> = console.lines().collect();
    let at = lines.iter().position(|line| tells_of_trouble(line))?;
    Some(lines[at..lines.len().min(at + 25)].join("\n"))
}

/// The whole lines until then.
pub fn before_trouble(console: &str) -> &str {
    let lines = console.split_inclusive('\n').take_while(|line| !tells_of_trouble(line));
    &console[..lines.map(str::len).sum()]
}

fn tells_of_trouble(line: &str) -> bool {
    TROUBLE.iter().any(|sign| line.contains(sign))
}

/// The lines that were printed while a job ran, the last ones if they are many.
pub fn during<'a>(console: &'a str, job: &str) -> Vec<&'a str> {
    const MOST: usize = 60;
    let starts = |line: &str| line.contains(JOB);
    let begin = |line: &str| starts(line) && line.ends_with(&format!("{JOB}{job}"));
    let lines: Vec<&str> = console.lines().skip_while(|line| !begin(line)).collect();
    let end = lines.iter().skip(1).position(|line| starts(line)).map_or(lines.len(), |at| at + 1);
    lines[..end][end.saturating_sub(MOST)..].to_vec()
}

/// Where two consoles first differ.
pub fn difference(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    let mut lines = a.lines().zip(b.lines()).enumerate();
    let text = match lines.find(|(_, (a, b))| a != b) {
        Some((i, (a, b))) => format!("line {}:\n  first run:  {a}\n  second run: {b}", i + 1),
        None => format!("one has {} lines, the other {}", a.lines().count(), b.lines().count()),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &str = "[ 1.0] Linux\n[ 2.0] rota-guest: job a/wfq\n[ 2.1] x\n\
                           [ 3.0] rota-guest: job a/wfq2\n[ 3.1] BUG: y\n[ 3.2] z\n";

    #[test]
    fn trouble_is_found_with_what_follows() {
        assert_eq!(trouble(CONSOLE).unwrap(), "[ 3.1] BUG: y\n[ 3.2] z");
        assert_eq!(trouble("[ 1.0] debug: fine\n"), None);
    }

    #[test]
    fn a_jobs_lines_end_where_the_next_job_begins() {
        assert_eq!(during(CONSOLE, "a/wfq"), ["[ 2.0] rota-guest: job a/wfq", "[ 2.1] x"]);
        assert_eq!(during(CONSOLE, "a/wfq2").len(), 3);
        assert!(during(CONSOLE, "b").is_empty());
    }

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let text = difference("a\nb\n", "a\nc\n").unwrap();
        assert_eq!(text, "line 2:\n  first run:  b\n  second run: c");
        assert!(difference("a\n", "a\nb\n").unwrap().contains("1 lines"));
    }
}
