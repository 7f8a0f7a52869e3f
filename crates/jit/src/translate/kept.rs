// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to regions that are known as code is compiled: those of arrays and global data. A hint says
//! which one it probably is; whether the address is inside is asked of the address itself.

use super::memory::Place;
use super::registers::{context, field, SHIFT, WIDE, WINDOW};
use super::{short, Encoded, Translator};
use crate::context::Context;
use iced_x86::code_asm::registers::gpr64::rdi;
use rota_vm::engine::{Kept, Window};
use std::mem::{offset_of, size_of};

impl Translator<'_> {
    /// Where bytes are, if they may be in such a region; `limit` is the field of a window that says how
    /// many may be accessed.
    pub(super) fn place_in_kept(
        &mut self,
        bytes: u32,
        base: u8,
        offset: i32,
        limit: usize,
    ) -> Encoded<Option<Place>> {
        let Some(hint) = self.hint.of(base) else { return Ok(None) };
        let Some(kept) = self.kept(hint.region) else { return Ok(None) };
        let last = kept.bytes.checked_sub(bytes).and_then(|last| i32::try_from(last).ok());
        let allowed = limit == offset_of!(Window, loadable) || kept.storable;
        let register = WIDE.get(usize::from(base)).filter(|_| allowed);
        let (Some(&register), Some(last)) = (register, last) else { return Ok(None) };
        if let Some(start) = hint.offset {
            let inside = start.checked_add(offset).is_some_and(|at| (0..=last).contains(&at));
            if !inside || !self.load_shift(hint.region)? {
                return Ok(None);
            }
            return Ok(Some(Place::There(register + SHIFT + offset)));
        }
        if !self.load_shift(hint.region)? {
            return Ok(None);
        }
        let sum = self.known.of(base);
        let ahead = self.known.behind_measured(hint.region, sum);
        let Some(distance) = ahead.unwrap_or(0).checked_add(offset) else { return Ok(None) };
        if ahead.is_none() {
            self.number(WINDOW, (i64::from(hint.region) << 32).wrapping_neg())?;
            self.a.add(WINDOW, register)?;
            self.known.measured(hint.region, sum);
        }
        let otherwise = self.a.create_label();
        match distance {
            0 => self.a.cmp(WINDOW, last)?,
            _ => {
                self.a.lea(rdi, WINDOW + distance)?;
                self.a.cmp(rdi, last)?;
            }
        }
        self.a.ja(otherwise)?;
        Ok(Some(Place::Hinted(register + SHIFT + offset, otherwise)))
    }

    fn kept(&self, region: u32) -> Option<Kept> {
        let kept = &self.listing.kept;
        kept.iter().find(|kept| kept.region == region).copied()
    }

    /// Has the shift of a region at hand; false if its window is too far behind the first.
    fn load_shift(&mut self, region: u32) -> Encoded<bool> {
        if self.known.region() == Some(region) {
            return Ok(true);
        }
        let window = i64::from(region) * size_of::<Window>() as i64;
        let Some(place) = short(window + offset_of!(Window, shift) as i64) else {
            return Ok(false);
        };
        self.a.mov(SHIFT, context(offset_of!(Context<'_>, view.windows)))?;
        self.a.mov(SHIFT, field(SHIFT, place as usize))?;
        self.known.shifted(region);
        Ok(true)
    }
}
