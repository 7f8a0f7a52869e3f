// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of a trace.dat, and its nanoseconds.

/// A clock.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// As tracefs calls it.
    pub(super) name: String,
    shift_ns: i64,
    /// Factor, shift and offset of a clock that counts cycles.
    scale: Option<(u32, u32, u64)>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { name: "local".into(), shift_ns: 0, scale: None }
    }
}

impl Clock {
    /// `[local] global counter`: the chosen one is in brackets, or alone.
    pub(super) fn choose(&mut self, text: &str) {
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let chosen = chosen.map_or(text, |(chosen, _)| chosen).trim();
        if !chosen.is_empty() {
            self.name = chosen.to_owned();
        }
    }

    /// All times are later by this, as `12`, `-12` or `0x12`.
    pub(super) fn shift(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        let (digits, sign) = match text.strip_prefix('-') {
            Some(digits) => (digits, -1),
            None => (text, 1),
        };
        let number = match digits.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        self.shift_ns =
            sign * number.map_err(|_| format!("time offset \"{text}\": expected nanoseconds"))?;
        Ok(())
    }

    /// Factor, shift and offset of cycles.
    pub(super) fn scale(&mut self, body: &[u8]) -> Result<(), String> {
        let body: &[u8; 16] = body
            .get(..16)
            .and_then(|body| body.try_into().ok())
            .ok_or_else(|| format!("scale of the clock in {} bytes: expected 16", body.len()))?;
        let word =
            |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        if word(4) > 63 {
            return Err(format!(
                "scale of the clock with a shift of {}: expected at most 63",
                word(4)
            ));
        }
        let offset = u64::from(word(8)) | u64::from(word(12)) << 32;
        self.scale = Some((word(0), word(4), offset));
        Ok(())
    }

    /// Whether its numbers are times.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        match name.as_str() {
            "local" | "global" | "perf" | "mono" | "mono_raw" | "boot" | "tai" => Ok(()),
            "x86-tsc" | "tsc2nsec" if self.scale.is_some() => Ok(()),
            _ => Err(format!(
                "clock {name}: expected one that counts nanoseconds (trace-cmd record -C mono)"
            )),
        }
    }

    /// Nanoseconds of a time of the trace.
    pub(super) fn ns(&self, time: u64) -> u64 {
        let time = match self.scale {
            Some((factor, shift, offset)) => {
                let scaled = (u128::from(time) * u128::from(factor)) >> shift;
                (scaled as u64).wrapping_add(offset)
            }
            None => time,
        };
        time.saturating_add_signed(self.shift_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_in_brackets_is_the_chosen_one() {
        let mut clock = Clock::default();
        clock.choose("local global [mono] boot");
        assert_eq!(clock.name, "mono");
        assert!(clock.check().is_ok());
        clock.choose("local [counter]");
        assert!(clock.check().unwrap_err().contains("clock counter"));
    }

    #[test]
    fn cycles_become_nanoseconds() {
        // 2 GHz: 3000 cycles * (2^31 >> 32) = 1500 ns, and the offset of 7.
        let mut clock = Clock::default();
        clock.choose("[x86-tsc]");
        assert!(clock.check().is_err());
        let mut body = (1u32 << 31).to_le_bytes().to_vec();
        body.extend(32u32.to_le_bytes());
        body.extend(7u64.to_le_bytes());
        clock.scale(&body).unwrap();
        assert!(clock.check().is_ok());
        assert_eq!(clock.ns(3000), 1507);
    }

    #[test]
    fn an_offset_is_added() {
        let mut clock = Clock::default();
        clock.shift("-0x10").unwrap();
        assert_eq!(clock.ns(100), 84);
        assert!(clock.shift("soon").unwrap_err().contains("soon"));
    }
}
