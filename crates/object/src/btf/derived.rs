// SPDX-License-Identifier: MIT OR Apache-2.0
//! What others make of a kernel's types, once for all runs in that kernel.

use super::Btf;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// A value of each type that somebody has asked for.
#[derive(Default)]
pub(super) struct Derived(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Btf {
    /// What `make` gives, kept with these types: a value of the same type is made once. `make` must
    /// not ask for another one itself.
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> T) -> Arc<T> {
        let mut all = self.derived.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find_map(|one| Arc::clone(one).downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let made = Arc::new(make(self));
            all.push(Arc::clone(&made) as _);
            made
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::btf::reference;

    #[derive(Debug, PartialEq)]
    struct Count(usize);

    #[derive(Debug, PartialEq)]
    struct Other;

    #[test]
    fn a_value_of_each_type_is_made_once() {
        let btf = reference();
        assert_eq!(*btf.derived(|btf| Count(btf.len())), Count(btf.len()));
        assert_eq!(*btf.derived(|_| Other), Other);
        assert_eq!(*btf.derived(|_| -> Count { unreachable!("it is known") }), Count(btf.len()));
    }
}
