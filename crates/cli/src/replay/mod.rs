// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as workloads, and how well these do what was recorded.

mod compared;
mod grade;
mod kind;
mod made;
pub(crate) mod printed;

pub(crate) use compared::Compared;
pub(crate) use grade::{grade, Circumstances, Grade};
pub(crate) use kind::{Kind, Pair};
pub(crate) use made::{charges, json, part, Made, Making};
