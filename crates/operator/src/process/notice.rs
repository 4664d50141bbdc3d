//! What a process tells whoever watches it, a line each.

use std::{fmt, net::SocketAddr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Serves {
        address: SocketAddr,
    },
    /// A kind that is left alone, and why.
    Skips {
        kind: String,
        why: String,
    },
    Follows {
        address: String,
        kinds: Vec<String>,
        namespaces: Vec<String>,
        beside: Option<&'static str>,
        gang: String,
    },
    StandsBy {
        by: String,
    },
    LeaseTrouble {
        error: String,
    },
    Leads {
        identity: String,
    },
    Lost,
    Stops,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serves { address } => {
                write!(
                    formatter,
                    "serving /metrics, /healthz and /readyz on http://{address}"
                )
            }
            Self::Skips { kind, why } => write!(formatter, "leaving {kind} alone: {why}"),
            Self::Follows {
                address,
                kinds,
                namespaces,
                beside,
                gang,
            } => {
                let followed: Vec<&str> = kinds.iter().map(String::as_str).chain(*beside).collect();
                let place = match namespaces.as_slice() {
                    [] => "all namespaces".to_owned(),
                    names => format!("namespace {}", names.join(", ")),
                };
                write!(
                    formatter,
                    "looking after {} in {place} of {address}; pods are placed together by {gang}",
                    followed.join(", ")
                )
            }
            Self::StandsBy { by } => write!(formatter, "standing by: {by} leads"),
            Self::LeaseTrouble { error } => {
                write!(formatter, "standing by: the lease cannot be had: {error}")
            }
            Self::Leads { identity } => write!(formatter, "leading as {identity}"),
            Self::Lost => write!(formatter, "the lease is lost; acting no more"),
            Self::Stops => write!(formatter, "finishing what was begun"),
        }
    }
}
