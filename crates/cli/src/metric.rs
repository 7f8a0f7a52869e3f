// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of the metrics by which policies are judged.

use crate::comparison::{Column, Stage};

pub(crate) use rota_gate::{tasks_of, Metric};
pub(crate) use rota_session::metric::{find, known};

/// Of each policy, by seed.
pub(crate) fn values(metric: &Metric, stage: &Stage<'_>) -> Vec<Vec<Option<f64>>> {
    let of = |column: &Column<'_>| match metric {
        Metric::Whole(measure) => column.values(measure),
        Metric::Task { task, measure, .. } => column.task_values(task, measure.key),
    };
    stage.columns.iter().map(of).collect()
}
