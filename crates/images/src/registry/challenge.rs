//! What a registry wants to know of us: the header `WWW-Authenticate`.

use std::collections::BTreeMap;

use http::{HeaderMap, header};

/// One way to say who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// In lower case.
    pub(super) scheme: String,
    parameters: BTreeMap<String, String>,
}

impl Challenge {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }
}

pub(super) fn parse(headers: &HeaderMap) -> Vec<Challenge> {
    headers
        .get_all(header::WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(parse_value)
        .collect()
}

/// `Bearer realm="…",service="…", Basic realm="…"`: a word without `=` begins the next challenge.
fn parse_value(value: &str) -> Vec<Challenge> {
    let mut challenges: Vec<Challenge> = Vec::new();
    let mut rest = value.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let end = rest.find([' ', '=', ',']).unwrap_or(rest.len());
        let word = rest[..end].to_ascii_lowercase();
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix('=') {
            let (value, after) = parse_parameter(after);
            if let Some(challenge) = challenges.last_mut() {
                challenge.parameters.insert(word, value);
            }
            rest = after;
        } else if !word.is_empty() {
            challenges.push(Challenge {
                scheme: word,
                parameters: BTreeMap::new(),
            });
        }
        rest = rest.trim_start_matches([' ', ',']);
    }
    challenges
}

/// A value, quoted or not, and what follows it.
fn parse_parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_challenges_may_share_a_header() {
        let value = r#"Bearer realm="https://auth.io/token",service="reg, \"x\"",scope=a:b, Basic realm="r""#;
        let challenges = parse_value(value);
        assert_eq!(challenges.len(), 2);
        assert_eq!(challenges[0].scheme, "bearer");
        assert_eq!(challenges[0].get("realm"), Some("https://auth.io/token"));
        assert_eq!(challenges[0].get("service"), Some("reg, \"x\""));
        assert_eq!(challenges[0].get("scope"), Some("a:b"));
        assert_eq!(challenges[1].scheme, "basic");
    }

    #[test]
    fn nonsense_is_no_challenge_and_no_endless_loop() {
        for value in ["", "=", "=\"", ",,,", "a=b", "\"", "Bearer realm=\"open"] {
            parse_value(value);
        }
    }
}
