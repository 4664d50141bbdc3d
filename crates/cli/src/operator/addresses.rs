//! Addresses to listen on, in the ways the original operators take them.

use std::net::SocketAddr;

/// Where to listen, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub Option<SocketAddr>);

/// `ADDRESS:PORT`, `:PORT` for all addresses, or `0` for none.
pub(crate) fn parse(text: &str) -> Result<Address, String> {
    if text == "0" || text.is_empty() {
        return Ok(Address(None));
    }
    let full = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    let address = full.parse().map_err(|_| {
        "an address in numbers and a port are meant, such as 127.0.0.1:6482, :8080, or 0".to_owned()
    })?;
    Ok(Address(Some(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_controllers_take_them() {
        let port = |text: &str| parse(text).unwrap().0.map(|address| address.to_string());
        assert_eq!(port(":8080").as_deref(), Some("0.0.0.0:8080"));
        assert_eq!(port("127.0.0.1:0").as_deref(), Some("127.0.0.1:0"));
        assert_eq!(port("0"), None);
        assert!(parse("localhost:1").is_err());
    }
}
