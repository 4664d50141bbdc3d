//! String formats (`format: date-time`). Only these are checked; every other name is an annotation
//! for readers.

mod addresses;
mod numbers;
mod times;

use std::sync::LazyLock;

use regex::Regex;

pub(crate) use self::times::{date, date_time, duration, go_duration};

/// A format that is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format(fn(&str) -> bool);

impl Format {
    /// The format of a name; dashes do not count.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(Self(match name.replace('-', "").as_str() {
            "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            "byte" => is_base64,
            "cidr" => addresses::is_cidr,
            "creditcard" => numbers::is_credit_card,
            "date" => |text| date(text).is_some(),
            "datetime" => times::is_date_time,
            "duration" => |text| duration(text).is_some(),
            "email" => addresses::is_email,
            "hexcolor" => is_hex_color,
            "hostname" => is_hostname,
            "ipv4" => addresses::is_ipv4,
            "ipv6" => addresses::is_ipv6,
            "isbn" => |text| numbers::is_isbn10(text) || numbers::is_isbn13(text),
            "isbn10" => numbers::is_isbn10,
            "isbn13" => numbers::is_isbn13,
            "mac" => addresses::is_mac,
            "password" => |_| true,
            "rgbcolor" => is_rgb_color,
            "ssn" => numbers::is_ssn,
            "uri" => addresses::is_request_uri,
            "uuid" => |text| is_uuid(text, None),
            "uuid3" => |text| is_uuid(text, Some((b'3', b"0123456789abcdef"))),
            "uuid4" => |text| is_uuid(text, Some((b'4', b"89ab"))),
            "uuid5" => |text| is_uuid(text, Some((b'5', b"89ab"))),
            _ => return None,
        }))
    }

    pub(crate) fn accepts(self, text: &str) -> bool {
        (self.0)(text)
    }
}

/// Standard base64 with padding, at least one group.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    !digits.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && digits
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_rgb_color(text: &str) -> bool {
    static REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let number = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
        Regex::new(&format!(r"^rgb\({number},{number},{number}\)$")).ok()
    });
    REGEX.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn is_hostname(text: &str) -> bool {
    static REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let letter = r"[a-zA-Z0-9\p{S}\p{L}]";
        let inner = r"[a-zA-Z0-9\-\p{S}\p{L}]";
        Regex::new(&format!(
            r"^({letter}((-?{letter}{{0,62}})?)|({letter}(({inner}{{0,61}}{letter})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
        ))
        .ok()
    });
    REGEX.as_ref().is_some_and(|regex| regex.is_match(text))
        && text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
}

/// Hexadecimal groups of 8-4-4-4-12, each dash optional. Versions restrict one digit of the third
/// group and, but for version 3, one of the fourth.
fn is_uuid(text: &str, version: Option<(u8, &[u8])>) -> bool {
    let mut rest = text;
    let mut groups = [""; 5];
    for (i, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(group) = rest.get(..length) else {
            return false;
        };
        if !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        groups[i] = group;
        rest = &rest[length..];
    }
    rest.is_empty()
        && version.is_none_or(|(digit, variants)| {
            groups[2].as_bytes()[0] == digit
                && variants.contains(&groups[3].as_bytes()[0].to_ascii_lowercase())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &str, good: &[&str], bad: &[&str]) {
        let format = Format::named(format).unwrap();
        for text in good {
            assert!(format.accepts(text), "{text:?} should be good");
        }
        for text in bad {
            assert!(!format.accepts(text), "{text:?} should be bad");
        }
    }

    #[test]
    fn formats_accept_what_the_real_server_accepts() {
        check(
            "date",
            &["2024-02-29"],
            &["2023-02-29", "2024-2-9", "2024-02-29T00:00:00Z", ""],
        );
        check(
            "date-time",
            &[
                "2024-02-29T10:11:12Z",
                "2024-02-29t10:11:12.5z",
                "2024-02-29T10:11:12+01:00",
            ],
            &[
                "2024-02-29",
                "2024-02-29T10:11:12",
                "2024-02-29T24:00:00Z",
                "2024-02-29 10:11:12Z",
            ],
        );
        check(
            "duration",
            &["1h30m", "5 seconds", "3 days", "1.5h", "-2s", "1w"],
            &["", "x", "5", "5 parsecs"],
        );
        check(
            "ipv4",
            &["1.2.3.4", "010.2.3.4", "::ffff:1.2.3.4"],
            &["1.2.3", "1.2.3.256", "::1"],
        );
        check(
            "ipv6",
            &["::1", "fe80::1", "::ffff:1.2.3.4"],
            &["1.2.3.4", "fe80::1%eth0", ":::"],
        );
        check(
            "cidr",
            &["10.0.0.0/8", "::/0"],
            &["10.0.0.0", "10.0.0.0/33", "x/8"],
        );
        check(
            "mac",
            &["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-ab-cd-ef"],
            &["01:23:45", "x"],
        );
        check(
            "email",
            &["a@b.c", "A B <a@b>", "\"x y\"@b"],
            &["a", "@b", "a@", "a b@c"],
        );
        check(
            "uri",
            &["http://a/b?c", "/a/b", "urn:x:y", "*"],
            &["a/b", "", "http://[::1", "/%zz", "ht tp://x"],
        );
        check(
            "uuid",
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "123E4567e89b12d3a456426614174000",
            ],
            &["123e4567"],
        );
        check(
            "uuid4",
            &["123e4567-e89b-42d3-a456-426614174000"],
            &["123e4567-e89b-12d3-a456-426614174000"],
        );
        check(
            "hostname",
            &["a", "example.com", "xn--a.example"],
            &["-a", "a..b", "a_b", "example.c"],
        );
        check("byte", &["aGk=", "aGkh"], &["", "aGk", "a===", "a-_="]);
        check("hexcolor", &["#fff", "a0b1c2"], &["#ff", "red"]);
        check("rgbcolor", &["rgb(1, 2,255)"], &["rgb(256,1,1)", "rgb(1,1)"]);
        check(
            "isbn",
            &["0321751043", "978-0321751041"],
            &["0321751044", "978-0321751040"],
        );
        check("creditcard", &["4111-1111-1111-1111"], &["4111-1111-1111-1112"]);
        check("ssn", &["111-22-3333"], &["111223333"]);
        check("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f1f77"]);
        check("password", &["", "x"], &[]);
    }

    #[test]
    fn number_formats_and_unknown_names_are_not_checked() {
        for name in ["int32", "int64", "float", "double", "k8s-short-name", "fancy"] {
            assert!(Format::named(name).is_none());
        }
    }
}
