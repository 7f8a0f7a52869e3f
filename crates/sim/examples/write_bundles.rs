// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes what is packed in bundles of policies that ship into a directory: `write_bundles DIR`.

use flate2::read::GzDecoder;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_machine::user_half::{Live, Step, UserHalf};
use rota_object::image::StructOps;
use rota_sim::{Origin, Policy, Simulation, UserProgram};
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Attaches the scheduler as it is.
struct Loader;

impl UserHalf for Loader {
    fn attach(&mut self, live: Live<'_>) -> Result<StructOps, String> {
        live.rt.image().struct_ops.first().cloned().ok_or_else(|| "no scheduler".into())
    }

    fn go_on(&mut self, _: Live<'_>) -> Step {
        Step::Sleep
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("expected a directory")?;
    std::fs::create_dir_all(&dir)?;
    let load = Arc::new(rota_workload::parse("load.json", r#"{"tasks": {"t": {"run": 1}}}"#)?);
    // with entries in hash maps, with arrays only, with large types
    for name in ["wfq", "fifo", "eevdf"] {
        let object = rota_catalog::find(name)?.object;
        let policy = Policy::link(name, object, &Kernel::default())?;
        let origin = Origin {
            program: name.into(),
            arguments: Vec::new(),
            sha256: String::new(),
            rota: env!("CARGO_PKG_VERSION").into(),
            machine: None,
        };
        let config = Config::new(Topology::new(4, 2, 4, 4)?, 1_000_000);
        let program = UserProgram { name: name.into(), half: Box::new(Loader) };
        let bundle = Simulation::new(&policy, &load, config).bundle_by(program, origin)?;
        let line = bundle.iter().position(|byte| *byte == b'\n').ok_or("expected a line")?;
        let mut plain = Vec::new();
        GzDecoder::new(&bundle[line + 1..]).read_to_end(&mut plain)?;
        std::fs::write(Path::new(&dir).join(name), plain)?;
    }
    Ok(())
}
