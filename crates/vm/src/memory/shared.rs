// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions with memory of somebody else's, as pages that a program maps, too.

use super::{Memory, Region, Rule, Stays};

/// Bytes that others see and change, though never while guest code runs. There are always as many, in the
/// same place.
pub trait SharedBytes: Send {
    /// All of them.
    fn bytes(&self) -> &[u8];
    /// All of them, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl std::fmt::Debug for dyn SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedBytes({})", self.bytes().len())
    }
}

impl Memory {
    /// Lets a plain region that may be written have these bytes in place of its own, which are
    /// dropped. False if it is no such region, or has another size.
    pub fn share(&mut self, addr: u64, bytes: Box<dyn SharedBytes>) -> bool {
        let rule = Rule::Shared(self.shared.len() as u32);
        let Some(region) = self.regions.get_mut((addr >> 32) as usize) else { return false };
        if region.stays == Stays::Lasts
            || addr >> 32 == 0
            || region.rule != Rule::Plain
            || region.data.len() != bytes.bytes().len()
        {
            return false;
        }
        (region.data, region.rule) = (Box::default(), rule);
        self.shared.push(bytes);
        self.renew_window((addr >> 32) as usize);
        true
    }

    /// The bytes from an address on that its region itself does not have.
    pub(super) fn foreign(&self, addr: u64, len: usize) -> Option<&[u8]> {
        let Region { rule, data, .. } = self.region(addr)?;
        let start = addr as u32 as usize;
        match rule {
            Rule::Arena(at) => self.arenas[*at as usize].tail_bytes(start, len),
            Rule::Shared(at) => self.shared[*at as usize].bytes().get(start..start + len),
            Rule::Kernel(shape) => {
                let (at, size) =
                    (start.checked_sub(data.len())?, self.shapes[*shape as usize].size);
                self.zeroes.get(..size as usize - data.len())?.get(at..at + len)
            }
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn foreign_mut(&mut self, addr: u64, len: usize) -> Option<&mut [u8]> {
        let rule = self.region(addr)?.rule;
        let start = addr as u32 as usize;
        match rule {
            Rule::Arena(at) => self.arenas[at as usize].tail_bytes_mut(start, len),
            Rule::Shared(at) => self.shared[at as usize].bytes_mut().get_mut(start..start + len),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Perm;

    struct Bytes(Vec<u8>);

    impl SharedBytes for Bytes {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }

    #[test]
    fn a_shared_region_is_as_any_other_to_guest_and_host() {
        let mut memory = Memory::new();
        let addr = memory.alloc("bss", 16, Perm::ReadWrite);
        assert!(memory.share(addr, Box::new(Bytes((0..16).collect()))));

        assert_eq!(memory.read(addr + 8, 2).unwrap(), 0x0908);
        memory.write(addr + 8, 4, 0x0102_0304).unwrap();
        memory.set_u32(addr + 12, 7);
        memory.update_u32(addr + 12, |value| value + 1);
        assert_eq!((memory.get_u32(addr + 12), memory.get_u8(addr + 8)), (8, 4));
        assert_eq!(memory.bytes(addr + 8, 8).unwrap(), [4, 3, 2, 1, 8, 0, 0, 0]);
        memory.guest_bytes_mut(addr, 2).unwrap().fill(9);
        assert_eq!(memory.read(addr, 4).unwrap(), 0x0302_0909);
        assert!(memory.is_live(addr + 15) && !memory.is_live(addr + 16));
        let beyond = memory.read(addr + 14, 4).unwrap_err().to_string();
        assert!(beyond.contains("bss, 16 bytes"), "{beyond}");
        assert!(memory.write(addr + 16, 1, 0).is_err());
    }

    #[test]
    fn only_a_plain_region_of_this_size_is_shared() {
        let mut memory = Memory::new();
        let (constant, small) =
            (memory.alloc("rodata", 8, Perm::ReadOnly), memory.alloc("bss", 4, Perm::ReadWrite));
        assert!(!memory.share(constant, Box::new(Bytes(vec![0; 8]))));
        assert!(!memory.share(small, Box::new(Bytes(vec![0; 8]))));
        assert!(!memory.share(0, Box::new(Bytes(Vec::new()))), "NULL stays NULL");
    }
}
