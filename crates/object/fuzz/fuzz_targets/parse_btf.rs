// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as BTF and as `.BTF.ext`: all questions about all types.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_object::btf::{ext::Ext, Btf};
use rota_object::settings::render;

fuzz_target!(|bytes: &[u8]| {
    let _ = Ext::parse(bytes, &Btf::empty());
    let _ = Btf::from_file(bytes);
    let Ok(btf) = Btf::parse(bytes) else { return };
    let _ = Ext::parse(bytes, &btf);
    for id in btf.ids().take(200) {
        btf.type_name(id);
        btf.size_of(id);
        btf.func_proto(id);
        btf.field_name_at(id, 9);
        btf.decl_tags(id, Some(0));
        let _ = btf.field_at(id, "a.b[1]");
        btf.find(btf.kind(id), btf.name(id));
        render(&btf, id, &bytes[..bytes.len().min(64)]);
    }
    btf.enum_value("NOWHERE");
});
