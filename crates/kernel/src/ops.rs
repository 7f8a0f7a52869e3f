// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ops table: what the image says it holds becomes what libbpf will register.

use rota_object::btf::{Kind, Type, TypeId};
use rota_object::image::{Image, OpsField, StructOps};

/// Members of the ops table that depend on the moment and on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Adjust {
    /// Schedule only tasks that ask for it (`SCHED_EXT`).
    pub(crate) partial: bool,
    /// Bytes of the debug dump; 0 leaves it to the kernel.
    pub(crate) exit_dump_len: u32,
    /// CPUs that came and went until now; the kernel refuses the table if it is not so any
    /// more.
    pub(crate) hotplug_seq: Option<u64>,
}

/// The variable that is the scheduler, if the object is one.
pub(crate) fn table(image: &Image) -> Option<&StructOps> {
    let is_ops =
        |s: &&StructOps| matches!(s.type_name.as_str(), "sched_ext_ops" | "sched_ext_ops_cid");
    image.struct_ops.iter().find(is_ops)
}

/// The name under which the kernel knows the scheduler.
pub(crate) fn scheduler_name(image: &Image) -> &str {
    match table(image).and_then(|t| t.fields.get("name")) {
        Some(OpsField::Str(name)) => name,
        _ => "",
    }
}

/// Sets members by name, where both the object and the kernel know them. Says what
/// cannot be done.
pub(crate) fn adjust(image: &mut Image, adjust: Adjust) -> Result<(), String> {
    let Some(at) = table(image).map(|t| t.name.clone()) else {
        return Err(
            "no variable of type struct sched_ext_ops: this object is not a scheduler".into()
        );
    };
    drop_cgroups(image);
    if adjust.partial {
        let Some(flag) = image.kernel_btf.enum_value("SCX_OPS_SWITCH_PARTIAL") else {
            return Err("the kernel has no SCX_OPS_SWITCH_PARTIAL, which --partial needs".into());
        };
        let flags = int(image, &at, "flags") | flag;
        set(image, &at, "flags", flags);
    }
    if adjust.exit_dump_len > 0 && !set(image, &at, "exit_dump_len", adjust.exit_dump_len.into()) {
        return Err("its ops table has no exit_dump_len".into());
    }
    if let Some(seq) = adjust.hotplug_seq {
        // An object or a kernel without it just misses the check.
        set(image, &at, "hotplug_seq", seq);
    }
    Ok(())
}

/// Callbacks of cgroups are there only with `CONFIG_EXT_GROUP_SCHED`. A kernel without it has no
/// weights of groups to tell, so a policy that asks for them does without.
fn drop_cgroups(image: &mut Image) {
    let btf = &image.kernel_btf;
    for table in &mut image.struct_ops {
        let Some(ty) = btf.find_struct(&table.type_name) else { continue };
        let knows = |member: &str| btf.field_at(ty, member).is_ok();
        table.fields.retain(|member, _| !member.starts_with("cgroup_") || knows(member));
    }
}

/// An integer member.
pub(crate) fn int(image: &Image, table: &str, member: &str) -> u64 {
    let table = image.struct_ops.iter().find(|t| t.name == table);
    match table.and_then(|t| t.fields.get(member)) {
        Some(OpsField::Int(value)) => *value,
        _ => 0,
    }
}

fn set(image: &mut Image, table: &str, member: &str, value: u64) -> bool {
    let Some(own) = own_type(image, table) else { return false };
    let kernel = image.struct_ops.iter().find(|t| t.name == table);
    let kernel = kernel.and_then(|t| image.kernel_btf.find_struct(&t.type_name));
    let known = image.btf.field_at(own, member).is_ok()
        && kernel.is_some_and(|ty| image.kernel_btf.field_at(ty, member).is_ok());
    if known {
        let found = image.struct_ops.iter_mut().find(|t| t.name == table);
        found.map(|t| t.fields.insert(member.to_string(), OpsField::Int(value)));
    }
    known
}

/// Type of a struct_ops variable in the object's own BTF.
fn own_type(image: &Image, table: &str) -> Option<TypeId> {
    match image.btf.get(image.btf.find(Kind::Var, table)?) {
        Type::Var(_, ty, _) => Some(image.btf.resolve(ty)),
        _ => None,
    }
}

/// Writes a table of the image to `bytes`, libbpf's copy with the layout of the object's own
/// BTF. `program` gives the value for a function's name. Says which member does not fit.
pub(crate) fn write(
    image: &Image,
    table: &StructOps,
    bytes: &mut [u8],
    program: &dyn Fn(&str) -> Option<u64>,
) -> Result<(), String> {
    let unfit = |member: &str| format!("struct_ops variable {}: member {member}", table.name);
    let ty = own_type(image, &table.name).ok_or_else(|| unfit("types"))?;
    // The members that the image does not name are zero, among them removed callbacks.
    bytes.fill(0);
    for (member, value) in &table.fields {
        let field =
            image.btf.field_at(ty, member).map_err(|e| format!("{}: {e}", unfit(member)))?;
        let start = field.offset() as usize;
        let place = bytes.get_mut(start..start + field.size as usize);
        let place = place.ok_or_else(|| format!("{} lies outside the table", unfit(member)))?;
        let number = match value {
            OpsField::Int(value) => *value,
            OpsField::Func(id) => {
                let name = image.functions.get(id.0 as usize).map_or("", |f| f.name.as_str());
                program(name).ok_or_else(|| format!("{}: no program '{name}'", unfit(member)))?
            }
            OpsField::Str(text) if text.len() < place.len() => {
                place[..text.len()].copy_from_slice(text.as_bytes());
                continue;
            }
            OpsField::Str(text) => return Err(format!("{}: '{text}' is too long", unfit(member))),
        };
        if field.bits > 0 || place.len() > 8 {
            return Err(format!("{} is not a plain number", unfit(member)));
        }
        let width = place.len();
        place.copy_from_slice(&number.to_le_bytes()[..width]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::image;

    fn written(image: &Image, member: &str, len: usize) -> u64 {
        let table = table(image).expect("a table");
        let own = own_type(image, &table.name).expect("a type");
        let mut bytes = vec![0xff; image.btf.size_of(own).expect("a size") as usize];
        write(image, table, &mut bytes, &|_| Some(0x1234)).expect("fits");
        let field = image.btf.field_at(own, member).expect("a member");
        let start = field.offset() as usize;
        bytes[start..start + len].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
    }

    #[test]
    fn members_are_adjusted_by_name() {
        let mut image = image("wfq");
        let flags = written(&image, "flags", 8);
        let by = Adjust { partial: true, exit_dump_len: 4096, hotplug_seq: Some(77) };
        adjust(&mut image, by).expect("adjusts");

        assert_eq!(written(&image, "flags", 8), flags | 8, "SCX_OPS_SWITCH_PARTIAL");
        assert_eq!(written(&image, "exit_dump_len", 4), 4096);
        assert_eq!(written(&image, "hotplug_seq", 8), 77);
    }

    #[test]
    fn the_rest_of_the_table_is_as_the_object_says() {
        let image = image("wfq");
        assert_eq!(scheduler_name(&image), "wfq");
        assert_eq!(written(&image, "name", 4), u64::from(u32::from_le_bytes(*b"wfq\0")));
        assert_eq!(written(&image, "enqueue", 8), 0x1234);
        assert_eq!(written(&image, "cpu_online", 8), 0, "no such callback, no leftover");
    }

    #[test]
    fn a_callback_that_is_taken_away_is_null() {
        let mut image = image("wfq");
        image.set_ops("enqueue", "").expect("set");
        assert_eq!(written(&image, "enqueue", 8), 0);
    }

    #[test]
    fn callbacks_of_cgroups_are_left_out_where_the_kernel_has_none() {
        let mut image = image("cfs");
        let members = |image: &Image| -> Vec<String> {
            table(image).expect("a table").fields.keys().cloned().collect()
        };
        let all = members(&image);
        assert!(all.iter().any(|member| member == "cgroup_init"), "{all:?}");
        adjust(&mut image, Adjust::default()).expect("adjusts");
        assert_eq!(members(&image), all, "this kernel has them");

        // A type that has none of them stands for the table of a kernel without group scheduling.
        image.struct_ops[0].type_name = "scx_init_task_args".into();
        drop_cgroups(&mut image);
        let left: Vec<&String> =
            all.iter().filter(|member| !member.starts_with("cgroup_")).collect();
        assert_eq!(image.struct_ops[0].fields.keys().collect::<Vec<_>>(), left);
    }

    #[test]
    fn a_callback_without_a_program_is_an_error() {
        let image = image("wfq");
        let mut bytes = vec![0; 4096];
        let table = table(&image).expect("a table");
        let error = write(&image, table, &mut bytes, &|_| None).expect_err("no program");
        assert!(error.contains("no program 'share_"), "{error}");
    }

    #[test]
    fn an_object_without_a_table_is_no_scheduler() {
        let mut image = image("wfq");
        image.struct_ops.clear();
        let error = adjust(&mut image, Adjust::default()).expect_err("no table");
        assert!(error.contains("not a scheduler"), "{error}");
    }
}
