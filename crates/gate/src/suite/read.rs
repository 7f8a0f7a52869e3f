// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads suites. An error names file, line, what was there, and what was expected.

use super::{Expected, Named, Options, Suite, Test};
use crate::condition::Condition;
use rota_session::wanted::beside;
use rota_session::{label, nearest, object, Error, Wanted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    run: RunTable,
    #[serde(default)]
    policies: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    test: Vec<Spanned<TestTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestTable {
    name: Spanned<String>,
    workloads: Vec<Spanned<String>>,
    policies: Option<Vec<Spanned<String>>>,
    expect: Vec<Spanned<String>>,
    #[serde(default)]
    run: RunTable,
}

/// Options of `rota compare`; those of a test are over those of the suite.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    seeds: Option<u32>,
    seed: Option<u64>,
    duration: Option<String>,
    warmup: Option<String>,
    cpus: Option<Vec<u32>>,
    machines: Option<Vec<String>>,
    topology: Option<String>,
    hz: Option<u32>,
    kernel: Option<String>,
    ideal: Option<bool>,
}

/// The file that is read.
struct Read<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Suite {
    /// Reads a file; paths in it are seen from its folder.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read", file, &e))?;
        Self::parse(file, &text)
    }

    /// Of the text of a file.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Error> {
        let read = Read { file, text };
        let document: Document = toml::from_str(text).map_err(|error| read.malformed(&error))?;
        if document.test.is_empty() {
            return Err(Error::input(format!("{}: no [[test]] in it", file.display())));
        }
        let mut tests: Vec<Test> = Vec::new();
        for table in &document.test {
            let test = read.test(&document, table.get_ref())?;
            if tests.iter().any(|other| other.name == test.name) {
                let why = format!("test \"{}\" is there twice: expected another name", test.name);
                return Err(read.at(table.get_ref().name.span().start, &why));
            }
            tests.push(test);
        }
        Ok(Suite { tests })
    }
}

impl Read<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn at(&self, at: usize, why: &str) -> Error {
        Error::input(format!("{}:{}: {why}", self.file.display(), self.line(at)))
    }

    fn malformed(&self, error: &toml::de::Error) -> Error {
        let what = error.message().trim_end();
        let mut quoted = what.split('`').skip(1).step_by(2);
        let typed = quoted.next().filter(|_| what.starts_with("unknown field"));
        let known: Vec<&str> = quoted.collect();
        let hint = typed.map_or(String::new(), |typed| nearest::hint(typed, &known));
        let what = what.replace("unknown field", "unknown key").replace('`', "");
        let at = error.span().map_or(0, |span| span.start);
        self.at(at, &format!("{what}{hint}"))
    }

    fn test(&self, document: &Document, table: &TestTable) -> Result<Test, Error> {
        let name = table.name.get_ref().trim();
        if name.is_empty() {
            return Err(self.at(table.name.span().start, "name = \"\": expected a name"));
        }
        let start = table.name.span().start;
        let empty = |key: &str| {
            Err(self.at(start, &format!("test \"{name}\": {key} is empty: expected one at least")))
        };
        if table.workloads.is_empty() {
            return empty("workloads");
        }
        if table.expect.is_empty() {
            return empty("expect");
        }
        let mut expect = Vec::new();
        for text in &table.expect {
            let condition = Condition::parse(text.get_ref()).map_err(|why| {
                self.at(text.span().start, &format!("'{}': {why}", text.get_ref()))
            })?;
            if condition.is_relative() && condition.than().is_none() {
                let why = format!("'{}': expected 'than POLICY'", condition.text);
                return Err(self.at(text.span().start, &why));
            }
            expect.push(Expected { condition, line: self.line(text.span().start) });
        }
        let mut others = Vec::new();
        for (expected, text) in expect.iter().zip(&table.expect) {
            if let Some(than) = expected.condition.than() {
                let other = self.policy(document, than, text.span().start)?;
                if !others.contains(&other) {
                    others.push(other);
                }
            }
        }
        let mut policies = Vec::new();
        match &table.policies {
            Some(names) => {
                for text in names {
                    let policy = self.policy(document, text.get_ref(), text.span().start)?;
                    if policies.contains(&policy) {
                        let why = format!("policy {} is listed twice", text.get_ref());
                        return Err(self.at(text.span().start, &why));
                    }
                    policies.push(policy);
                }
            }
            None => {
                for (name, text) in &document.policies {
                    policies.push(self.policy(document, name, text.span().start)?);
                }
                // Those that others are compared with are there for that.
                policies.retain(|policy| !others.contains(policy));
            }
        }
        if policies.is_empty() {
            return empty("policies");
        }
        others.retain(|other| !policies.contains(other));
        let workloads = table.workloads.iter().map(|path| self.path(path.get_ref()).into());
        let options = table.run.clone().over(&document.run).options(self);
        let options = options.map_err(|why| self.at(start, &format!("test \"{name}\": {why}")))?;
        let workloads = workloads.collect();
        Ok(Test { name: name.to_owned(), workloads, policies, others, expect, options })
    }

    /// One of the suite's, or one that ships.
    fn policy(&self, document: &Document, name: &str, at: usize) -> Result<Named, Error> {
        if let Some(word) = document.policies.get(name) {
            let at = word.span().start;
            let word = word.get_ref().trim();
            if word.is_empty() {
                return Err(self.at(at, &format!("{name} = \"\": expected a policy or a file")));
            }
            let refused = |why: String| self.at(at, &format!("{name} = \"{word}\": {why}"));
            let wanted = Wanted::parse_in(Some(self.file), word).map_err(refused)?;
            let word = format!("{name}={}{}", wanted.policy, wanted.settings());
            // A name that is no label would be part of a path or a program.
            if label::split(&word).0 != Some(name) {
                let why = format!("{name}: expected a name of letters, digits and . _ - +");
                return Err(self.at(at, &why));
            }
            return Ok(Named { name: name.to_owned(), word });
        }
        if object::is_shipped(name) {
            return Ok(Named { name: name.to_owned(), word: name.to_owned() });
        }
        // A file in the suite's folder is called by its name.
        let word = format!("{name}={}", self.path(name));
        if object::is_file_name(name) && label::split(&word).0 == Some(name) {
            return Ok(Named { name: name.to_owned(), word });
        }
        let shipped = rota_catalog::policies().iter().map(|policy| policy.name);
        let known: Vec<&str> =
            document.policies.keys().map(String::as_str).chain(shipped).collect();
        let hint = nearest::hint(name, &known);
        let why = format!("no policy \"{name}\" in [policies], and none of that name ships{hint}");
        Err(self.at(at, &why))
    }

    fn path(&self, path: &str) -> String {
        match path {
            // Nothing is no folder.
            "" => String::new(),
            path => beside(self.file, path),
        }
    }
}

impl RunTable {
    fn over(self, below: &Self) -> Self {
        let below = below.clone();
        // Either says which machines there are.
        let has_machine = self.cpus.is_some() || self.machines.is_some();
        let (cpus, machines) = match has_machine {
            true => (self.cpus, self.machines),
            false => (below.cpus, below.machines),
        };
        Self {
            seeds: self.seeds.or(below.seeds),
            seed: self.seed.or(below.seed),
            duration: self.duration.or(below.duration),
            warmup: self.warmup.or(below.warmup),
            cpus,
            machines,
            topology: self.topology.or(below.topology),
            hz: self.hz.or(below.hz),
            kernel: self.kernel.or(below.kernel),
            ideal: self.ideal.or(below.ideal),
        }
    }

    fn options(self, read: &Read<'_>) -> Result<Options, String> {
        if self.cpus.is_some() && self.machines.is_some() {
            return Err("cpus and machines: expected one of them".into());
        }
        let mut common = Vec::new();
        let mut add = |option: &str, value: Option<String>| {
            if let Some(value) = value {
                common.extend([option.to_owned(), value]);
            }
        };
        add("--seeds", self.seeds.map(|seeds| seeds.to_string()));
        add("--seed", self.seed.map(|seed| seed.to_string()));
        add("--duration", self.duration);
        add("--warmup", self.warmup);
        add("--topology", self.topology);
        add("--hz", self.hz.map(|hz| hz.to_string()));
        add("--kernel", self.kernel);
        if self.ideal == Some(true) {
            common.push("--ideal".into());
        }
        let cpus = self.cpus.unwrap_or_default().into_iter();
        let mut machines: Vec<Vec<String>> =
            cpus.map(|cpus| vec!["--cpus".to_owned(), cpus.to_string()]).collect();
        for name in self.machines.unwrap_or_default() {
            let is_file = name.contains('/') || name.contains('.');
            let name = if is_file { read.path(&name) } else { name };
            machines.push(vec!["--machine".to_owned(), name]);
        }
        if machines.is_empty() {
            machines.push(Vec::new());
        }
        Ok(Options { common, machines })
    }
}

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
