// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests and responses. A change of meaning gets a new version; additions do not.

use crate::stats::Sample;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the protocol.
pub const VERSION: u32 = 1;
/// Bytes of a line, in both directions.
pub const MAX_LINE: usize = 1 << 20;

/// What a client may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Who runs, and its tunables.
    Get,
    /// Change tunables and shares: all of them, or none if one is refused.
    Set(Changes),
    /// The statistics, as totals since the policy was loaded.
    Stats,
    /// Load another policy, and let it schedule in place of this one.
    Switch(Switch),
}

/// Another policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// A shipped policy, or the absolute path of a file.
    pub policy: String,
    /// What its own loader would set: the absolute path of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Its tunables, as in [`Changes`].
    #[serde(default)]
    pub tunables: Vec<(String, String)>,
}

/// Changes that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Tunables, `[name, value]`, values as `--set` takes them.
    #[serde(default)]
    pub tunables: Vec<(String, String)>,
    /// Shares of threads.
    #[serde(default)]
    pub shares: Vec<Share>,
}

/// The share of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Thread id.
    pub pid: u32,
    /// Its share; without one the weight counts again.
    pub share: Option<u64>,
}

/// A request with its version, as it is on the wire.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To [`Request::Get`].
    Policy(Description),
    /// To [`Request::Set`].
    Changed(Changed),
    /// To [`Request::Stats`].
    Stats(Sample),
    /// To [`Request::Switch`]: the other policy is loaded, and schedules next.
    Switching(Switching),
    /// The request was not carried out.
    Error(Refusal),
}

/// Who runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Name of the policy.
    pub policy: String,
    /// `shipped`, or its file.
    pub source: String,
    /// Process that holds it.
    pub pid: u32,
    /// Its tunables with their present values.
    pub tunables: Vec<Tunable>,
    /// Why this policy still schedules, if one that should have taken over could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_switched: Option<String>,
}

/// A tunable of a running policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunable {
    /// Variable.
    pub name: String,
    /// Present value, as `--set` takes it.
    pub value: String,
    /// Can it be changed now?
    pub live: bool,
    /// C type.
    pub ctype: String,
    /// Least value.
    pub min: Option<String>,
    /// Greatest value.
    pub max: Option<String>,
    /// Unit.
    pub unit: Option<String>,
    /// Names of the values 0, 1, 2 …
    pub values: Vec<String>,
    /// What it does.
    pub help: String,
}

/// What was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Tunables: name, value before, value now.
    pub tunables: Vec<(String, String, String)>,
    /// Shares.
    pub shares: Vec<Share>,
}

/// Which policy follows which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switching {
    /// The one that schedules now.
    pub from: String,
    /// The next one.
    pub to: String,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Whose fault it is.
    pub kind: RefusalKind,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// Whose fault a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request's.
    Input,
    /// The machine's.
    Failure,
}

impl Refusal {
    /// The request is wrong.
    pub fn input(what: impl ToString) -> Self {
        Self { kind: RefusalKind::Input, message: what.to_string() }
    }

    /// The request is right, but could not be carried out.
    pub fn failure(what: impl ToString) -> Self {
        Self { kind: RefusalKind::Failure, message: what.to_string() }
    }
}

/// Reads a line of a client.
pub(super) fn parse(line: &[u8]) -> Result<Request, Refusal> {
    let wrong = |e: serde_json::Error| Refusal::input(format!("not a request: {e}"));
    let mut value: Value = serde_json::from_slice(line).map_err(wrong)?;
    let version = Versioned::deserialize(&value).map_err(wrong)?.version;
    if version != VERSION {
        let what = format!("version {version} is not supported, expected {VERSION}");
        return Err(Refusal::input(what));
    }
    if let Value::Object(members) = &mut value {
        members.remove("version");
    }
    serde_json::from_value(value).map_err(wrong)
}

/// Writes a line: the value with the version before its members.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        version: u32,
        #[serde(flatten)]
        value: &'a T,
    }
    // Our own types have string keys only, so nothing can go wrong.
    let mut bytes = serde_json::to_vec(&Line { version: VERSION, value }).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
