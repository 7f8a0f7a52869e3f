// SPDX-License-Identifier: MIT OR Apache-2.0
//! A web server, the program that makes its pages, and its clients.

mod client;
mod page;
mod server;

pub(crate) use client::{visit, CLIENTS_CPU};
pub(crate) use page::page;
pub(crate) use server::{apart, stay_on, CPU as SERVER_CPU};
