// SPDX-License-Identifier: MIT OR Apache-2.0
//! When frames were due, sent to the decoder and back, and what a viewer sees of that.

use crate::error::Error;

/// A frame, with times since the first was due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) due_ns: u64,
    /// When it was back, if it was sent at all and back before the end.
    pub(crate) shown_ns: Option<u64>,
    pub(crate) was_sent: bool,
}

/// What a viewer sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Viewed {
    /// Frames shown per second.
    pub(crate) rate: f64,
    /// Not sent, as too many were on their way.
    pub(crate) dropped: u64,
    /// Shown when the next was due, or later.
    pub(crate) late: u64,
    /// From when it was due, of those that were shown.
    pub(crate) mean_delay_ms: f64,
}

impl Viewed {
    /// Of frames that come every `period_ns`.
    pub(crate) fn of(frames: &[Frame], period_ns: u64) -> Result<Self, Error> {
        let delays: Vec<u64> =
            frames.iter().filter_map(|f| Some(f.shown_ns?.saturating_sub(f.due_ns))).collect();
        if frames.is_empty() || delays.is_empty() {
            return Err(Error::Failure("not one frame was decoded in the time".into()));
        }
        let seconds = (frames.len() as u64 * period_ns) as f64 / 1e9;
        Ok(Self {
            rate: delays.len() as f64 / seconds,
            dropped: frames.iter().filter(|frame| !frame.was_sent).count() as u64,
            late: delays.iter().filter(|delay| **delay >= period_ns).count() as u64,
            mean_delay_ms: delays.iter().sum::<u64>() as f64 / delays.len() as f64 / 1e6,
        })
    }
}

/// A line for each frame.
pub(crate) fn write(frames: &[Frame]) -> String {
    let line = |frame: &Frame| match (frame.shown_ns, frame.was_sent) {
        (Some(shown_ns), _) => format!("{} shown {shown_ns}\n", frame.due_ns),
        (None, true) => format!("{} sent\n", frame.due_ns),
        (None, false) => format!("{} dropped\n", frame.due_ns),
    };
    frames.iter().map(line).collect()
}

/// What [`write()`] wrote.
pub(crate) fn parse(text: &str) -> Result<Vec<Frame>, Error> {
    let frame = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let due_ns = words.first()?.parse().ok()?;
        let (shown_ns, was_sent) = match words[1..] {
            ["shown", at] => (Some(at.parse().ok()?), true),
            ["sent"] => (None, true),
            ["dropped"] => (None, false),
            _ => return None,
        };
        Some(Frame { due_ns, shown_ns, was_sent })
    };
    let line = |line| frame(line).ok_or_else(|| Error::Failure(format!("{line:?} is not a frame")));
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_viewer_sees_what_was_shown() {
        // Five frames of 40 ms are 200 ms; three are shown: 15 a second. Delays of 10, 40, 70 ms.
        let shown = |due, at| Frame { due_ns: due, shown_ns: Some(at), was_sent: true };
        let other = |due, was_sent| Frame { due_ns: due, shown_ns: None, was_sent };
        let frames = [
            shown(0, 10 * MS),
            shown(40 * MS, 80 * MS),
            shown(80 * MS, 150 * MS),
            other(120 * MS, false),
            other(160 * MS, true),
        ];
        let viewed = Viewed::of(&frames, 40 * MS).expect("there are some");
        let expected = Viewed { rate: 15.0, dropped: 1, late: 2, mean_delay_ms: 40.0 };
        assert_eq!(viewed, expected);
        assert!(Viewed::of(&frames[3..], 40 * MS).is_err());
        assert!(Viewed::of(&[], 40 * MS).is_err());
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for bad in ["x", "5", "5 shown", "5 shown x", "-1 sent", "5 sent 6", "5 lost"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn frames_come_through_as_they_are(
            frames in prop::collection::vec((any::<u64>(), any::<Option<u64>>(), any::<bool>()), 0..9)
        ) {
            let frame = |(due_ns, shown_ns, was_sent): (u64, Option<u64>, bool)| {
                Frame { due_ns, shown_ns, was_sent: was_sent || shown_ns.is_some() }
            };
            let frames: Vec<Frame> = frames.into_iter().map(frame).collect();
            prop_assert_eq!(parse(&write(&frames)).expect("own"), frames);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(.|\n){0,60}") {
            let _ = parse(&text);
        }
    }
}
