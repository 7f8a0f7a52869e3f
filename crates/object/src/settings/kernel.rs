// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables that a kernel needs to have another value, unless a user sets them: tag `kernel:VALUE`.

use super::SettingError;
use crate::image::Image;

/// The tag.
const IN_KERNEL: &str = "kernel:";

impl Image {
    /// The tunables that have another value in a kernel, and that value.
    pub fn values_in_kernel(&self) -> Vec<(String, String)> {
        let value = |tag: &String| tag.strip_prefix(IN_KERNEL).map(|value| value.trim().to_owned());
        let tagged = self.variables.iter().filter_map(|variable| {
            Some((variable.name.clone(), variable.tags.iter().find_map(value)?))
        });
        tagged.collect()
    }

    /// Sets them.
    pub fn follow_kernel(&mut self) -> Result<(), SettingError> {
        self.values_in_kernel().iter().try_for_each(|(name, value)| self.set_variable(name, value))
    }
}
