// SPDX-License-Identifier: MIT OR Apache-2.0
//! Doubly linked lists over task indices: O(1) removal from the middle, no allocation.

/// End of a list.
pub(crate) const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// One link per task; a task is on at most one of the lists that share these links.
#[derive(Default, Debug)]
pub(crate) struct Links(Vec<Link>);

/// Ends of one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Links {
    /// Makes room for one more index.
    pub(crate) fn grow(&mut self) {
        self.0.push(Link { prev: NIL, next: NIL });
    }

    pub(crate) fn next(&self, at: u32) -> u32 {
        self.0[at as usize].next
    }

    pub(crate) fn prev(&self, at: u32) -> u32 {
        self.0[at as usize].prev
    }

    pub(crate) fn push_back(&mut self, list: &mut List, at: u32) {
        self.0[at as usize] = Link { prev: list.tail, next: NIL };
        match list.tail {
            NIL => list.head = at,
            tail => self.0[tail as usize].next = at,
        }
        list.tail = at;
    }

    pub(crate) fn push_front(&mut self, list: &mut List, at: u32) {
        self.0[at as usize] = Link { prev: NIL, next: list.head };
        match list.head {
            NIL => list.tail = at,
            head => self.0[head as usize].prev = at,
        }
        list.head = at;
    }

    pub(crate) fn remove(&mut self, list: &mut List, at: u32) {
        let Link { prev, next } = self.0[at as usize];
        match prev {
            NIL => list.head = next,
            p => self.0[p as usize].next = next,
        }
        match next {
            NIL => list.tail = prev,
            n => self.0[n as usize].prev = prev,
        }
        self.0[at as usize] = Link { prev: NIL, next: NIL };
    }

    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = u32> + '_ {
        let mut at = list.head;
        std::iter::from_fn(move || {
            let here = at;
            if here == NIL {
                return None;
            }
            at = self.next(here);
            Some(here)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_like_a_deque(ops in proptest::collection::vec((0u8..3, 0u32..8), 0..200)) {
            let (mut links, mut list, mut model) = (Links::default(), List::default(), VecDeque::new());
            (0..8).for_each(|_| links.grow());
            for (op, at) in ops {
                match (op, model.contains(&at)) {
                    (0, false) => { links.push_back(&mut list, at); model.push_back(at); }
                    (1, false) => { links.push_front(&mut list, at); model.push_front(at); }
                    (2, true) => { links.remove(&mut list, at); model.retain(|x| *x != at); }
                    _ => {}
                }
                prop_assert_eq!(links.iter(&list).collect::<Vec<_>>(), Vec::from(model.clone()));
                prop_assert_eq!(list.is_empty(), model.is_empty());
            }
        }
    }
}
