// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a paper could not be reproduced.

use rota_catalog::UnknownPolicy;
use rota_machine::topology::TopologyError;
use rota_object::error::LoadError;
use rota_object::settings::SettingError;
use rota_sim::SimError;
use rota_workload::WorkloadError;

/// Why a paper could not be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user asked for what there is not.
    #[error("{0}")]
    Input(String),
    /// The user wants no more.
    #[error("interrupted")]
    Interrupted,
    /// An experiment did not work.
    #[error("{0}")]
    Failure(String),
}

macro_rules! failure {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Error {
            fn from(error: $kind) -> Self {
                Self::Failure(error.to_string())
            }
        })*
    };
}

failure!(
    rota_fluid::Error,
    LoadError,
    SettingError,
    UnknownPolicy,
    SimError,
    TopologyError,
    WorkloadError
);
