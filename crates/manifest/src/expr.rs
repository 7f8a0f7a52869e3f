// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer expressions: C's operators and precedence over machine facts and constants.

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expr {
    Int(i128),
    Name(String),
    Call(String, Box<Expr>),
    /// A question about the object or the kernel: `has(name)`, `opt(name)`, `sizeof(type)`.
    Of(String, String),
    Unary(Op, Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// An operator as written.
pub(crate) type Op = &'static str;

/// Binary operators, loosest level first, as in C.
const LEVELS: &[&[Op]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
/// Every token that is neither a number nor a name; longer ones before their prefixes.
const SYMBOLS: &[Op] = &[
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+", "-", "*", "/",
    "%", "!", "~", "(", ")", "?", ":",
];
/// Limits that keep a hostile file from exhausting the stack: parsing recurses along
/// nesting, evaluation along nesting and chains of operators.
const MAX_DEPTH: u32 = 64;
const MAX_TOKENS: usize = 256;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Int(i128),
    Name(String),
    Symbol(Op),
}

/// Functions of a name, not of a number.
pub(crate) const OF_NAMES: [&str; 3] = ["has", "opt", "sizeof"];

/// What names and functions mean.
pub(crate) trait Names {
    /// Value of a plain name.
    fn name(&self, name: &str) -> Result<i128, String>;
    /// Value of `function(argument)`.
    fn call(&self, function: &str, argument: i128) -> Result<i128, String>;
    /// Value of one of [`OF_NAMES`] for a name.
    fn of(&self, function: &str, name: &str) -> Result<i128, String>;
}

impl Expr {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        let expr = parser.ternary()?;
        match parser.tokens.get(parser.at) {
            None => Ok(expr),
            Some(token) => Err(format!("unexpected {} after the expression", shown(Some(token)))),
        }
    }

    pub(crate) fn eval(&self, names: &dyn Names) -> Result<i128, String> {
        Ok(match self {
            Self::Int(value) => *value,
            Self::Name(name) => names.name(name)?,
            Self::Call(function, argument) => names.call(function, argument.eval(names)?)?,
            Self::Of(function, name) => names.of(function, name)?,
            Self::Unary(op, operand) => {
                let value = operand.eval(names)?;
                match *op {
                    "!" => i128::from(value == 0),
                    "~" => !value,
                    _ => value.checked_neg().ok_or("overflow in -")?,
                }
            }
            // The side that is not taken may be undefined, as division by zero is.
            Self::If(test, yes, no) => if test.eval(names)? != 0 { yes } else { no }.eval(names)?,
            Self::Binary("&&", a, b) => (a.eval(names)? != 0 && b.eval(names)? != 0).into(),
            Self::Binary("||", a, b) => (a.eval(names)? != 0 || b.eval(names)? != 0).into(),
            Self::Binary(op, a, b) => binary(op, a.eval(names)?, b.eval(names)?)?,
        })
    }
}

fn binary(op: Op, a: i128, b: i128) -> Result<i128, String> {
    let shift = || u32::try_from(b).ok().filter(|bits| *bits < 64);
    let value = match op {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "%" if b == 0 => return Err(format!("{a} {op} 0 divides by zero")),
        "/" => a.checked_div(b),
        "%" => a.checked_rem(b),
        "<<" => shift().and_then(|bits| a.checked_mul(1 << bits)),
        ">>" => shift().map(|bits| a >> bits),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "==" => Some((a == b).into()),
        "!=" => Some((a != b).into()),
        "<" => Some((a < b).into()),
        "<=" => Some((a <= b).into()),
        ">" => Some((a > b).into()),
        _ => Some((a >= b).into()),
    };
    value.ok_or_else(|| format!("{a} {op} {b} overflows"))
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let used = if first.is_ascii_digit() {
            out.push(Token::Int(number(&rest[..word])?));
            word
        } else if word > 0 {
            out.push(Token::Name(rest[..word].to_string()));
            word
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            out.push(Token::Symbol(symbol));
            symbol.len()
        } else {
            return Err(format!("unexpected character {first:?}"));
        };
        if out.len() > MAX_TOKENS {
            return Err(format!("longer than {MAX_TOKENS} tokens"));
        }
        rest = rest[used..].trim_start();
    }
    Ok(out)
}

fn number(text: &str) -> Result<i128, String> {
    let digits = text.replace('_', "");
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map(Into::into).map_err(|_| format!("bad number {text}: expected 0 to 2^64-1"))
}

fn shown(token: Option<&Token>) -> String {
    match token {
        None => "the end".to_string(),
        Some(Token::Int(value)) => value.to_string(),
        Some(Token::Name(name)) => name.clone(),
        Some(Token::Symbol(symbol)) => format!("\"{symbol}\""),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
}

impl Parser {
    fn take(&mut self, symbols: &[Op]) -> Option<Op> {
        let Some(Token::Symbol(found)) = self.tokens.get(self.at) else {
            return None;
        };
        let found = symbols.iter().find(|s| *s == found)?;
        self.at += 1;
        Some(found)
    }

    fn expect(&mut self, symbol: Op) -> Result<(), String> {
        let found = shown(self.tokens.get(self.at));
        self.take(&[symbol]).map(drop).ok_or(format!("expected \"{symbol}\", found {found}"))
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        let out = parse(self);
        self.depth -= 1;
        out
    }

    fn ternary(&mut self) -> Result<Expr, String> {
        let test = self.level(0)?;
        if self.take(&["?"]).is_none() {
            return Ok(test);
        }
        let yes = self.nested(Self::ternary)?;
        self.expect(":")?;
        let no = self.nested(Self::ternary)?;
        Ok(Expr::If(test.into(), yes.into(), no.into()))
    }

    fn level(&mut self, level: usize) -> Result<Expr, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(op) = self.take(operators) {
            left = Expr::Binary(op, left.into(), self.level(level + 1)?.into());
        }
        Ok(left)
    }

    fn of_name(&mut self, function: String) -> Result<Expr, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        let Some(Token::Name(name)) = token else {
            return Err(format!("{function}(): expected a name, found {}", shown(token.as_ref())));
        };
        self.expect(")")?;
        Ok(Expr::Of(function, name))
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if let Some(op) = self.take(&["-", "!", "~"]) {
            return Ok(Expr::Unary(op, self.nested(Self::unary)?.into()));
        }
        if self.take(&["("]).is_some() {
            let inner = self.nested(Self::ternary)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Int(value)) => Ok(Expr::Int(value)),
            Some(Token::Name(name)) if self.take(&["("]).is_some() => {
                if OF_NAMES.contains(&name.as_str()) {
                    return self.of_name(name);
                }
                let argument = self.nested(Self::ternary)?;
                self.expect(")")?;
                Ok(Expr::Call(name, argument.into()))
            }
            Some(Token::Name(name)) => Ok(Expr::Name(name)),
            other => Err(format!("expected a value, found {}", shown(other.as_ref()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Known;
    impl Names for Known {
        fn name(&self, name: &str) -> Result<i128, String> {
            if name == "nr_cpus" {
                Ok(4)
            } else {
                Err(format!("unknown name {name}"))
            }
        }
        fn call(&self, function: &str, argument: i128) -> Result<i128, String> {
            if function == "twice" {
                Ok(2 * argument)
            } else {
                Err("no".to_string())
            }
        }
        fn of(&self, function: &str, name: &str) -> Result<i128, String> {
            Ok((function.len() + name.len()) as i128)
        }
    }

    fn value(text: &str) -> Result<i128, String> {
        Expr::parse(text)?.eval(&Known)
    }

    #[test]
    fn precedence_and_grouping_are_those_of_c() {
        let cases = [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("1 | 6 & 4", 5),
            ("1 << 2 + 1", 8),
            ("3 < 4 == 1", 1),
            ("-2 - -3", 1),
            ("!0 + ~0", 0),
            ("7 % 4 / 2", 1),
            ("0x10_00", 4096),
            ("(3 + nr_cpus / 2) % nr_cpus", 1),
            ("twice(nr_cpus - 1)", 6),
            ("sizeof(task_ctx) + has(x)", 14 + 4),
            ("nr_cpus > 4 ? 1 : nr_cpus > 3 ? 2 : 3", 2),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn side_not_taken_is_not_evaluated() {
        assert_eq!(value("1 ? 5 : 1 / 0"), Ok(5));
        assert_eq!(value("0 && 1 / 0"), Ok(0));
        assert_eq!(value("1 || 1 / 0"), Ok(1));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("1 +", "expected a value, found the end"),
            ("1 2", "unexpected 2 after the expression"),
            ("has(1)", "has(): expected a name, found 1"),
            ("(1", "expected \")\", found the end"),
            ("a", "unknown name a"),
            ("1 / 0", "1 / 0 divides by zero"),
            ("5 @ 2", "unexpected character '@'"),
            ("99999999999999999999", "bad number 99999999999999999999: expected 0 to 2^64-1"),
            ("1 << 64", "1 << 64 overflows"),
        ] {
            assert_eq!(value(text), Err(message.to_string()), "{text}");
        }
    }

    #[test]
    fn hostile_nesting_is_refused() {
        let nested = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        assert_eq!(value(&nested), Err("nested deeper than 64".to_string()));
        assert_eq!(value(&"-".repeat(1000)), Err("longer than 256 tokens".to_string()));
        assert_eq!(value(&vec!["1"; 1000].join("+")), Err("longer than 256 tokens".to_string()));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,60}") {
            let _ = value(&text);
        }

        #[test]
        fn arbitrary_operators_never_panic(text in "[-+*/%<>=!~&|^?:() 0-9a-z]{0,60}") {
            let _ = value(&text);
        }

        #[test]
        fn arithmetic_equals_the_hosts(a in -1000i128..1000, b in -1000i128..1000, c in 1i128..1000) {
            let text = format!("{a} * {b} + {a} % {c} - ({b} ^ {c}) / {c}");
            prop_assert_eq!(value(&text), Ok(a * b + a % c - (b ^ c) / c));
        }
    }
}
