//! Addresses of machines, networks, people and things.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Leading zeros are tolerated, as they were when these formats came to be.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = part
            .parse::<u32>()
            .ok()
            .and_then(|number| u8::try_from(number).ok())?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

pub(super) fn is_ipv4(text: &str) -> bool {
    parse_ipv4(text).is_some() || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let bits = if parse_ipv4(address).is_some() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    length.bytes().all(|b| b.is_ascii_digit()) && length.parse::<u32>().is_ok_and(|length| length <= bits)
}

pub(super) fn is_mac(text: &str) -> bool {
    let (separator, width) = match text.as_bytes().get(2) {
        Some(b':') => (':', 2),
        Some(b'-') => ('-', 2),
        _ => ('.', 4),
    };
    let groups: Vec<&str> = text.split(separator).collect();
    matches!(groups.len() * width / 2, 6 | 8 | 20)
        && groups
            .iter()
            .all(|group| group.len() == width && group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// One address of RFC 5322, with or without a display name: `Name <local@domain>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if let Some(open) = text.rfind('<') {
        let name = text[..open].trim();
        return text.ends_with('>') && is_phrase(name) && is_address(&text[open + 1..text.len() - 1]);
    }
    is_address(text)
}

fn is_phrase(text: &str) -> bool {
    text.is_empty()
        || is_quoted(text)
        || text
            .split_ascii_whitespace()
            .all(|word| word.chars().all(|c| is_atom(c) || c == '.'))
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let atoms = |text: &str| {
        text.split('.')
            .all(|part| !part.is_empty() && part.chars().all(is_atom))
    };
    let literal = domain.starts_with('[') && domain.ends_with(']') && domain.len() > 2;
    (is_quoted(local) || atoms(local)) && (literal || atoms(domain))
}

fn is_quoted(text: &str) -> bool {
    text.len() >= 2 && text.starts_with('"') && text.ends_with('"')
}

fn is_atom(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
}

/// An absolute URI or an absolute path, as a request line has it.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(authority) => {
            let end = authority.find('/').unwrap_or(authority.len());
            if !is_authority(&authority[..end]) {
                return false;
            }
            &authority[end..]
        }
        None => rest,
    };
    has_good_escapes(path)
}

/// Splits off the scheme; `None` when there is a colon without one.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    if let Some(bracketed) = host.strip_prefix('[') {
        let Some((address, port)) = bracketed.split_once(']') else {
            return false;
        };
        let address = address.split_once("%25").map_or(address, |(address, _)| address);
        return address.parse::<Ipv6Addr>().is_ok() && is_optional_port(port);
    }
    let (name, port) = host.split_at(host.rfind(':').unwrap_or(host.len()));
    is_optional_port(port)
        && name
            .chars()
            .all(|c| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"".contains(c))
}

fn is_optional_port(text: &str) -> bool {
    text.is_empty() || (text.starts_with(':') && text[1..].bytes().all(|b| b.is_ascii_digit()))
}

fn has_good_escapes(path: &str) -> bool {
    path.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}
