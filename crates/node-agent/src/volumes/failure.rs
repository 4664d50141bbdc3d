//! Why a pod's volumes are not ready: the text of the `FailedMount` event.

use std::error::Error;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// What the volume is made of is not there, or this machine refuses to make it.
    #[error("MountVolume.SetUp failed for volume \"{volume}\" : {reason}")]
    SetUp { volume: String, reason: String },
    /// It is not known yet what the volume is made of.
    #[error(
        "Unable to attach or mount volumes: unmounted volumes=[{volume}], unattached volumes=[], \
         failed to process volumes=[{volume}]: {reason}"
    )]
    Process { volume: String, reason: String },
}

impl Failure {
    /// The reason of the event that tells of it.
    pub const REASON: &'static str = "FailedMount";

    pub(super) fn set_up(volume: &str, error: &dyn Error) -> Self {
        Self::SetUp {
            volume: volume.to_owned(),
            reason: with_causes(error),
        }
    }
}

/// An error with what caused it, as one line: events have no room for more.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
