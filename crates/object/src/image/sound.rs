// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether an image that was read back holds together, as one that was linked does.

use super::{FuncId, Image, MapDef, MapId, OpsField, Symbol};

impl Image {
    /// Whether everything that it refers to is there; what is not.
    ///
    /// # Errors
    /// The first part that refers to nothing.
    pub fn check(&self) -> Result<(), String> {
        let slots = self.code.len();
        let all = self.functions.iter();
        for f in all {
            let end = u64::from(f.start) + u64::from(f.len);
            if f.len == 0 || end > slots as u64 {
                return Err(format!("function {} ends at {end} of {slots} instructions", f.name));
            }
        }
        if !self.functions.windows(2).all(|pair| pair[0].start + pair[0].len <= pair[1].start) {
            return Err("functions are not one after the other".into());
        }
        for (slot, symbol) in &self.symbols {
            let sound = (*slot as usize) < slots && self.has(symbol);
            if !sound {
                return Err(format!("instruction {slot} refers to {symbol:?}, which is not there"));
            }
        }
        if !self.lines.is_sorted_by_key(|line| line.slot) {
            return Err("source lines are in no order".into());
        }
        self.maps.iter().try_for_each(|map| self.check_map(map))?;
        for table in &self.struct_ops {
            for (member, field) in &table.fields {
                if matches!(field, OpsField::Func(func) if !self.has_function(*func)) {
                    return Err(format!("{}.{member} is a function that is not there", table.name));
                }
            }
        }
        for variable in &self.variables {
            let map = self.maps.get(variable.map.0 as usize);
            let end = u64::from(variable.offset) + u64::from(variable.size);
            let room = map.map(|map| u64::from(map.value_size).max(initial(map)));
            if room.is_none_or(|room| end > room) {
                return Err(format!("variable {} is not within its map", variable.name));
            }
        }
        Ok(())
    }

    fn check_map(&self, map: &MapDef) -> Result<(), String> {
        let slots = map.slots.iter().all(|(_, inner)| self.has_map(*inner));
        let programs = map.programs.iter().all(|(_, func)| self.has_function(*func));
        if !slots || !programs {
            return Err(format!("map {} holds something that is not there", map.name));
        }
        match &map.inner {
            Some(inner) if inner.inner.is_some() => {
                Err(format!("map {} holds maps of maps", map.name))
            }
            Some(inner) => self.check_map(inner),
            None => Ok(()),
        }
    }

    fn has(&self, symbol: &Symbol) -> bool {
        match symbol {
            Symbol::Map(map) | Symbol::MapValue(map, _) => self.has_map(*map),
            Symbol::Func(func) => self.has_function(*func),
            Symbol::Kfunc(kfunc) => (*kfunc as usize) < self.kfuncs.len(),
            Symbol::Ksym(ksym) => (*ksym as usize) < self.ksyms.len(),
            Symbol::MissingKfunc(_) | Symbol::Value(_) | Symbol::Poison(_) => true,
        }
    }

    fn has_map(&self, map: MapId) -> bool {
        (map.0 as usize) < self.maps.len()
    }

    fn has_function(&self, func: FuncId) -> bool {
        (func.0 as usize) < self.functions.len()
    }
}

fn initial(map: &MapDef) -> u64 {
    map.initial.as_ref().map_or(0, |bytes| bytes.len() as u64)
}
