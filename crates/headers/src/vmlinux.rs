// SPDX-License-Identifier: MIT OR Apache-2.0
//! `vmlinux.h`: all types of a kernel, and the functions that BPF programs may call.

use crate::align::Aligns;
use crate::names::Names;
use crate::spell::Speller;
use crate::structs;
use rota_object::btf::{Btf, Enum, Kind, Type, TypeId};
use std::collections::HashSet;
use std::fmt::Write as _;

const HEAD: &str = "\
/* Made from the types of a kernel. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#pragma clang diagnostic push
#pragma clang diagnostic ignored \"-Wmissing-declarations\"
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif
";
const BETWEEN: &str = "
#ifndef BPF_NO_KFUNC_PROTOTYPES
#ifndef __ksym
#define __ksym __attribute__((section(\".ksyms\")))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
";
const TAIL: &str = "#endif

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif
#pragma clang diagnostic pop
#endif
";
/// The last parameter of some functions, which the verifier fills in.
const IMPLICIT: &str = "bpf_prog_aux";

/// The header of a kernel's types. `is_kfunc` tells the functions that programs may call.
pub fn vmlinux(btf: &Btf, is_kfunc: &dyn Fn(&str) -> bool) -> String {
    let mut names = Names::new(btf);
    let mut text = String::from(HEAD);
    for id in btf.ids() {
        if let Type::Enum(e) = btf.get(id) {
            enumeration(&mut text, &mut names, id, e);
        }
    }
    supplement(&mut text, &mut names, btf);
    // As functions share their namespace with typedefs and enumerators, no name can be wrong below.
    text.push('\n');
    for id in btf.ids() {
        let keyword = match btf.get(id) {
            Type::Struct(c) if !c.name.is_empty() => "struct",
            Type::Union(c) if !c.name.is_empty() => "union",
            Type::Fwd(_, is_union) if !has_type(btf, id) => {
                ["struct", "union"][usize::from(is_union)]
            }
            _ => continue,
        };
        let _ = writeln!(text, "{keyword} {};", names.of(id));
    }
    let aligns = Aligns::new(btf);
    let speller = Speller { btf, names: &names, aligns: &aligns };
    let mut writer = Writer { speller, text, done: HashSet::new() };
    for id in btf.ids() {
        writer.whole(id);
    }
    let mut text = writer.text;
    text.push_str(BETWEEN);
    for id in btf.ids() {
        prototype(&mut text, &speller, id, is_kfunc);
    }
    text.push_str(TAIL);
    text
}

/// Constants of the kernel's ABI that BPF sources use, and that types may lack: nothing in a kernel
/// is of the types of their enums.
const CONSTANTS: [(&str, u32); 17] = [
    ("BPF_LOCAL_STORAGE_GET_F_CREATE", 1),
    ("BPF_SK_STORAGE_GET_F_CREATE", 1),
    ("BPF_RB_NO_WAKEUP", 1),
    ("BPF_RB_FORCE_WAKEUP", 2),
    ("BPF_RB_AVAIL_DATA", 0),
    ("BPF_RB_RING_SIZE", 1),
    ("BPF_RB_CONS_POS", 2),
    ("BPF_RB_PROD_POS", 3),
    ("BPF_RINGBUF_BUSY_BIT", 1 << 31),
    ("BPF_RINGBUF_DISCARD_BIT", 1 << 30),
    ("BPF_RINGBUF_HDR_SZ", 8),
    ("BPF_TASK_ITER_ALL_PROCS", 0),
    ("BPF_TASK_ITER_ALL_THREADS", 1),
    ("BPF_TASK_ITER_PROC_THREADS", 2),
    ("BTF_F_COMPACT", 1),
    ("BPF_MAX_LOOPS", 8 << 20),
    ("__PAGE_SIZE", 4096),
];
/// The same of structs.
const PERF_VALUE: &str = "\nstruct bpf_perf_event_value {\n\tunsigned long long counter;\n\t\
     unsigned long long enabled;\n\tunsigned long long running;\n};\n";

fn supplement(text: &mut String, names: &mut Names, btf: &Btf) {
    let absent = CONSTANTS.iter().filter(|(name, _)| btf.enum_value(name).is_none());
    text.push_str("\nenum {\n\t__nothing,\n");
    for (name, value) in absent {
        let _ = writeln!(text, "\t{} = {value}U,", names.ordinary(name));
    }
    text.push_str("};\n");
    if btf.find_struct("bpf_perf_event_value").is_none() {
        text.push_str(PERF_VALUE);
    }
}

fn has_type(btf: &Btf, forward: TypeId) -> bool {
    let name = btf.name(forward);
    btf.find(Kind::Struct, name).or_else(|| btf.find(Kind::Union, name)).is_some()
}

fn enumeration(text: &mut String, names: &mut Names, id: TypeId, e: Enum<'_>) {
    let tag = names.of(id).to_owned();
    if e.is_empty() {
        // Only its name is known.
        let _ = writeln!(text, "enum {tag} {{ {} }};", names.ordinary(&format!("__{tag}_none")));
        return;
    }
    let _ = writeln!(text, "\nenum {tag}{}{{", if tag.is_empty() { "" } else { " " });
    for value in e.values() {
        let name = names.ordinary(value.name);
        let _ = match (e.signed, e.size > 4) {
            (true, false) => writeln!(text, "\t{name} = {},", value.value as i64),
            (true, true) if value.value == 1 << 63 => {
                writeln!(text, "\t{name} = (-{}LL - 1),", i64::MAX)
            }
            (true, true) => writeln!(text, "\t{name} = {}LL,", value.value as i64),
            (false, false) => writeln!(text, "\t{name} = {},", value.value),
            (false, true) => writeln!(text, "\t{name} = {}ULL,", value.value),
        };
    }
    let is_wide = |v: u64| {
        v > u64::from(u32::MAX) && (v as i64) < i64::from(i32::MIN)
            || v as i64 > i64::from(u32::MAX)
    };
    let mode = match e.size {
        1 => " __attribute__((mode(byte)))",
        2 => " __attribute__((mode(HI)))",
        8 if !e.values().any(|v| is_wide(v.value)) => " __attribute__((mode(word)))",
        _ => "",
    };
    let _ = writeln!(text, "}}{mode};");
}

/// Writes types so that each comes after those that it holds.
struct Writer<'a> {
    speller: Speller<'a>,
    text: String,
    done: HashSet<TypeId>,
}

impl Writer<'_> {
    /// A type, and all of which it needs the size.
    fn whole(&mut self, id: TypeId) {
        let btf = self.speller.btf;
        match btf.get(id) {
            Type::Struct(c) | Type::Union(c) => {
                if !self.done.insert(id) {
                    return;
                }
                c.members().for_each(|member| self.whole_or_name(member.ty));
                if !c.name.is_empty() {
                    let body = structs::body(&self.speller, id, 0);
                    let _ = writeln!(self.text, "\n{body};");
                }
            }
            Type::Typedef(_, to) => {
                self.name(id);
                self.whole_or_name(to);
            }
            Type::Array(a) => self.whole_or_name(a.elem),
            Type::Const(to) | Type::Volatile(to) | Type::Restrict(to) | Type::TypeTag(_, to) => {
                self.whole_or_name(to);
            }
            _ => {}
        }
    }

    /// What a member, an element or a typedef needs of its type.
    fn whole_or_name(&mut self, id: TypeId) {
        match self.speller.btf.get(id) {
            Type::Ptr(to) => self.name(to),
            Type::FuncProto(_) => self.name(id),
            _ => self.whole(id),
        }
    }

    /// What a pointer needs of its target: only the names in it.
    fn name(&mut self, id: TypeId) {
        let btf = self.speller.btf;
        match btf.get(id) {
            Type::Typedef(name, to) => {
                if !self.done.insert(id) {
                    return;
                }
                match btf.get(to) {
                    Type::Struct(c) | Type::Union(c) if c.name.is_empty() => self.whole(to),
                    Type::Array(_) => self.whole(to),
                    _ => self.name(to),
                }
                // The compiler has this one, and knows of its own what it is.
                if name != "__builtin_va_list" {
                    let declared = self.speller.declare(to, self.speller.names.of(id), 0);
                    let _ = writeln!(self.text, "\ntypedef {declared};");
                }
            }
            Type::Struct(c) | Type::Union(c) if c.name.is_empty() => self.whole(id),
            Type::Array(a) => self.whole_or_name(a.elem),
            Type::Ptr(to)
            | Type::Const(to)
            | Type::Volatile(to)
            | Type::Restrict(to)
            | Type::TypeTag(_, to) => self.name(to),
            Type::FuncProto(proto) => {
                self.name(proto.ret);
                proto.params().for_each(|param| self.name(param.ty));
            }
            _ => {}
        }
    }
}

fn prototype(
    text: &mut String,
    speller: &Speller<'_>,
    id: TypeId,
    is_kfunc: &dyn Fn(&str) -> bool,
) {
    let btf = speller.btf;
    let Type::Func(name, proto, _) = btf.get(id) else { return };
    let (Type::FuncProto(proto), true) = (btf.get(proto), is_kfunc(name)) else { return };
    let is_implicit = |ty: TypeId| match btf.resolved(ty) {
        Type::Ptr(to) => btf.name(btf.resolve(to)) == IMPLICIT,
        _ => false,
    };
    let params = speller.params(proto, 0, |param| !is_implicit(param.ty));
    let declared = speller.declare(proto.ret, &format!("{name}({params})"), 0);
    let _ = writeln!(text, "extern {declared} __weak __ksym;");
}
