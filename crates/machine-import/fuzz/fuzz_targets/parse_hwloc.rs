// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as hwloc's XML: an error that says something, or a machine that is the same again from
//! the file that is written of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_machine_import::hwloc_xml;

fuzz_target!(|text: &str| match hwloc_xml("fuzz.xml", text) {
    Ok(machine) => {
        let again = rota_machine_file::parse("fuzz.toml", &machine.to_toml()).expect("as written");
        assert_eq!(again.topology, machine.topology);
        assert_eq!(again.hardware, machine.hardware);
    }
    Err(error) => assert!(!error.what.is_empty()),
});
