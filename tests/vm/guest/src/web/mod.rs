// SPDX-License-Identifier: MIT OR Apache-2.0
//! A web server, the program that makes its pages, and its clients.

mod client;
mod page;
mod server;

pub(crate) use client::visit;
pub(crate) use page::page;
pub(crate) use server::apart;
