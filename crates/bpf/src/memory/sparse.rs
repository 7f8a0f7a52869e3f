// SPDX-License-Identifier: MIT OR Apache-2.0
//! Page bookkeeping of an arena.

/// Bytes of an arena page.
pub const PAGE_SIZE: u32 = 4096;

/// Which pages of an arena exist. Page 0 never does: the low 32 bits of an arena
/// pointer must not be 0, since programs test them for NULL.
#[derive(Debug)]
pub(super) struct Sparse {
    allocated: Vec<bool>,
    max_pages: u32,
}

impl Sparse {
    pub(super) fn new(max_pages: u32) -> Self {
        // The whole arena must fit behind one region id, page 0 included.
        Self { allocated: Vec::new(), max_pages: max_pages.min((1 << 20) - 1) }
    }

    #[inline]
    pub(super) fn has(&self, offset: usize) -> bool {
        self.allocated.get(offset / PAGE_SIZE as usize).copied().unwrap_or(false)
    }

    /// The lowest run of `count` free pages, or the run at `at` if that is free.
    pub(super) fn find(&self, at: Option<u32>, count: u32) -> Option<u32> {
        let end = self.max_pages + 1;
        let taken = |page: u32| self.allocated.get(page as usize).copied().unwrap_or(false);
        if let Some(first) = at {
            let fits = first >= 1 && first.checked_add(count).is_some_and(|last| last <= end);
            return (fits && !(first..first + count).any(taken)).then_some(first);
        }
        let mut first = 1;
        for page in 1..end {
            if taken(page) {
                first = page + 1;
            } else if page + 1 - first == count {
                return Some(first);
            }
        }
        None
    }

    pub(super) fn set(&mut self, first: u32, count: u32, allocated: bool) {
        let last = (first + count).min(self.max_pages + 1) as usize;
        if self.allocated.len() < last {
            self.allocated.resize(last, false);
        }
        self.allocated[first.min(last as u32) as usize..last].fill(allocated);
    }
}
