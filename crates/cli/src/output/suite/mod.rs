// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of a suite: text, JSON, JUnit XML, and annotations of GitHub.

pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod text;
