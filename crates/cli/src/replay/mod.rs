// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as workloads, and how well these do what was recorded.

mod compared;
mod grade;
mod kind;
mod made;
pub(crate) mod printed;

pub(crate) use compared::Compared;
pub(crate) use grade::Circumstances;
pub(crate) use made::{Made, Making};
