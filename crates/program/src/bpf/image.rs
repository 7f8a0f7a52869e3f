// SPDX-License-Identifier: MIT OR Apache-2.0
//! The image that the machine runs, of what was loaded.

mod code;
mod group;
mod maps;
mod types;

use super::objects::{ObjectId, Program};
use super::played::{InMachine, Played};
use super::struct_ops::is_scheduler;
use super::table::Table;
use super::uapi::prog;
use super::Caller;
use rota_object::btf::{Btf, Type};
use rota_object::image::{FuncId, Image, MapDef, OpsField, StructOps, Variable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Why what a program has loaded cannot run in the machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// There is no callback.
    #[error("the program has loaded no callbacks of sched_ext")]
    NoScheduler,
    /// It has code without types.
    #[error("the callbacks carry no types (BTF): compile with -g")]
    NoTypes,
    /// A program's code refers to something that is not there.
    #[error("{program} at instruction {slot}: {what}")]
    Code {
        /// The program.
        program: String,
        /// Slot in it.
        slot: usize,
        /// What it refers to.
        what: String,
    },
    /// A map cannot be had.
    #[error("map {map}: {what}")]
    Map {
        /// The map.
        map: String,
        /// Why.
        what: String,
    },
}

/// Which bytes of a map the program maps.
#[derive(Clone, Copy, Debug)]
pub(super) enum MapBytes {
    /// So many from the first on.
    Array(u32),
    /// Pages that come and go.
    Arena,
    /// Records of so many bytes.
    Ring(u32),
    /// The same, from user space.
    UserRing(u32),
}

impl Played {
    /// What was loaded, as the machine runs it. Contents of maps come after that, by
    /// [`Played::fill`].
    ///
    /// # Errors
    /// If code or maps are of a kind that the machine does not have.
    pub fn image(&mut self, caller: &dyn Caller) -> Result<Image, ImageError> {
        self.find_arenas(caller);
        let programs = self.scheduler_programs()?;
        let used_maps = self.used_maps(&programs);
        let types = self.types_of(&programs, &used_maps)?;
        let (maps, defs) = self.map_defs(&used_maps, &types, caller)?;
        let code = self.code(&programs, &types, &maps)?;
        let mut machine = InMachine { maps, programs: code.programs.clone(), ..Default::default() };
        let struct_ops = self.tables(&programs, &machine);
        let variables = variables(&types.btf, &defs);
        let license = programs.first().map_or("", |(_, program)| program.license.as_str());
        let image = Image {
            name: struct_ops.first().map_or("program", |table| table.name.as_str()).to_owned(),
            license: license.to_owned(),
            code: code.code,
            symbols: code.symbols,
            functions: code.functions,
            lines: code.lines,
            maps: defs,
            struct_ops,
            kfuncs: code.kfuncs,
            ksyms: code.ksyms,
            untold_types: Vec::new(),
            // libbpf has relocated the code, and nothing tells any more which fields it reads: the
            // machine keeps all that it keeps only for schedulers that read it
            // (`System::attend_to`)
            kernel_fields: BTreeSet::from(["task_struct.sched_info".to_owned()]),
            variables,
            btf: types.btf,
            kernel_btf: Arc::clone(&self.btf),
        };
        machine.filled = false;
        let before = self.in_machine.replace(machine);
        self.former.extend(before.into_iter().flat_map(|before| before.maps.into_keys()));
        self.wanted = None;
        Ok(image)
    }

    /// Tables as they are registered. One that is not yet, because a program is run before, is what
    /// its callbacks say when they are loaded; the machine gets the true one when it is attached.
    fn tables(&self, programs: &[(ObjectId, &Program)], machine: &InMachine) -> Vec<StructOps> {
        let values = self.objects.maps().filter(|(id, map)| {
            let table =
                self.table_type(map.kernel_type).map_or("", |(table, _)| self.btf.name(table));
            !is_scheduler(table) || self.table.is_none_or(|table| table == *id)
        });
        let mut tables: Vec<StructOps> =
            values.filter_map(|(id, _)| self.ops(id, machine)).collect();
        if tables.iter().any(|table| is_scheduler(&table.type_name)) {
            return tables;
        }
        let mut table: Option<StructOps> = None;
        for (id, program) in programs.iter().filter(|(_, p)| p.kind == prog::STRUCT_OPS) {
            let type_name = self.btf.name(program.target);
            let Type::Struct(ty) = self.btf.get(program.target) else { continue };
            let member = ty.member(program.attach_type as usize).map_or("", |member| member.name);
            if !is_scheduler(type_name) {
                continue;
            }
            let table = table.get_or_insert_with(|| StructOps {
                name: type_name.to_owned(),
                type_name: type_name.to_owned(),
                fields: BTreeMap::new(),
                tags: Vec::new(),
            });
            if let Some(func) = machine.programs.get(id).filter(|_| table.type_name == type_name) {
                table.fields.entry(member.to_owned()).or_insert(OpsField::Func(*func));
            }
        }
        tables.extend(table);
        tables
    }

    /// The function of a program in the image that was made last.
    pub fn function_of(&self, program: ObjectId) -> Option<FuncId> {
        self.in_machine.as_ref()?.programs.get(&program).copied()
    }
}

/// Variables of the maps that hold global data.
fn variables(btf: &Btf, maps: &[MapDef]) -> Vec<Variable> {
    let mut all = Vec::new();
    for (id, map) in (0u32..).zip(maps) {
        let Some(Type::Datasec(section)) = map.value_type.map(|ty| btf.get(ty)) else { continue };
        for var in section.vars() {
            let Type::Var(name, ty, _) = btf.get(var.ty) else { continue };
            all.push(Variable {
                name: name.to_owned(),
                map: rota_object::image::MapId(id),
                offset: var.offset,
                size: var.size,
                ty,
                tags: btf.decl_tags(var.ty, None).into_iter().map(String::from).collect(),
            });
        }
    }
    all
}
