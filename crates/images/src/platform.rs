//! Which of an image's variants runs here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an image was built for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    #[serde(default)]
    pub os: String,
    #[serde(default)]
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    /// This machine, in the words of images.
    pub fn of_this_machine() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            os: "linux".to_owned(),
            architecture: architecture.to_owned(),
            variant: None,
        }
    }

    /// How well something built for `other` runs here: not at all, or the smaller the better.
    /// Variants of amd64 and arm64 are supersets of each other; the plain one always runs.
    pub(crate) fn fit(&self, other: &Self) -> Option<u32> {
        if self.os != other.os || self.architecture != other.architecture {
            return None;
        }
        match other.variant.as_deref().unwrap_or_default() {
            "" | "v1" | "v8" => Some(0),
            // Whether this processor has what these need is not known.
            _ => Some(1),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) if !variant.is_empty() => write!(formatter, "/{variant}"),
            _ => Ok(()),
        }
    }
}
