// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the bundles of each CPU are.

use super::messages::{Bundle, BundleHead, Packet};
use super::packets::{field, fields, Place, Visit};
use crate::error::Fault;
use crate::facts::MOST_CPUS;
use prost::Message;
use std::collections::BTreeMap;

/// Fields of a packet that [`Packet`] has.
const OTHERS: [u32; 3] = [2, 34, 45];
/// So many bundles are looked at for `common_flags`.
const LOOKED_AT: usize = 64;

/// What is found when all packets are seen once.
#[derive(Default)]
pub(super) struct Index {
    /// By CPU, in the order of the file.
    pub(super) cpus: BTreeMap<u32, Vec<Place>>,
    /// Packets without bundles.
    pub(super) packets: Vec<Packet>,
    pub(super) clock: &'static str,
    /// Events have `common_flags`: those without are in no interrupt.
    pub(super) tells_flags: bool,
}

impl Visit for Index {
    fn packet(&mut self, packet: &[u8], place: Place) -> Result<(), Fault> {
        let wrong = |what: String| Fault::byte(place.at, format!("a packet: {what}"));
        let (mut bundle, mut others) = (None, false);
        fields(packet, |number, body| {
            if number == field::FTRACE {
                bundle = Some(body);
            }
            others |= OTHERS.contains(&number);
        })
        .map_err(wrong)?;
        if others {
            let decoded = Packet::decode(packet).map_err(|error| wrong(error.to_string()))?;
            self.packets.push(decoded);
        }
        let Some(bundle) = bundle else { return Ok(()) };
        let head = head(bundle).map_err(wrong)?;
        if head.cpu >= MOST_CPUS {
            let cpu = head.cpu;
            return Err(wrong(format!("CPU {cpu}: expected fewer than {MOST_CPUS}")));
        }
        self.clock = match head.ftrace_clock {
            1 => "unknown",
            2 => "global",
            3 => "local",
            4 => "mono_raw",
            _ => "boot",
        };
        let seen: usize = self.cpus.values().map(Vec::len).sum();
        if !self.tells_flags && seen < LOOKED_AT {
            let bundle = Bundle::decode(bundle).map_err(|error| wrong(error.to_string()))?;
            self.tells_flags = bundle.event.iter().any(|event| event.common_flags.is_some());
        }
        self.cpus.entry(head.cpu).or_default().push(place);
        Ok(())
    }
}

/// The numbers of a bundle, without its events.
fn head(bundle: &[u8]) -> Result<BundleHead, String> {
    use prost::encoding::{decode_key, decode_varint, WireType};
    let mut head = BundleHead::default();
    let mut left = bundle;
    while !left.is_empty() {
        let key = decode_key(&mut left).map_err(|error| error.to_string())?;
        let skipped = match key {
            (number, WireType::Varint) => {
                let value = decode_varint(&mut left).map_err(|error| error.to_string())?;
                match number {
                    1 => head.cpu = u32::try_from(value).unwrap_or(u32::MAX),
                    5 => head.ftrace_clock = value as i32,
                    _ => {}
                }
                0
            }
            (_, WireType::SixtyFourBit) => 8,
            (_, WireType::ThirtyTwoBit) => 4,
            (_, WireType::LengthDelimited) => {
                decode_varint(&mut left).map_err(|error| error.to_string())?
            }
            (number, _) => return Err(format!("field {number} is a group: expected none")),
        };
        let skipped = usize::try_from(skipped).ok().filter(|len| *len <= left.len());
        left = &left[skipped.ok_or("a field is longer than its message")?..];
    }
    Ok(head)
}
