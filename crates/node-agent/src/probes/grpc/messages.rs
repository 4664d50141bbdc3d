//! The two messages of the health protocol, each with the five bytes gRPC puts before a message.

/// What a service says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Unknown,
    Serving,
    NotServing,
    ServiceUnknown,
}

impl Health {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Serving => "SERVING",
            Self::NotServing => "NOT_SERVING",
            Self::ServiceUnknown => "SERVICE_UNKNOWN",
        }
    }
}

/// Field 1, a string: the service that is asked about.
pub(super) fn request(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(0x0a);
        let mut length = service.len();
        while length >= 0x80 {
            message.push(length as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        message.extend_from_slice(service.as_bytes());
    }
    let mut framed = vec![0];
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or_default().to_be_bytes());
    framed.extend(message);
    framed
}

/// Field 1, a number: how the service is. A message without it means "unknown".
pub(super) fn answer(framed: &[u8]) -> Option<Health> {
    let (header, rest) = framed.split_at_checked(5)?;
    let length = u32::from_be_bytes(header[1..].try_into().ok()?) as usize;
    if header[0] != 0 {
        return None;
    }
    match rest.get(..length)? {
        [] | [0x08, 0] => Some(Health::Unknown),
        [0x08, 1] => Some(Health::Serving),
        [0x08, 2] => Some(Health::NotServing),
        [0x08, 3] => Some(Health::ServiceUnknown),
        _ => None,
    }
}

pub(super) fn code_name(code: u32) -> &'static str {
    const NAMES: [&str; 17] = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    NAMES.get(code as usize).copied().unwrap_or("Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_service() {
        assert_eq!(request(""), [0, 0, 0, 0, 0]);
        assert_eq!(request("ab"), [0, 0, 0, 0, 4, 0x0a, 2, b'a', b'b']);
        let long = request(&"x".repeat(200));
        assert_eq!(&long[..8], [0, 0, 0, 0, 203, 0x0a, 0xc8, 1]);
    }

    #[test]
    fn an_answer_is_read_and_anything_else_is_not() {
        assert_eq!(answer(&[0, 0, 0, 0, 2, 8, 1]), Some(Health::Serving));
        assert_eq!(answer(&[0, 0, 0, 0, 0]), Some(Health::Unknown));
        for bytes in [
            &[][..],
            &[0, 0, 0, 0, 9, 8, 1],
            &[1, 0, 0, 0, 2, 8, 1],
            &[0, 0, 0, 0, 2, 8, 9],
        ] {
            assert_eq!(answer(bytes), None, "{bytes:?}");
        }
    }
}
