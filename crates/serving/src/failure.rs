//! Why a request is not answered: a code of gRPC, which also says the status over HTTP, and words.

use http::StatusCode;
use saved_model::AskError;

/// Codes of gRPC that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    /// A server whose certificate is not to be believed. Servers that say it themselves are unknown.
    Unauthenticated = 16,
}

impl Code {
    /// A code by its number; those that are not used here are unknown.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::Cancelled,
            3 => Self::InvalidArgument,
            4 => Self::DeadlineExceeded,
            5 => Self::NotFound,
            8 => Self::ResourceExhausted,
            9 => Self::FailedPrecondition,
            12 => Self::Unimplemented,
            13 => Self::Internal,
            14 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Ok => StatusCode::OK,
            Self::InvalidArgument => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
            // Only requests that are too large are refused so, and no other time will do for them.
            Self::ResourceExhausted => StatusCode::PAYLOAD_TOO_LARGE,
            Self::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Cancelled | Self::Unknown | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A refused or failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", code.name())]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::invalid(error.to_string())
    }
}

pub(crate) type Outcome<T> = Result<T, Failure>;
