// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the BPF programs for `src/programs.rs` to embed.

fn main() {
    if let Err(message) = rota_clang::embed(&["boost"]) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
