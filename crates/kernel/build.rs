// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the recorder's BPF programs for `src/events` to embed.

fn main() {
    if let Err(message) = rota_clang::embed(&["record", "op"]) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
