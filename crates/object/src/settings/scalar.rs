// SPDX-License-Identifier: MIT OR Apache-2.0
//! One number: what a user may write for it, and what its tags allow.

/// What tags say about a variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints<'a> {
    pub(super) help: Option<&'a str>,
    pub(super) unit: Option<&'a str>,
    pub(super) min: Option<&'a str>,
    pub(super) max: Option<&'a str>,
    pub(super) scale: Option<u64>,
    /// `inf` and `-inf` are values: the greatest and the least of the type.
    pub(super) infinite: bool,
    pub(super) values: Vec<&'a str>,
    /// Any tag was there.
    pub(super) documented: bool,
}

impl<'a> Hints<'a> {
    /// Reads tags. Without a unit tag the name's ending tells it: `slice_ns`.
    pub(super) fn of(name: &'a str, tags: &'a [String]) -> Hints<'a> {
        let mut hints = Hints::default();
        for tag in tags {
            let Some((key, text)) = tag.split_once(':') else { continue };
            let text = text.trim();
            match key {
                "help" => hints.help = Some(text),
                "unit" => hints.unit = Some(text),
                "min" => hints.min = Some(text),
                "max" => hints.max = Some(text),
                "scale" => hints.scale = whole(text).and_then(|s| u64::try_from(s).ok()),
                "infinite" => hints.infinite = text == "yes",
                "values" => hints.values = text.split('|').map(str::trim).collect(),
                _ => continue,
            }
            hints.documented = true;
        }
        hints.scale = hints.scale.filter(|s| *s > 0);
        let ending = name.rsplit_once('_').map(|(_, e)| e);
        hints.unit = hints.unit.or(ending.filter(|e| nanoseconds(e).is_some() && *e != "s"));
        hints
    }
}

/// Nanoseconds in a unit of time.
fn nanoseconds(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The form of an integer in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Bits it has.
    pub(crate) bits: u32,
    /// Signed.
    pub(crate) signed: bool,
    /// `_Bool`.
    pub(crate) boolean: bool,
}

impl Form {
    /// Least and greatest value.
    pub(super) fn range(&self) -> (i128, i128) {
        let bits = self.bits.clamp(1, 64);
        match (self.boolean, self.signed) {
            (true, _) => (0, 1),
            (false, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (false, false) => (0, (1 << bits) - 1),
        }
    }

    /// The bits of a number that there are.
    pub(crate) fn masked(&self, raw: u64) -> u64 {
        raw & (u64::MAX >> (64 - self.bits.clamp(1, 64)))
    }

    /// The value that these low bits mean.
    pub(crate) fn value(&self, raw: u64) -> i128 {
        let bits = self.bits.clamp(1, 64);
        let raw = i128::from(raw) & ((1 << bits) - 1);
        let negative = self.signed && raw >> (bits - 1) & 1 == 1;
        if negative {
            raw - (1 << bits)
        } else {
            raw
        }
    }
}

/// Why a text is no value.
pub(super) enum Refusal {
    /// Not understood: what was expected.
    Expected(String),
    /// Understood, but outside this range.
    Range(String),
    /// A tag of the variable is no number itself.
    Tag(String),
}

/// Reads a value. `named` looks up enumerators.
pub(super) fn parse(
    text: &str,
    form: Form,
    hints: &Hints<'_>,
    named: &dyn Fn(&str) -> Option<i128>,
) -> Result<i128, Refusal> {
    let text = text.trim();
    if let Some(value) = infinity(text, form, hints) {
        return Ok(value);
    }
    let value = number(text, form, hints, named).ok_or_else(|| expected(form, hints))??;
    let (low, high) = form.range();
    if value < low || value > high {
        let (low, high) = (write(low, form, hints), write(high, form, hints));
        return Err(Refusal::Range(format!("{low} to {high}")));
    }
    let bound = |key: &str, tag: Option<&str>| {
        let Some(text) = tag else { return Ok(None) };
        match number(text, form, hints, named) {
            Some(Ok(limit)) => Ok(Some((limit, text.to_string()))),
            _ => Err(Refusal::Tag(format!("{key}:{text}"))),
        }
    };
    let (min, max) = (bound("min", hints.min)?, bound("max", hints.max)?);
    let below = min.as_ref().is_some_and(|m| value < m.0);
    if below || max.as_ref().is_some_and(|m| value > m.0) {
        // A bound like 100us has its unit already.
        let bare = |b: &Option<(i128, String)>| b.as_ref().is_none_or(|b| whole(&b.1).is_some());
        let unit = hints.unit.filter(|_| bare(&min) && bare(&max));
        let unit = unit.map_or(String::new(), |u| format!(" {u}"));
        let range = match (min, max) {
            (Some(min), Some(max)) => format!("{} to {}{unit}", min.1, max.1),
            (Some(min), None) => format!("at least {}{unit}", min.1),
            (None, Some(max)) => format!("at most {}{unit}", max.1),
            (None, None) => String::new(),
        };
        return Err(Refusal::Range(range + infinities(form, hints)));
    }
    Ok(value)
}

/// `inf`, `+inf` or `-inf`, where they are values.
fn infinity(text: &str, form: Form, hints: &Hints<'_>) -> Option<i128> {
    let (low, high) = form.range();
    match text {
        "inf" | "+inf" if hints.infinite => Some(high),
        "-inf" if hints.infinite && form.signed => Some(low),
        _ => None,
    }
}

/// What may stand there besides numbers, for messages.
fn infinities(form: Form, hints: &Hints<'_>) -> &'static str {
    match (hints.infinite, form.signed) {
        (true, true) => ", inf or -inf",
        (true, false) => " or inf",
        (false, _) => "",
    }
}

/// `None`: not understood.
fn number(
    text: &str,
    form: Form,
    hints: &Hints<'_>,
    named: &dyn Fn(&str) -> Option<i128>,
) -> Option<Result<i128, Refusal>> {
    if !hints.values.is_empty() {
        let at = hints.values.iter().position(|v| *v == text).map(|i| i as i128);
        return at
            .or_else(|| {
                whole(text).filter(|n| usize::try_from(*n).is_ok_and(|n| n < hints.values.len()))
            })
            .map(Ok);
    }
    if form.boolean {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Some(Ok(1)),
            "false" | "off" | "no" | "0" => Some(Ok(0)),
            _ => None,
        };
    }
    if let Some(n) = whole(text) {
        return Some(match hints.scale {
            Some(scale) => n.checked_mul(scale.into()).ok_or(Refusal::Range("less".into())),
            None => Ok(n),
        });
    }
    if let Some(scale) = hints.scale {
        // Rounds to the nearest step of the scale.
        let (digits, tens) = decimal(text)?;
        let scaled = digits.checked_mul(scale.into())?;
        let half = tens / 2 * scaled.signum();
        return Some(Ok((scaled + half) / tens));
    }
    if let Some(unit) = hints.unit.and_then(nanoseconds) {
        if let Some(value) = duration(text, unit) {
            return Some(value);
        }
    }
    // Flags: `SCX_A|SCX_B`.
    text.split('|')
        .map(str::trim)
        .try_fold(0, |all, name| {
            let one = whole(name).or_else(|| named(name))?;
            Some(all | one)
        })
        .map(Ok)
}

/// `10ms` in units of `unit` nanoseconds.
fn duration(text: &str, unit: i128) -> Option<Result<i128, Refusal>> {
    let at = text.find(|c: char| c.is_alphabetic() || c == 'µ')?;
    let (count, suffix) = text.split_at(at);
    let ns = nanoseconds(suffix.trim())?;
    let (digits, tens) = decimal(count.trim())?;
    let ns = digits.checked_mul(ns)?;
    let per = tens.checked_mul(unit)?;
    Some(if ns % per == 0 {
        Ok(ns / per)
    } else {
        let name = ["ns", "us", "ms", "s"].into_iter().find(|u| nanoseconds(u) == Some(unit));
        Err(Refusal::Expected(format!("a whole number of {}", name.unwrap_or("units"))))
    })
}

/// An integer: decimal, `0x…`, `0b…`, with `_` between digits and C's suffixes.
pub(super) fn whole(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('_', "");
    let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let plain = |d: &str| d.trim_end_matches(['u', 'U', 'l', 'L']).to_string();
    let value = match (hex, digits.strip_prefix("0b")) {
        (Some(hex), _) => u64::from_str_radix(&plain(hex), 16).ok()?,
        (None, Some(binary)) => u64::from_str_radix(&plain(binary), 2).ok()?,
        (None, None) => plain(&digits).parse().ok()?,
    };
    Some(if negative { -i128::from(value) } else { value.into() })
}

/// A decimal number as digits and the power of ten that divides them.
fn decimal(text: &str) -> Option<(i128, i128)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    // More digits than a 64-bit number has would only be rounded away.
    if before.is_empty() && after.is_empty() || before.len() > 19 || after.len() > 9 {
        return None;
    }
    if !numeric(before) || !numeric(after) {
        return None;
    }
    let all: i128 = format!("0{before}{after}").parse().ok()?;
    Some((if negative { -all } else { all }, 10i128.pow(after.len() as u32)))
}

fn expected(form: Form, hints: &Hints<'_>) -> Refusal {
    Refusal::Expected(if !hints.values.is_empty() {
        format!("one of {}", hints.values.join(", "))
    } else if form.boolean {
        "true or false".into()
    } else if hints.scale.is_some() {
        format!("a decimal number such as 0.5{}", infinities(form, hints))
    } else if let Some(unit) = hints.unit.filter(|u| nanoseconds(u).is_some()) {
        format!("a number of {unit}, or a time such as 10ms")
    } else {
        "an integer".into()
    })
}

/// Writes a value in the form that setting it takes.
pub(super) fn write(value: i128, form: Form, hints: &Hints<'_>) -> String {
    let name = usize::try_from(value).ok().and_then(|v| hints.values.get(v));
    match (name, hints.scale) {
        (Some(name), _) => name.to_string(),
        _ if infinity("inf", form, hints) == Some(value) => "inf".into(),
        _ if infinity("-inf", form, hints) == Some(value) => "-inf".into(),
        (None, Some(scale)) if !form.boolean => write_scaled(value, scale.into()),
        _ if form.boolean => (value != 0).to_string(),
        _ => value.to_string(),
    }
}

/// The shortest decimal that reads back as the same step of the scale.
fn write_scaled(value: i128, scale: i128) -> String {
    for digits in 0..=9u32 {
        let tens = 10i128.pow(digits);
        let scaled = value.saturating_mul(tens);
        let rounded = (scaled + scale / 2 * scaled.signum()) / scale;
        let back = rounded.saturating_mul(scale);
        if (back + tens / 2 * back.signum()) / tens == value {
            let sign = if rounded < 0 { "-" } else { "" };
            let (before, after) = (rounded.abs() / tens, rounded.abs() % tens);
            return match digits {
                0 => format!("{sign}{before}"),
                _ => format!("{sign}{before}.{after:0width$}", width = digits as usize),
            };
        }
    }
    format!("{value}/{scale}")
}
