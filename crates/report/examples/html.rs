// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a report of numbers from anywhere: reads a comparison as JSON from standard input,
//! writes HTML to standard output.

use std::error::Error;
use std::io;

fn main() -> Result<(), Box<dyn Error>> {
    let comparison = serde_json::from_reader(io::stdin().lock())?;
    print!("{}", rota_report::html::render(&comparison));
    Ok(())
}
