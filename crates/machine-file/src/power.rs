// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power of cores in a machine file: as numbers, or as what a devicetree has.

use crate::document::PowerTable;
use crate::error::MachineError;
use crate::read::Read;
use toml::Spanned;

/// Microvolts of a volt.
const UV: u128 = 1_000_000;

/// Microwatts of a busy core at each operating point, or at its one frequency.
pub(crate) fn power_uw(
    read: &Read<'_>,
    table: &Spanned<PowerTable>,
    opps_mhz: &[u32],
    max_mhz: u32,
) -> Result<Vec<u32>, MachineError> {
    let PowerTable { microwatts, coefficient_uw, microvolts } = table.get_ref();
    let one = [max_mhz];
    let points = if opps_mhz.is_empty() { &one[..] } else { opps_mhz };
    let each = |given: &Spanned<Vec<u32>>| match given.get_ref().len() == points.len() {
        true => Ok(()),
        false => Err(read.refuse(given, &format!("a value for each of {points:?} MHz"))),
    };
    match (microwatts, coefficient_uw, microvolts) {
        (Some(given), None, None) => {
            each(given)?;
            match given.get_ref().is_sorted() && given.get_ref().first() != Some(&0) {
                true => Ok(given.get_ref().clone()),
                false => Err(read.refuse(given, "1 or more, and no less at higher frequencies")),
            }
        }
        (None, Some(coefficient), Some(given)) => {
            each(given)?;
            let known = points.iter().zip(given.get_ref());
            known.map(|(mhz, uv)| dynamic_uw(read, coefficient, *mhz, *uv)).collect()
        }
        _ => Err(read.refuse(table, "microwatts, or both coefficient_uw and microvolts")),
    }
}

/// `C * f * V²`, as the kernel reckons it from a devicetree (`_get_power()` in `drivers/opp/of.c`).
fn dynamic_uw(
    read: &Read<'_>,
    coefficient: &Spanned<u32>,
    mhz: u32,
    uv: u32,
) -> Result<u32, MachineError> {
    let volts_squared = u128::from(uv) * u128::from(uv);
    let uw = u128::from(*coefficient.get_ref()) * u128::from(mhz) * volts_squared / (UV * UV);
    match u32::try_from(uw) {
        Ok(uw @ 1..) => Ok(uw),
        _ => Err(read.refuse(coefficient, &format!("1 uW to 4 kW at {mhz} MHz and {uv} uV"))),
    }
}
