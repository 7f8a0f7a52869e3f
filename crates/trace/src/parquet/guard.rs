// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate that decodes Parquet panics at some damaged pages. Here that is an error like others.

use ::parquet::errors::ParquetError;
use std::cell::Cell;
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// This thread decodes: a panic is caught, and nothing is to be printed.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

/// Decodes. After a panic what decoded must not be used again.
pub fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !DECODES.get() {
                before(panic);
            }
        }));
    });
    let outer = DECODES.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODES.set(outer);
    decoded.unwrap_or_else(|_| Err(ParquetError::General("a page is damaged".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_decoding_is_an_error_and_one_elsewhere_still_a_panic() {
        let error = guarded::<()>(|| panic!("page")).unwrap_err();
        assert_eq!(error.to_string(), "Parquet error: a page is damaged");
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
        assert!(catch_unwind(|| panic!("elsewhere")).is_err());
    }
}
