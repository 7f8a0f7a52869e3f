// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workload files, and the files that they name.

use crate::error::Error;
use rota_trace_import::{detect, ENOUGH};
use rota_workload::Workload;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A workload file, read.
#[derive(Clone, Debug)]
pub struct Load {
    /// File as the user named it.
    pub file: String,
    /// What the comment at its top says of it.
    pub description: String,
    /// What it says.
    pub workload: Arc<Workload>,
    /// SHA-256 of the file, as hexadecimal digits.
    pub sha256: String,
    /// The same of the file and of all files that it names.
    pub inputs: String,
}

impl Load {
    /// Reads a workload file, or standard input, and says nothing of its warnings.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (file, text) = text(path)?;
        Self::parse(file, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// A workload's text, by a name for messages; files that it names are in this folder.
    pub fn parse(file: String, text: &str, beside: &Path) -> Result<Self, Error> {
        let sha256 = hex(Sha256::new_with_prefix(text));
        let inputs = RefCell::new(Sha256::new_with_prefix(text));
        let named = |name: &str| {
            let text = std::fs::read_to_string(beside.join(name)).map_err(|e| e.to_string())?;
            inputs.borrow_mut().update(format!("\0{name}\0{}\0{text}", text.len()));
            Ok(text)
        };
        let workload = Arc::new(rota_workload::parse_with(&file, text, &named)?);
        let description = rota_workload::description(text);
        let inputs = hex(inputs.into_inner());
        Ok(Self { file, description, workload, sha256, inputs })
    }
}

/// The name of a workload file, or of standard input, for messages, and its text.
pub fn text(path: &Path) -> Result<(String, String), Error> {
    let (file, text) = match path.as_os_str() == "-" {
        true => {
            let mut text = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut text);
            read.map_err(|e| Error::input(format!("cannot read standard input: {e}")))?;
            ("standard input".to_owned(), text)
        }
        false => (path.display().to_string(), bytes(path)?),
    };
    is_no_trace(&file, "FILE", &text)?;
    match String::from_utf8(text) {
        Ok(text) => Ok((file, text)),
        Err(e) => {
            let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n');
            Err(Error::input(format!("{file}:{}: not UTF-8 text", line.count() + 1)))
        }
    }
}

/// As hexadecimal digits.
pub fn hex(hash: Sha256) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    hash.finalize().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    if path.is_dir() {
        let path = path.display();
        return Err(Error::input(format!(
            "{path} is a folder, expected a FILE.json in it; rota compare takes folders, too"
        )));
    }
    let read = |e| Error::file("read", path, &e);
    let mut file = File::open(path).map_err(read)?;
    let mut text = Vec::new();
    // A trace may be larger than the memory.
    (&mut file).take(ENOUGH as u64).read_to_end(&mut text).map_err(read)?;
    let file_name = path.display().to_string();
    is_no_trace(&file_name, &file_name, &text)?;
    file.read_to_end(&mut text).map_err(read)?;
    Ok(text)
}

/// Refuses a trace that was taken for a workload; `import` is what can be imported in its place.
fn is_no_trace(file: &str, import: &str, start: &[u8]) -> Result<(), Error> {
    let Some(format) = detect(&start[..start.len().min(ENOUGH)]) else { return Ok(()) };
    let format = format.name();
    Err(Error::input(format!(
        "{file} is a {format}, not a workload: rota import {import} -o load.json makes one of it"
    )))
}
