// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine of a point: named, described by options, or with other values for keys of its file.

use crate::axis::Axis;
use crate::file::{machine_from, RunTable, Sweep};
use crate::value::Value;
use rota_machine_file::Machine;
use rota_session::simulation::CPUS;
use rota_session::{machine::FLAT, values, Ask, Error, Load, MachineOptions, Session};

/// Axes that are options, not keys of machine files.
const OPTIONS: [&str; 5] = ["machine", "cpus", "topology", "hz", "ideal"];

/// Has the machine of `ask` the values of a point.
pub(crate) fn apply(
    sweep: &Sweep,
    session: &Session,
    load: &Load,
    machine: &[Value],
    ask: &mut Ask,
) -> Result<(), Error> {
    let given = || sweep.machine.iter().zip(machine);
    for (axis, value) in given() {
        option(sweep, axis, value, ask)?;
    }
    let keys: Vec<(&Axis, &Value)> =
        given().filter(|(axis, _)| !OPTIONS.contains(&axis.name.as_str())).collect();
    let Some((first, _)) = keys.first() else { return Ok(()) };
    let at = |error| located(sweep, error);
    let own = session.own_machine(load).map_err(at)?.map(|(name, _)| name);
    let named = ask.machine.machine.clone().or(own.filter(|_| ask.cpus.is_none()));
    let base = match &named {
        Some(name) => session.machine(name).map_err(at)?,
        // Options say what a machine is like that nobody named.
        None => {
            let cpus = ask.cpus.take().unwrap_or(CPUS);
            let topology = session.topology(&ask.machine, cpus).map_err(at)?;
            ask.machine.topology = None;
            Machine { topology, ..session.machine(FLAT)? }
        }
    };
    let failed = |axis: &Axis, what: &str| sweep.error(axis.line, format!("[machine] {what}"));
    let parsed = base.to_toml().parse();
    let mut table: toml::Table = parsed.map_err(|e| failed(first, &format!("{e}")))?;
    let mut name = named.unwrap_or_else(|| format!("{FLAT} of {} CPUs", base.topology.cpus()));
    for (axis, value) in &keys {
        put(&mut table, &axis.name, value).map_err(|what| failed(axis, &what))?;
        name = format!("{name} {}={value}", axis.name);
    }
    let last = keys.last().map_or(*first, |(axis, _)| *axis);
    let changed = rota_machine_file::parse(&name, &table.to_string())
        .map_err(|error| failed(last, &format!("of {name}: {}", error.what)))?;
    let options: &mut MachineOptions = &mut ask.machine;
    options.machine = Some(session.know(&name, changed));
    Ok(())
}

/// Says where in the file a machine is described that cannot be.
pub(crate) fn located(sweep: &Sweep, error: Error) -> Error {
    let Error::Input(what) = error else { return error };
    let option = |name: &&str| sweep.machine.iter().find(|axis| axis.name == **name);
    match OPTIONS.iter().find_map(option).or(sweep.machine.first()) {
        Some(axis) => sweep.error(axis.line, format!("[machine] {what}")),
        None if sweep.run != RunTable::default() => {
            Error::input(format!("{}: [run] {what}", sweep.file.display()))
        }
        None => Error::Input(what),
    }
}

fn option(sweep: &Sweep, axis: &Axis, value: &Value, ask: &mut Ask) -> Result<(), Error> {
    let refuse = |why: &str| {
        let name = &axis.name;
        sweep.error(axis.line, format!("[machine] {name} = {value}: {why}"))
    };
    let text = value.to_string();
    match axis.name.as_str() {
        "machine" => ask.machine.machine = Some(machine_from(&sweep.file, &text)),
        "cpus" => ask.cpus = Some(values::cpus(&text).map_err(|why| refuse(&why))?),
        "topology" => ask.machine.topology = Some(text),
        "hz" => ask.machine.hz = Some(values::hz(&text).map_err(|why| refuse(&why))?),
        "ideal" => {
            let flag = text.parse();
            ask.machine.ideal = flag.map_err(|_| refuse("expected true or false"))?;
        }
        _ => {}
    }
    Ok(())
}

/// Sets a key by its path. Tables that are not there are made: a machine file's reader knows which
/// there can be.
fn put(table: &mut toml::Table, path: &str, value: &Value) -> Result<(), String> {
    let empty = || toml::Value::Table(toml::Table::new());
    let (above, last) = path.rsplit_once('.').map_or((None, path), |(a, b)| (Some(a), b));
    let mut place: Option<&mut toml::Value> = None;
    for part in above.into_iter().flat_map(|path| path.split('.')) {
        place = match place {
            None => Some(table.entry(part).or_insert_with(empty)),
            Some(toml::Value::Table(inner)) => Some(inner.entry(part).or_insert_with(empty)),
            Some(toml::Value::Array(items)) => {
                let count = items.len();
                let found = part.parse::<usize>().ok().and_then(|at| items.get_mut(at));
                let expected = || format!("{path}: {part}: expected a number below {count}");
                Some(found.ok_or_else(expected)?)
            }
            Some(_) => return Err(format!("{path}: {part} is in no table")),
        };
    }
    match place {
        None => drop(table.insert(last.to_owned(), value.toml())),
        Some(toml::Value::Table(inner)) => drop(inner.insert(last.to_owned(), value.toml())),
        Some(_) => return Err(format!("{path}: expected a key of a table")),
    }
    Ok(())
}
