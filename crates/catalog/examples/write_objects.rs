// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the objects of the policies that ship into a directory: `write_objects DIR`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let dir = std::env::args_os().nth(1).ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(&dir)?;
    for policy in rota_catalog::policies() {
        let path = Path::new(&dir).join(format!("{}.bpf.o", policy.name));
        std::fs::write(path, policy.object)?;
    }
    Ok(())
}
