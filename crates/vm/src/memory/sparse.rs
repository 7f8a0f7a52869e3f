// SPDX-License-Identifier: MIT OR Apache-2.0
//! Page bookkeeping of an arena.

use super::Bits;

/// Bytes of an arena page.
pub const PAGE_SIZE: u32 = 4096;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Free,
    Allocated,
    /// Kept free: no allocation may take it.
    Reserved,
    /// Page 0 before it is reserved.
    Null,
}

/// Which pages of an arena exist. Page 0 never does: the low 32 bits of an arena
/// pointer must not be 0, since programs test them for NULL.
#[derive(Debug)]
pub(super) struct Sparse {
    /// State of each page up to the last that was ever used.
    pages: Vec<Page>,
    /// Those of them that are allocated; compiled code reads it.
    pub(super) allocated: Bits,
    max_pages: u32,
    /// Bytes of the last pages, which are there from the beginning.
    pub(super) tail: Box<[u8]>,
}

impl Sparse {
    pub(super) fn new(max_pages: u32) -> Self {
        // The whole arena must fit behind one region id, page 0 included.
        let max_pages = max_pages.min((1 << 20) - 1);
        let pages = vec![Page::Null];
        Self { pages, allocated: Bits::default(), max_pages, tail: Box::default() }
    }

    #[inline]
    pub(super) fn has(&self, offset: usize) -> bool {
        self.allocated.get(offset / PAGE_SIZE as usize)
    }

    /// Numbers of the pages that exist.
    pub(super) fn allocated(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.pages.len() as u32).filter(|&page| self.allocated.get(page as usize))
    }

    /// Allocates the last pages, of an arena that has none there; `None` if it is too small.
    pub(super) fn take_tail(&mut self, count: u32) -> Option<u32> {
        let first = (self.max_pages + 1).checked_sub(count).filter(|first| *first > 0)?;
        self.set(first, count, Page::Allocated);
        self.tail = vec![0; (count * PAGE_SIZE) as usize].into_boxed_slice();
        Some(first)
    }

    /// First page of the tail; the page after the last one if there is none.
    pub(super) fn tail_page(&self) -> u32 {
        self.max_pages + 1 - self.tail.len() as u32 / PAGE_SIZE
    }

    /// Where in the tail an offset of the arena is.
    pub(super) fn in_tail(&self, offset: usize) -> Option<usize> {
        offset.checked_sub(self.tail_page() as usize * PAGE_SIZE as usize)
    }

    /// The lowest run of `count` free pages, or the run at `at` if that is free.
    pub(super) fn find(&self, at: Option<u32>, count: u32) -> Option<u32> {
        let end = self.max_pages + 1;
        let is_free = |page: u32| self.state(page) == Page::Free;
        if let Some(first) = at {
            let fits = first.checked_add(count).is_some_and(|last| last <= end);
            return (fits && (first..first + count).all(is_free)).then_some(first);
        }
        let mut first = 1;
        for page in 1..end {
            if !is_free(page) {
                first = page + 1;
            } else if page + 1 - first == count {
                return Some(first);
            }
        }
        None
    }

    /// Reserves pages that are free, page 0 too; false if one is not.
    pub(super) fn reserve(&mut self, first: u32, count: u32) -> bool {
        let fits = first.checked_add(count).is_some_and(|last| last <= self.max_pages + 1);
        let is_free = |page: u32| matches!(self.state(page), Page::Free | Page::Null);
        if !fits || !(first..first + count).all(is_free) {
            return false;
        }
        self.set(first, count, Page::Reserved);
        if first == 0 && count > 0 {
            self.pages[0] = Page::Reserved;
        }
        true
    }

    /// Sets the state of pages; those beyond the arena's end are left out.
    pub(super) fn set(&mut self, first: u32, count: u32, state: Page) {
        let end = first.saturating_add(count).min(self.max_pages + 1);
        if (self.pages.len() as u32) < end {
            self.pages.resize(end as usize, Page::Free);
            self.allocated.grow(end);
        }
        let first = first.max(1);
        if let Some(range) = self.pages.get_mut(first as usize..end as usize) {
            range.fill(state);
            self.allocated.put(first..end, state == Page::Allocated);
        }
    }

    fn state(&self, page: u32) -> Page {
        self.pages.get(page as usize).copied().unwrap_or(Page::Free)
    }
}
