// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object seems to expect of its own loader. Without that it does nothing of use, or is
//! ejected at once, and its messages do not say why.

use rota_object::btf::Type;
use rota_object::image::{map_type, Image, MapDef, Variable};

/// So many are named; more would say no more.
const NAMED: usize = 4;

/// Constants that say how many CPUs there are.
const OF_CPUS: [&str; 4] = ["nr_cpu_ids", "nr_cpus", "nr_possible_cpus", "nr_online_cpus"];

/// A sentence; `None` if nothing seems to be left to a loader on a machine of so many CPUs.
pub fn of(image: &Image, nr_cpus: u32) -> Option<String> {
    let is_unset = |variable: &&Variable| is_unset_count(image, variable, nr_cpus);
    let counts = image.variables.iter().filter(is_unset);
    let mut parts = Vec::new();
    push(&mut parts, "set", counts.map(|variable| variable.name.as_str()));
    let arrays = image.variables.iter().filter(|variable| is_to_be_resized(image, variable));
    push(&mut parts, "resize", arrays.map(|variable| variable.name.as_str()));
    push(&mut parts, "size", image.maps.iter().filter(|map| has_no_size(map)).map(name));
    push(&mut parts, "fill", image.maps.iter().filter(|map| has_no_inner(map)).map(name));
    if parts.is_empty() {
        return None;
    }
    let object = &image.name;
    let parts = parts.join(", and to ");
    Some(format!("{object} expects its loader to {parts}; see --manifest in docs/third-party.md"))
}

fn push<'a>(parts: &mut Vec<String>, verb: &str, names: impl Iterator<Item = &'a str>) {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return;
    }
    let more = if names.len() > NAMED { ", …" } else { "" };
    parts.push(format!("{verb} {}{more}", names[..names.len().min(NAMED)].join(", ")));
}

fn name(map: &MapDef) -> &str {
    &map.name
}

/// A constant that says how many CPUs, nodes … there are, and says none, or fewer CPUs than there
/// are.
fn is_unset_count(image: &Image, variable: &Variable, nr_cpus: u32) -> bool {
    let counts = variable.name.starts_with("nr_") || variable.name.starts_with("num_");
    let of = ["cpu", "core", "llc", "node", "dom"];
    let is_constant = image.maps.get(variable.map.0 as usize).is_some_and(|map| map.read_only);
    counts
        && is_constant
        && of.iter().any(|of| variable.name.contains(of))
        && image.variable_text(&variable.name).is_ok_and(|text| {
            let fewer = |count: u32| count < nr_cpus && OF_CPUS.contains(&variable.name.as_str());
            text == "0" || text.parse().is_ok_and(fewer)
        })
}

/// An array of one element that is alone in a section with its name: `RESIZABLE_ARRAY()`. The
/// place of a dump (`UEI_DEFINE()`) may stay as it is.
fn is_to_be_resized(image: &Image, variable: &Variable) -> bool {
    if variable.name.ends_with("_dump") {
        return false;
    }
    let Some(map) = image.maps.get(variable.map.0 as usize) else { return false };
    let section = map.name.rsplit_once('.').is_some_and(|(_, own)| own == variable.name);
    section
        && matches!(image.btf.resolved(variable.ty), Type::Array(array) if array.len == 1)
        && image.btf.size_of(variable.ty) == Some(variable.size)
}

/// A map that must have a number of entries, and has none.
fn has_no_size(map: &MapDef) -> bool {
    use map_type::*;
    let needs =
        [HASH, ARRAY, PERCPU_HASH, PERCPU_ARRAY, LRU_HASH, LRU_PERCPU_HASH, QUEUE, STACK, RINGBUF];
    map.max_entries == 0 && map.initial.is_none() && needs.contains(&map.kind)
}

/// A map of maps without any.
fn has_no_inner(map: &MapDef) -> bool {
    [map_type::ARRAY_OF_MAPS, map_type::HASH_OF_MAPS].contains(&map.kind) && map.slots.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::link_shipped;
    use rota_machine::kernel::Kernel;
    use rota_sim::Policy;

    #[test]
    fn policies_that_ship_expect_nothing_of_a_loader() {
        for policy in rota_catalog::policies() {
            let linked = link_shipped(policy, &Kernel::default()).expect("links");
            assert_eq!(of(linked.image(), 64), None, "{}", policy.name);
        }
    }

    #[test]
    fn unset_counts_and_empty_arrays_and_maps_are_named() {
        let source = r#"
            #define SEC(name) __attribute__((section(name), used))
            const volatile unsigned int nr_cpu_ids;
            const volatile unsigned int nr_cpus = 1;
            const volatile unsigned int nr_llcs = 1;
            unsigned long started_at[1] SEC(".data.started_at");
            struct { int (*type)[2]; unsigned int *key; unsigned int *value; } pairs SEC(".maps");
            SEC("struct_ops/init") int start(void)
            { started_at[0] = nr_cpu_ids + nr_cpus + nr_llcs; return *(volatile int *)&pairs; }
            struct sched_ext_ops { int (*init)(void); char name[128]; };
            SEC(".struct_ops.link") struct sched_ext_ops ops = { .init = start, .name = "x" };
            char _license[] SEC("license") = "GPL";
        "#;
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("x.bpf.c");
        std::fs::write(&file, source).expect("written");
        let object = rota_catalog::compile(&file, &[], &[]).expect("compiles");

        let policy = Policy::link("x.bpf.o", &object, &Kernel::default()).expect("links");

        let expected = "x.bpf.o expects its loader to set nr_cpus, nr_cpu_ids, and to resize \
                        started_at, and to size pairs; see --manifest in docs/third-party.md";
        assert_eq!(of(policy.image(), 4).as_deref(), Some(expected));
    }
}
