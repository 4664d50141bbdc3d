//! Where a callback may go. Users choose the addresses, and this process stands where users do not: so it connects to
//! public addresses and to those that an administrator allows, by the address itself and not by its name. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use ipnet::IpNet;

/// Where a callback goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub is_encrypted: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
    /// As of the `host` header.
    pub authority: String,
    pub path: String,
}

/// Takes an address apart; what is wrong with it otherwise.
pub fn destination(url: &str) -> Result<Destination, String> {
    let uri: Uri = url
        .parse()
        .map_err(|error| format!("`{url}` is no address: {error}"))?;
    let is_encrypted = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err("callbacks go to addresses that begin with http:// or https://".to_owned()),
    };
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    if authority.contains('@') {
        return Err("callbacks have no user and password in their address; use headers".to_owned());
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    if host.is_empty() {
        return Err(format!("`{url}` names no host"));
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(Destination {
        is_encrypted,
        port: uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
        host,
        authority,
        path: path.to_owned(),
    })
}

/// Which of the addresses a name stands for may be connected to: the first that is public or allowed.
pub fn choose(addresses: &[IpAddr], allowed: &[IpNet]) -> Result<IpAddr, String> {
    let may = |address: &&IpAddr| {
        let plain = plain(**address);
        is_public(plain) || allowed.iter().any(|network| network.contains(&plain))
    };
    if let Some(address) = addresses.iter().find(may) {
        return Ok(*address);
    }
    // Which addresses a name stands for inside is nobody's business who only chose the name.
    Err(if addresses.is_empty() {
        "the name has no address".to_owned()
    } else {
        "callbacks may not go there: it is not a public address, and no administrator has allowed it"
            .to_owned()
    })
}

/// The address that is meant by one that carries another.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    if let Some(four) = six.to_ipv4_mapped() {
        return four.into();
    }
    let segments = six.segments();
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::from(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => four(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => four(high, low),
        _ => address,
    }
}

/// An address as it may be told to whoever chose the name it was found by.
pub fn told(address: IpAddr) -> String {
    if is_public(address) {
        address.to_string()
    } else {
        String::new()
    }
}

/// Whether an address belongs to the whole internet.
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 224)
}

/// Only what is given out as such is public: 2000::/3, less what is set aside in it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_given_out = first & 0xe000 == 0x2000;
    let is_set_aside = (first == 0x2001 && (second < 0x200 || second == 0xdb8)) || first == 0x3fff;
    is_given_out && !is_set_aside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_not_of_the_whole_internet_is_not_public() {
        for text in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "::7f00:1",
            "2001:db8::1",
            "64:ff9b:1::1",
            "fd00:ec2::254",
        ] {
            assert!(!is_public(address(text)), "{text}");
        }
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(address(text)), "{text}");
        }
    }

    #[test]
    fn an_administrator_may_allow_more() {
        let allowed = ["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        assert!(choose(&[address("127.0.0.1")], &allowed).is_ok());
        assert!(choose(&[address("::ffff:127.0.0.1")], &allowed).is_ok());
        assert!(choose(&[address("fd00::1")], &allowed).is_ok());
        assert!(choose(&[address("10.0.0.1")], &allowed).is_err());
        assert!(choose(&[], &allowed).is_err());
        // A name with several addresses is reached by one that may be.
        assert_eq!(
            choose(&[address("10.0.0.1"), address("8.8.8.8")], &[]),
            Ok(address("8.8.8.8"))
        );
    }

    #[test]
    fn addresses_inside_are_not_told() {
        for inside in ["10.1.2.3", "fd00::1", "127.0.0.1", "169.254.169.254"] {
            let refusal = choose(&[address(inside)], &[]).unwrap_err();
            assert!(refusal.contains("not a public address"), "{refusal}");
            assert!(!refusal.contains(inside), "{refusal}");
            assert_eq!(told(address(inside)), "");
        }
        assert_eq!(told(address("8.8.8.8")), "8.8.8.8");
    }

    #[test]
    fn only_plain_web_addresses_are_destinations() {
        let found = destination("http://localhost:8080/v1/callback?a=b").unwrap();
        assert_eq!(
            (found.host.as_str(), found.port, found.is_encrypted),
            ("localhost", 8080, false)
        );
        assert_eq!(found.path, "/v1/callback?a=b");
        assert_eq!(
            destination("https://[2606:4700::1111]/x").unwrap().host,
            "2606:4700::1111"
        );
        assert_eq!(destination("https://example.com").unwrap().port, 443);
        for wrong in [
            "s3://a/b",
            "file:///etc/passwd",
            "gopher://x",
            "http://u:p@x/",
            "x",
            "",
            "http://",
            "//x/y",
        ] {
            assert!(destination(wrong).is_err(), "{wrong}");
        }
    }
}
