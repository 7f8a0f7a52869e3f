// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tunables are searched, and the values that the search begins with.

use super::TuneArgs;
use crate::error::Error;
use crate::output::tunables;
use rota_sim::Policy;
use rota_sweep::{Axis, Value, Values};

/// What is searched if the user names nothing: the parameters of PBS.
const ALPHAS: &str = "0.05,0.1,0.2,0.5,1,2,5,10,20";
const BETAS: &str = "+inf,-3,0";

/// The axes, in the order in which they are given.
pub(super) fn axes(args: &TuneArgs, name: &str, policy: &Policy) -> Result<Vec<Axis>, Error> {
    check_alphas(&args.alphas)?;
    let alphas: Vec<Value> = args.alphas.iter().map(|alpha| number(*alpha)).collect();
    let betas: Vec<Value> = args.betas.iter().map(|text| value(text)).collect();
    let mut given: Vec<(&str, Vec<Value>)> = Vec::new();
    for (name, values) in [("alpha", alphas), ("beta", betas)] {
        given.extend(Some((name, values)).filter(|(_, values)| !values.is_empty()));
    }
    for (name, text) in &args.tunables {
        given.push((name, text.split(',').map(|text| value(text.trim())).collect()));
    }
    if args.tunables.is_empty() {
        check_that_it_has_alpha(name, policy)?;
        for (name, usual) in [("alpha", ALPHAS), ("beta", BETAS)] {
            if !given.iter().any(|(other, _)| *other == name) {
                given.push((name, usual.split(',').map(value).collect()));
            }
        }
        given.sort_by_key(|(name, _)| *name);
    }
    for (at, (name, values)) in given.iter().enumerate() {
        if given[..at].iter().any(|(other, _)| other == name) {
            return Err(Error::input(format!("{name} is searched twice, expected it once")));
        }
        for (at, value) in values.iter().enumerate() {
            if let Some(same) = values[..at].iter().find(|other| other.key() == value.key()) {
                return Err(Error::input(format!(
                    "{name}: {value} is the same value as {same} before it: expected each once"
                )));
            }
        }
    }
    let axis = |(name, values): (&str, Vec<Value>)| Axis {
        name: name.to_owned(),
        line: 0,
        values: Values::List(values),
    };
    Ok(given.into_iter().map(axis).collect())
}

fn check_alphas(alphas: &[f64]) -> Result<(), Error> {
    let rises = alphas.windows(2).all(|two| two[0] < two[1]);
    if rises && alphas.iter().all(|alpha| alpha.is_finite() && *alpha > 0.0) {
        return Ok(());
    }
    let given: Vec<String> = alphas.iter().map(f64::to_string).collect();
    Err(Error::input(format!("--alphas {}: expected rising numbers above 0", given.join(","))))
}

/// Of another policy, the user has to say what is searched.
fn check_that_it_has_alpha(name: &str, policy: &Policy) -> Result<(), Error> {
    let known: Vec<String> =
        tunables::options(policy.image()).into_iter().map(|tunable| tunable.name).collect();
    if known.iter().any(|name| name == "alpha") {
        return Ok(());
    }
    Err(Error::input(match known.is_empty() {
        true => format!("{name} has no tunable 'alpha', nor any other: there is nothing to search"),
        false => format!(
            "{name} has no tunable 'alpha': expected --tunable NAME=VALUE,… with one of {}",
            known.join(", ")
        ),
    }))
}

/// A number if it is one, else a text as `5ms`.
fn value(text: &str) -> Value {
    let whole = text.parse().ok().map(Value::Int);
    let number = || text.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Float);
    whole.or_else(number).unwrap_or_else(|| Value::Text(text.to_owned()))
}

fn number(number: f64) -> Value {
    value(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number_is_one() {
        assert_eq!(value("-3"), Value::Int(-3));
        assert_eq!(value("0.05"), Value::Float(0.05));
        assert_eq!(value("5e6"), Value::Float(5e6));
        for text in ["+inf", "5ms", "nan", "true"] {
            assert_eq!(value(text), Value::Text(text.to_owned()));
        }
    }

    #[test]
    fn alphas_rise() {
        assert!(check_alphas(&[0.1, 2.0]).is_ok());
        for wrong in [&[2.0, 1.0][..], &[0.0, 1.0], &[1.0, f64::INFINITY]] {
            let error = check_alphas(wrong).expect_err("refused").to_string();
            assert!(error.contains("rising numbers above 0"), "{error}");
        }
    }
}
