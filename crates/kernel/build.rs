// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the BPF programs for `src/events` and `src/counts` to embed.

fn main() {
    if let Err(message) = rota_clang::embed(&["record", "op", "count"]) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
