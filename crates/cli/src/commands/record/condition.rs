// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `--when` takes.

use crate::nearest;
use rota_watch::{Condition, ConditionError};

/// A condition, or what is wrong with it and what may have been meant.
pub(crate) fn condition(text: &str) -> Result<Condition, String> {
    text.parse().map_err(|error: ConditionError| {
        let hint = match &error {
            ConditionError::Statistic(typed) => nearest::hint(typed, &Condition::STATISTICS),
            ConditionError::Metric(typed) => nearest::hint(typed, &Condition::METRICS),
            _ => String::new(),
        };
        format!("{error}{hint}; write one as 'p99 wakeup of nginx > 20ms'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_condition_names_what_is_nearest() {
        for (text, hint) in [
            ("p98 wakeup > 1ms", "did you mean p95?"),
            ("p99 wakeups of nginx > 1ms", "did you mean wakeup?"),
            ("p99 delay of nginx > 1ms", "did you mean run delay?"),
            ("p99 wakeup of nginx", "comparison is missing"),
        ] {
            let error = condition(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
            assert!(error.contains("'p99 wakeup of nginx > 20ms'"), "{error}");
        }
        assert!(condition("p99 wakeup of nginx > 20ms").is_ok());
    }
}
