//! IP addresses and networks as API fields hold them. Older fields forgive leading zeros and
//! IPv4-mapped forms and answer with a warning; newer ones want the canonical text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use manifests::field::{FieldError, Path, quoted};

const NOT_AN_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NOT_A_NETWORK: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Reads an address, forgiving leading zeros. IPv4-mapped IPv6 counts as IPv4.
pub fn parse(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text
            .parse::<Ipv6Addr>()
            .ok()
            .map(|address| address.to_canonical());
    }
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parse_number(parts.next()?)?;
    }
    parts.next().is_none().then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// A network: an address (with whatever host bits were written) and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub address: IpAddr,
    pub prefix: u8,
}

impl Cidr {
    /// Reads a network, forgiving leading zeros and host bits.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let mut prefix: u8 = parse_number(prefix)?;
        let bits = if address.contains(':') { 128 } else { 32 };
        if prefix > bits {
            return None;
        }
        let address = parse(address)?;
        if bits == 128 && address.is_ipv4() {
            prefix = prefix.checked_sub(96)?;
        }
        Some(Self { address, prefix })
    }

    /// The same network without host bits.
    #[must_use]
    pub fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self {
            address,
            prefix: self.prefix,
        }
    }

    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self {
                address,
                prefix: self.prefix,
            }
            .masked()
            .address
                == self.masked().address
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// An address in a field that predates strict checking.
pub fn validate(text: &str, path: &Path, errors: &mut Vec<FieldError>) -> bool {
    let fine = parse(text).is_some();
    if !fine {
        errors.push(FieldError::invalid(path, &text.into(), NOT_AN_ADDRESS));
    }
    fine
}

/// A network in a field that predates strict checking.
pub fn validate_cidr(text: &str, path: &Path, errors: &mut Vec<FieldError>) -> bool {
    let fine = Cidr::parse(text).is_some();
    if !fine {
        errors.push(FieldError::invalid(path, &text.into(), NOT_A_NETWORK));
    }
    fine
}

/// An address in its one canonical form.
pub fn validate_canonical(text: &str, path: &Path, errors: &mut Vec<FieldError>) -> bool {
    let Some(address) = parse(text) else {
        return validate(text, path, errors);
    };
    let mut complain = |detail: String| errors.push(FieldError::invalid(path, &text.into(), detail));
    match text.parse::<IpAddr>() {
        Err(_) => complain("must not have leading 0s".to_owned()),
        Ok(strict) if strict != address => complain("must not be an IPv4-mapped IPv6 address".to_owned()),
        Ok(_) if address.to_string() != text => {
            complain(format!(
                "must be in canonical form ({})",
                quoted(&address.to_string())
            ));
        }
        Ok(_) => return true,
    }
    false
}

/// A network in its one canonical form.
pub fn validate_canonical_cidr(text: &str, path: &Path, errors: &mut Vec<FieldError>) -> bool {
    let Some(cidr) = Cidr::parse(text) else {
        return validate_cidr(text, path, errors);
    };
    let mut complain = |detail: String| errors.push(FieldError::invalid(path, &text.into(), detail));
    if !is_strict_cidr(text) {
        complain("must not have leading 0s in IP or prefix length".to_owned());
    } else if is_mapped_cidr(text) {
        complain("must not have an IPv4-mapped IPv6 address".to_owned());
    } else if cidr.masked() != cidr {
        complain("must not have bits set beyond the prefix length".to_owned());
    } else if cidr.to_string() != text {
        complain(format!(
            "must be in canonical form ({})",
            quoted(&cidr.to_string())
        ));
    } else {
        return true;
    }
    false
}

/// What to tell about an address that older fields forgive.
pub fn warnings(text: &str, path: &Path) -> Option<String> {
    let address = parse(text)?;
    let written = quoted(text);
    match text.parse::<IpAddr>() {
        Ok(strict) if strict == address => {
            let canonical = address.to_string();
            (address.is_ipv6() && canonical != text).then(|| {
                format!(
                    "{path}: IPv6 address {written} should be in RFC 5952 canonical format ({})",
                    quoted(&canonical)
                )
            })
        }
        _ => Some(format!(
            "{path}: non-standard IP address {written} will be considered invalid in a future Kubernetes release: use {}",
            quoted(&address.to_string())
        )),
    }
}

/// What to tell about a network that older fields forgive.
pub fn cidr_warnings(text: &str, path: &Path) -> Vec<String> {
    let Some(cidr) = Cidr::parse(text) else {
        return Vec::new();
    };
    let (written, network) = (quoted(text), cidr.masked());
    let mut warnings = Vec::new();
    if network != cidr {
        let bits = if cidr.address.is_ipv4() { 32 } else { 128 };
        warnings.push(format!(
            "{path}: CIDR value {written} is ambiguous in this context (should be {} or {}?)",
            quoted(&network.to_string()),
            quoted(&format!("{}/{bits}", cidr.address)),
        ));
    }
    if !is_strict_cidr(text) || is_mapped_cidr(text) {
        warnings.push(format!(
            "{path}: non-standard CIDR value {written} will be considered invalid in a future Kubernetes release: use {}",
            quoted(&network.to_string())
        ));
    }
    if warnings.is_empty() && cidr.address.is_ipv6() && cidr.to_string() != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {written} should be in RFC 5952 canonical format ({})",
            quoted(&cidr.to_string())
        ));
    }
    warnings
}

/// An address traffic can be sent to: no loopback, link-local or unspecified one.
pub fn validate_endpoint(text: &str, path: &Path, errors: &mut Vec<FieldError>) {
    let mut complain = |detail: &str| errors.push(FieldError::invalid(path, &text.into(), detail));
    let Some(address) = parse(text) else {
        complain("must be a valid IP address");
        return;
    };
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(address) => (
            address.is_link_local(),
            matches!(address.octets(), [224, 0, 0, _]),
        ),
        IpAddr::V6(address) => (
            address.is_unicast_link_local(),
            matches!(address.octets(), [0xff, second, ..] if second & 0xf == 2),
        ),
    };
    if address.is_unspecified() {
        complain(&format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        complain("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if link_local {
        complain("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if link_local_multicast {
        complain("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// A small number in decimal digits, with any number of leading zeros.
fn parse_number(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !text.is_empty()).then(|| text.parse().ok()).flatten()
}

fn is_strict_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, prefix)| {
        address.parse::<IpAddr>().is_ok() && (prefix == "0" || !prefix.starts_with('0'))
    })
}

fn is_mapped_cidr(text: &str) -> bool {
    text.split_once('/')
        .and_then(|(address, _)| address.parse::<Ipv6Addr>().ok())
        .is_some_and(|address| address.to_ipv4_mapped().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_fields_forgive_leading_zeros_and_mapped_addresses() {
        assert_eq!(parse("010.002.3.4"), Some(IpAddr::V4(Ipv4Addr::new(10, 2, 3, 4))));
        assert_eq!(
            parse("::ffff:1.2.3.4"),
            Some(IpAddr::V4(Ipv4Addr::new(1, 2, 3, 4)))
        );
        assert_eq!(parse("1.2.3"), None);
        assert_eq!(parse("1.2.3.4.5"), None);
        assert_eq!(parse("1.2.3.256"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn odd_forms_are_warned_about() {
        let path = Path::new("ip");
        assert_eq!(warnings("1.2.3.4", &path), None);
        assert_eq!(
            warnings("1.2.3.04", &path).unwrap(),
            "ip: non-standard IP address \"1.2.3.04\" will be considered invalid in a future Kubernetes release: use \"1.2.3.4\""
        );
        assert_eq!(
            warnings("2001:db8:0:0::1", &path).unwrap(),
            "ip: IPv6 address \"2001:db8:0:0::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")"
        );
        assert_eq!(
            cidr_warnings("10.0.0.1/8", &path),
            [
                "ip: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
            ]
        );
    }

    #[test]
    fn new_fields_want_the_canonical_text() {
        let path = Path::new("ip");
        for (text, fine) in [
            ("10.0.0.1", true),
            ("10.0.0.01", false),
            ("::FFFF", false),
            ("::ffff:1.2.3.4", false),
        ] {
            assert_eq!(
                validate_canonical(text, &path, &mut Vec::new()),
                fine,
                "for {text}"
            );
        }
        for (text, fine) in [
            ("10.0.0.0/8", true),
            ("10.0.0.1/8", false),
            ("10.0.0.0/08", false),
            ("fd00::/8", true),
        ] {
            assert_eq!(
                validate_canonical_cidr(text, &path, &mut Vec::new()),
                fine,
                "for {text}"
            );
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        let cidr = Cidr::parse("10.96.0.0/16").unwrap();
        assert!(cidr.contains(parse("10.96.3.4").unwrap()));
        assert!(!cidr.contains(parse("10.97.3.4").unwrap()));
        assert!(
            Cidr::parse("0.0.0.0/0")
                .unwrap()
                .contains(parse("1.1.1.1").unwrap())
        );
    }
}
