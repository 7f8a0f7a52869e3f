// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays, global data and per-CPU arrays: one region of equal values.

/// Where an array is, for code that indexes it directly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrayPlace {
    pub(crate) base: u64,
    pub(crate) entries: u32,
    pub(crate) stride: u32,
    /// Bytes from one CPU's values to the next's, 0 if all CPUs share them.
    pub(crate) cpu_stride: u32,
}

/// An array's place in memory. A per-CPU array is `cpus` arrays one after the other.
#[derive(Debug)]
pub(crate) struct Array {
    place: ArrayPlace,
    cpus: u32,
}

impl Array {
    /// Values of `stride` bytes at `base`; `cpus` is 1 if all CPUs share them.
    pub(crate) fn new(base: u64, entries: u32, stride: u32, cpus: u32) -> Self {
        let cpu_stride = if cpus > 1 { entries * stride } else { 0 };
        Self { place: ArrayPlace { base, entries, stride, cpu_stride }, cpus }
    }

    /// Address of a value.
    #[inline]
    pub(crate) fn at(&self, index: u32, cpu: u32) -> Option<u64> {
        let ArrayPlace { base, entries, stride, cpu_stride } = self.place;
        let row = u64::from(cpu.min(self.cpus - 1)) * u64::from(cpu_stride);
        (index < entries).then(|| base + row + u64::from(index) * u64::from(stride))
    }

    /// The value that holds `addr`: index and address.
    pub(crate) fn holding(&self, addr: u64) -> Option<(u32, u64)> {
        let ArrayPlace { base, entries, stride, .. } = self.place;
        let number = addr.checked_sub(base)? / u64::from(stride);
        let cpus = u64::from(self.cpus);
        (number < u64::from(entries) * cpus)
            .then(|| ((number % u64::from(entries)) as u32, base + number * u64::from(stride)))
    }

    /// How many CPUs have values of their own; 1 if all share them.
    pub(crate) fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Its place, for code that indexes it directly.
    pub(crate) fn place(&self) -> ArrayPlace {
        self.place
    }

    /// Bytes from one CPU's value to the next's.
    pub(crate) fn cpu_stride(&self) -> u64 {
        self.place.cpu_stride.into()
    }
}
