// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the object expects from the kernel: functions, variables, configuration.

use super::maps::Maps;
use super::object::{ElfSymbol, Object};
use super::Kernel;
use crate::btf::{essential_name, Btf, Kind, Type, TypeId};
use crate::error::Problem;
use crate::image::{map_type, MapDef, MapId, Symbol};
use std::collections::BTreeMap;

/// Section names that BTF gives externs.
pub(super) const KCONFIG: &str = ".kconfig";
const KSYMS: &str = ".ksyms";
/// Longest configuration string.
const MAX_CONFIG: u32 = 4096;

/// An extern as BTF declares it.
enum Declared {
    /// With so many arguments.
    Function(u8),
    Variable,
    /// Offset in the `.kconfig` map.
    Config(u64),
}

/// Resolver of externs.
pub(super) struct Externs<'a> {
    kernel: &'a dyn Kernel,
    declared: BTreeMap<String, Declared>,
    config: Option<MapId>,
    pub(super) kfuncs: Vec<String>,
    pub(super) ksyms: Vec<String>,
}

impl<'a> Externs<'a> {
    /// Finds the declarations and lays out `.kconfig`.
    pub(super) fn collect(
        object: &Object,
        kernel: &'a dyn Kernel,
        maps: &mut Maps,
    ) -> Result<Externs<'a>, Problem> {
        let btf = &object.btf;
        let mut declared = BTreeMap::new();
        let sec = btf.find(Kind::Datasec, KSYMS).map(|id| btf.get(id));
        if let Some(Type::Datasec(sec)) = sec {
            for var in sec.vars() {
                let what = match btf.kind(var.ty) {
                    Kind::Func => Declared::Function(arguments(btf, var.ty)),
                    _ => Declared::Variable,
                };
                declared.insert(btf.name(var.ty).to_string(), what);
            }
        }
        let config = add_kconfig(object, kernel, maps, &mut declared)?;
        Ok(Externs { kernel, declared, config, kfuncs: Vec::new(), ksyms: Vec::new() })
    }

    /// What a `call` of an undefined symbol calls.
    pub(super) fn call(&mut self, symbol: &ElfSymbol) -> Result<Symbol, Problem> {
        let arguments = match self.declared.get(&symbol.name) {
            Some(Declared::Function(arguments)) => *arguments,
            Some(_) => {
                let what = format!("call of '{}', which is a variable", symbol.name);
                return Err(Problem::Relocation(what));
            }
            None => return Err(undeclared(symbol)),
        };
        let name = essential_name(&symbol.name);
        Ok(match self.has(name, arguments, symbol.weak)? {
            true => Symbol::Kfunc(index_of(&mut self.kfuncs, name)),
            false => Symbol::MissingKfunc(name.to_string()),
        })
    }

    /// Whether the kernel has this function. One with other arguments is another one, as libbpf
    /// has it: the object does without it if it can.
    fn has(&self, name: &str, arguments: u8, weak: bool) -> Result<bool, Problem> {
        let taken = match self.kernel.kfunc(name) {
            Some(taken) if taken.contains(&arguments) => return Ok(true),
            _ if weak => return Ok(false),
            None => {
                let why = self.kernel.no_kfunc(name);
                return Err(missing(name, format!("{why}, {NEEDED}")));
            }
            Some(taken) => taken,
        };
        let (least, most) = taken.into_inner();
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let why = format!(
            "kernel function '{name}' takes {range} arguments, the object declares {arguments}"
        );
        Err(missing(name, why))
    }

    /// What an `lddw` of an undefined symbol loads; `addend` is the offset in it.
    pub(super) fn load(&mut self, symbol: &ElfSymbol, addend: u64) -> Result<Symbol, Problem> {
        let name = &symbol.name;
        match self.declared.get(name) {
            Some(Declared::Config(offset)) => match self.config {
                Some(map) => Ok(Symbol::MapValue(map, offset.wrapping_add(addend))),
                None => Err(undeclared(symbol)),
            },
            Some(Declared::Function(arguments)) => {
                let exists = self.has(essential_name(name), *arguments, symbol.weak)?;
                Ok(Symbol::Value(exists.into()))
            }
            Some(Declared::Variable) if self.kernel.has_ksym(name) => {
                if addend != 0 {
                    let what = format!("kernel variable '{name}': offset {addend} into it");
                    return Err(Problem::Relocation(what));
                }
                Ok(Symbol::Ksym(index_of(&mut self.ksyms, name)))
            }
            Some(Declared::Variable) if symbol.weak => Ok(Symbol::Value(0)),
            Some(Declared::Variable) => {
                Err(missing(name, format!("kernel variable '{name}' is unknown, {NEEDED}")))
            }
            None => Err(undeclared(symbol)),
        }
    }
}

/// How many arguments a function is declared with.
fn arguments(btf: &Btf, function: TypeId) -> u8 {
    let Type::Func(_, proto, _) = btf.get(function) else { return 0 };
    let Type::FuncProto(proto) = btf.get(proto) else { return 0 };
    u8::try_from(proto.params().count()).unwrap_or(u8::MAX)
}

/// Why an object that lacks something cannot do without.
const NEEDED: &str = "and the object needs it (it is not weak)";

fn missing(name: &str, why: String) -> Problem {
    Problem::Missing { name: name.to_owned(), place: None, why }
}

fn undeclared(symbol: &ElfSymbol) -> Problem {
    Problem::Relocation(format!(
        "undefined symbol '{}': BTF declares it neither in {KSYMS} nor in {KCONFIG}",
        symbol.name
    ))
}

fn index_of(list: &mut Vec<String>, name: &str) -> u32 {
    let at = list.iter().position(|n| n == name).unwrap_or_else(|| {
        list.push(name.to_string());
        list.len() - 1
    });
    at as u32
}

/// Makes the `.kconfig` map: one variable after another, largest first.
fn add_kconfig(
    object: &Object,
    kernel: &dyn Kernel,
    maps: &mut Maps,
    declared: &mut BTreeMap<String, Declared>,
) -> Result<Option<MapId>, Problem> {
    let btf = &object.btf;
    let sec = btf.find(Kind::Datasec, KCONFIG).map(|id| btf.get(id));
    let Some(Type::Datasec(sec)) = sec else { return Ok(None) };
    let mut wanted = Vec::new();
    for var in sec.vars() {
        let Type::Var(name, ty, _) = btf.get(var.ty) else { continue };
        let Some(size) = btf.size_of(ty).filter(|s| *s <= MAX_CONFIG) else {
            let what =
                format!("extern '{name}': {} is not the type of an option", btf.type_name(ty));
            return Err(Problem::Maps(what));
        };
        wanted.push((size, name, ty));
    }
    wanted.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut initial = Vec::new();
    let mut offsets = BTreeMap::new();
    for (size, name, ty) in wanted {
        let weak = object.symbols.iter().any(|s| s.name == name && s.section.is_none() && s.weak);
        let value = config_value(btf, kernel, name, ty, size, weak)?;
        // Strings have no power-of-two size, what follows them is realigned.
        let align = size.next_power_of_two().min(8) as usize;
        initial.resize(initial.len().next_multiple_of(align), 0);
        let offset = initial.len();
        initial.extend_from_slice(&value.to_le_bytes()[..size.min(8) as usize]);
        initial.resize(offset + size as usize, 0);
        declared.insert(name.to_string(), Declared::Config(offset as u64));
        offsets.insert(name.to_string(), offset as u32);
    }
    let def = MapDef {
        name: KCONFIG.to_string(),
        kind: map_type::ARRAY,
        key_size: 4,
        value_size: initial.len() as u32,
        max_entries: 1,
        initial: Some(initial.into()),
        read_only: true,
        ..MapDef::default()
    };
    Ok(Some(maps.set_kconfig(def, offsets)))
}

/// Value of one configuration variable.
fn config_value(
    btf: &Btf,
    kernel: &dyn Kernel,
    name: &str,
    ty: TypeId,
    size: u32,
    weak: bool,
) -> Result<u64, Problem> {
    let value = match name {
        "LINUX_KERNEL_VERSION" => Some(u64::from(kernel.kernel_version())),
        // What current kernels on x86-64 have.
        "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER" => Some(1),
        _ => kernel.kconfig(name),
    };
    let scalar = matches!(btf.kind(btf.resolve(ty)), Kind::Int | Kind::Enum | Kind::Enum64);
    match value {
        Some(value) if scalar && (size >= 8 || value >> (size * 8) == 0) => Ok(value),
        Some(value) => {
            let ty = btf.type_name(ty);
            Err(Problem::Maps(format!("extern '{name}': value {value} does not fit {ty}")))
        }
        None if weak => Ok(0),
        None => Err(missing(name, format!("configuration value '{name}' is unknown, {NEEDED}"))),
    }
}
