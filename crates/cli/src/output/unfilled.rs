// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel fields that the policy read and that the simulated machine does not fill: it
//! saw 0 where a kernel might have had something to say.

use super::Run;
use serde::Serialize;

/// Reads of one field.
#[derive(Debug, Serialize)]
pub(crate) struct UnfilledRead {
    /// `task_struct.se.vruntime`.
    pub(crate) field: String,
    /// How often.
    pub(crate) count: u64,
}

/// The fields of a run, most read first. Bytes of one field are one entry.
pub(crate) fn fields(run: &Run<'_>) -> Vec<UnfilledRead> {
    let kernel = &run.image.kernel_btf;
    let mut fields: Vec<UnfilledRead> = Vec::new();
    for (of, offset, count) in &run.finished.outcome.unfilled_reads {
        let field = match kernel.find_struct(of) {
            Some(ty) => format!("{of}.{}", kernel.field_name_at(ty, *offset)),
            None => format!("{of}+{offset}"),
        };
        match fields.iter_mut().find(|known| known.field == field) {
            Some(known) => known.count += count,
            None => fields.push(UnfilledRead { field, count: *count }),
        }
    }
    fields.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.field.cmp(&b.field)));
    fields
}
