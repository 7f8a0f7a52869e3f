// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of policies have in common.
#![allow(dead_code)] // of the machine's some are only for its own tests

pub(crate) mod blind;
pub(crate) mod eevdf;
pub(crate) mod groups;
pub(crate) mod hosted;
pub(crate) mod vtrr_model;
pub(crate) mod vtrr_queue;

// Of the machine's own tests, too. A crate for both would need the machine, whose tests need it.
#[path = "../../../crates/machine/tests/all/common/hardware.rs"]
pub(crate) mod hardware;
#[path = "../../../crates/machine/tests/all/common/native.rs"]
pub(crate) mod native;
#[path = "../../../crates/machine/tests/all/common/plan.rs"]
pub(crate) mod plan;
#[path = "../../../crates/machine/tests/all/common/replay.rs"]
pub(crate) mod replay;
#[path = "../../../crates/machine/tests/all/common/script.rs"]
pub(crate) mod script;
#[path = "../../../crates/machine/tests/all/common/tape.rs"]
mod tape;

pub(crate) use plan::ideal;
pub(crate) use tape::Tape;
