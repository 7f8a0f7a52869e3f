// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--seeds`: a number, or as many as it takes.

/// What it begins with, and also what is run if nothing is said.
const FIRST: u32 = 10;

/// How many seeds each policy has on each workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    Number(u32),
    Auto,
}

impl Seeds {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        rota_session::values::seeds(text)
            .map(Self::Number)
            .map_err(|expected| format!("{expected}, or auto"))
    }

    /// Those that are run in any case.
    pub(crate) fn first(self) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Auto => FIRST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Seeds;

    #[test]
    fn seeds_are_a_number_or_auto() {
        assert_eq!(Seeds::parse("auto"), Ok(Seeds::Auto));
        assert_eq!(Seeds::parse("12"), Ok(Seeds::Number(12)));
        let error = Seeds::parse("many").expect_err("neither");
        assert_eq!(error, "expected a whole number from 1 to 100000, or auto");
    }
}
