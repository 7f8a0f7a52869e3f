// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is taken for values that a machine file or a computer does not give. Those of caches, SMT
//! and interrupts are those of the preset `server`; docs/machines.md has their sources.

pub(crate) const FROM_SERVER: &str = "the preset server";
pub(crate) const CHOICE: &str = "a choice, to be calibrated";

pub(crate) const L2_KIB: u32 = 1024;
pub(crate) const LLC_KIB: u32 = 32_768;
pub(crate) const MLP: u32 = 4;
pub(crate) const LINE_BYTES: u32 = 64;
/// Of siblings (not used), of one last-level cache, of others of the node, of other nodes.
pub(crate) const REFILL_NS: [u64; 4] = [0, 12, 100, 140];
pub(crate) const C2C_NS: [u64; 4] = [5, 25, 107, 197];
pub(crate) const REUSE_NS: u64 = 10;
pub(crate) const HANDOFF_LINES: u64 = 16;
pub(crate) const WORKING_SET_KIB: u32 = 64;
/// `init_task.timer_slack_ns`.
pub(crate) const TIMER_SLACK_US: u64 = 50;
pub(crate) const RAMP_US: u64 = 10_000;
pub(crate) const COOL_US: u64 = 10_000;
pub(crate) const TRANSITION_US: u64 = 500;
/// What is left of leaving idle once the idle state's exit latency is counted apart.
pub(crate) const IDLE_EXIT_NS: u64 = 500;
