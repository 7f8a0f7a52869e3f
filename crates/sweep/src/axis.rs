// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an axis goes over: listed values, or a range.

use crate::value::Value;

/// An axis: what is changed, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The tunable, or the path of a key: `tasks.ui.run`.
    pub name: String,
    /// Where the file says so.
    pub line: usize,
    /// Its values.
    pub values: Values,
}

/// Values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These.
    List(Vec<Value>),
    /// Any between two, both included.
    Range(Range),
}

/// Everything between two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lowest.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// Equal ratios are equally likely, not equal differences.
    pub log: bool,
    /// Whole numbers only.
    pub whole: bool,
}

/// Digits of numbers that are drawn or divided: what is printed is what was run.
const DIGITS: usize = 6;

impl Range {
    /// The value at a part of the way from 0 to 1.
    pub fn at(&self, part: f64) -> Value {
        let Self { from, to, log, whole } = *self;
        let value = match log {
            true => from * libm::exp(part * libm::log(to / from)),
            false => from + part * (to - from),
        };
        let value = match part {
            part if part <= 0.0 => from,
            part if part >= 1.0 => to,
            _ => value.clamp(from, to),
        };
        match whole {
            true => Value::Int(value.round() as i64),
            false => Value::Float(rounded(value).clamp(from, to)),
        }
    }

    /// So many values from the lowest to the highest; fewer if whole numbers are the same.
    pub fn steps(&self, steps: usize) -> Vec<Value> {
        let last = (steps - 1).max(1) as f64;
        let mut values: Vec<Value> = (0..steps).map(|at| self.at(at as f64 / last)).collect();
        values.dedup();
        values
    }

    /// Every so much from the lowest on.
    pub fn every(&self, step: f64) -> Vec<Value> {
        // A sum of steps that rounding put just above the end is the end.
        let count = ((self.to - self.from) / step + 1e-9).floor() as usize;
        let value = |at: usize| self.from + at as f64 * step;
        let of = |value: f64| match self.whole {
            true => Value::Int(value as i64),
            false => Value::Float(rounded(value)),
        };
        (0..=count).map(|at| of(value(at))).collect()
    }
}

impl Values {
    /// At most so many of them, the first and the last among them if there are two.
    pub(crate) fn some(&self, most: usize) -> Vec<Value> {
        match self {
            Self::List(values) if values.len() > most => {
                let (first, last) = (&values[..most - 1], values.last());
                first.iter().chain(last).cloned().collect()
            }
            Self::List(values) => values.clone(),
            Self::Range(range) => [range.at(0.0), range.at(1.0)].into_iter().take(most).collect(),
        }
    }

    /// The value for a number from 0 to below 1.
    pub fn draw(&self, part: f64) -> Value {
        match self {
            Self::List(values) => {
                values[((part * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
            Self::Range(range) => match (range.whole, range.log) {
                // Each whole number is as likely as the others, also the first and the last.
                (true, false) => {
                    let count = range.to - range.from + 1.0;
                    Value::Int((range.from + (part * count).floor()).min(range.to) as i64)
                }
                _ => range.at(part),
            },
        }
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(from: f64, to: f64, log: bool, whole: bool) -> Range {
        Range { from, to, log, whole }
    }

    #[test]
    fn steps_begin_and_end_at_the_ends() {
        // 0.1 · 10^(k/2): 0.1, 0.316228, 1, 3.16228, 10.
        let log = range(0.1, 10.0, true, false).steps(5);
        let expected = [0.1, 0.316228, 1.0, 3.16228, 10.0].map(Value::Float);
        assert_eq!(log, expected);
        let whole = range(1.0, 3.0, false, true).steps(5);
        assert_eq!(whole, [1, 2, 3].map(Value::Int));
        assert_eq!(range(2.0, 9.0, false, true).steps(1), [Value::Int(2)]);
    }

    #[test]
    fn a_step_goes_on_until_the_end_and_not_beyond() {
        let of = |to| range(0.0, to, false, false).every(0.1);
        assert_eq!(of(0.3), [0.0, 0.1, 0.2, 0.3].map(Value::Float));
        assert_eq!(of(0.35).len(), 4);
        assert_eq!(range(1.0, 6.0, false, true).every(2.0), [1, 3, 5].map(Value::Int));
    }

    #[test]
    fn whole_numbers_are_drawn_alike() {
        let values = Values::Range(range(1.0, 4.0, false, true));
        let drawn: Vec<Value> = (0..8).map(|at| values.draw(f64::from(at) / 8.0)).collect();
        assert_eq!(drawn, [1, 1, 2, 2, 3, 3, 4, 4].map(Value::Int));
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_in_the_range(
            from in 1u32..1000, more in 1u32..1000, part in 0.0f64..1.0,
            log in any::<bool>(), whole in any::<bool>(),
        ) {
            let range = range(from.into(), (from + more).into(), log, whole);
            let number = Values::Range(range).draw(part).number().expect("a number");
            prop_assert!((range.from..=range.to).contains(&number), "{number}");
        }
    }
}
