// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a policy has in memory at the end: `--dump-globals`.

use rota_object::settings::Tree;
use rota_sim::{Dump, DumpedEntry, DumpedMap};
use serde_json::{json, Map, Value};
use std::io::{self, Write};

/// As text.
pub(crate) fn print(out: &mut dyn Write, dump: &Dump) -> io::Result<()> {
    writeln!(out, "\nglobals at the end")?;
    let mut section = "";
    for global in &dump.globals {
        if global.section != section {
            section = &global.section;
            writeln!(out, "  {section}")?;
        }
        writeln!(out, "    {} = {}", global.name, global.value)?;
    }
    if !dump.maps.is_empty() {
        writeln!(out, "maps at the end")?;
    }
    for map in &dump.maps {
        writeln!(out, "  {}", title(map))?;
        for entry in &map.entries {
            writeln!(out, "    {}", line(entry))?;
        }
        if map.more > 0 {
            writeln!(out, "    … and {} more", map.more)?;
        }
    }
    Ok(())
}

fn title(map: &DumpedMap) -> String {
    let DumpedMap { name, kind, max_entries, .. } = map;
    let shown = map.entries.len() + map.more;
    match *kind {
        "arena" => format!("{name} (arena, {max_entries} pages)"),
        "array" | "per-CPU array" => {
            format!("{name} ({kind}, {shown} of {max_entries} entries not 0)")
        }
        // The kernel's storage has no limit.
        "task storage" | "cgroup storage" => format!("{name} ({kind}, {shown} entries)"),
        _ => format!("{name} ({kind}, {shown} of {max_entries} entries)"),
    }
}

fn line(entry: &DumpedEntry) -> String {
    let values: Vec<String> = entry.values.iter().map(Tree::to_string).collect();
    let value = values.join(" | ");
    match &entry.key {
        Some(key) => format!("[{key}] = {value}"),
        None => value,
    }
}

/// As a part of the JSON of a run: globals by name, maps by name.
pub(crate) fn json(dump: &Dump) -> (Value, Value) {
    let mut globals = Map::new();
    for global in &dump.globals {
        // the first of several with a name stands for them, as in --set
        globals.entry(global.name.clone()).or_insert_with(|| typed(&global.value));
    }
    let map = |map: &DumpedMap| {
        let entry = |entry: &DumpedEntry| {
            let per_cpu = map.kind.starts_with("per-CPU");
            let value = match entry.values.as_slice() {
                [one] if !per_cpu => typed(one),
                several => several.iter().map(typed).collect(),
            };
            json!({"key": entry.key.as_ref().map(typed), "value": value})
        };
        let entries: Vec<Value> = map.entries.iter().map(entry).collect();
        let (kind, max, more) = (map.kind, map.max_entries, map.more);
        let value = json!({"kind": kind, "max_entries": max, "entries": entries, "more": more});
        (map.name.clone(), value)
    };
    (globals.into(), dump.maps.iter().map(map).collect::<Map<_, _>>().into())
}

fn typed(tree: &Tree) -> Value {
    match tree {
        Tree::Bool(value) => (*value).into(),
        Tree::Number(value) => match (u64::try_from(*value), i64::try_from(*value)) {
            (Ok(value), _) => value.into(),
            (_, Ok(value)) => value.into(),
            _ => value.to_string().into(),
        },
        Tree::Address(value) => (*value).into(),
        Tree::Text(text) => text.as_str().into(),
        Tree::List(list) => list.iter().map(typed).collect(),
        Tree::Struct(members) => {
            let mut object = Map::new();
            for (name, value) in members {
                match (name.is_empty(), typed(value)) {
                    // members of one without a name belong to its holder, as in C
                    (true, Value::Object(inner)) => object.extend(inner),
                    (_, value) => drop(object.insert(name.clone(), value)),
                }
            }
            object.into()
        }
        Tree::Omitted => Value::Null,
    }
}
