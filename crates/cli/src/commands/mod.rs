// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per command.

pub(crate) mod anonymise;
pub(crate) mod bench;
pub(crate) mod boost;
pub(crate) mod bundle;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod condense;
pub(crate) mod diff;
pub(crate) mod fluid;
pub(crate) mod import;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod man;
pub(crate) mod record;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod set;
pub(crate) mod sim;
pub(crate) mod sweep;
pub(crate) mod test;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod tune;
