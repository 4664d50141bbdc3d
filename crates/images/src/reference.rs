//! Names of images as people write them, and what they mean: `busybox` is
//! `docker.io/library/busybox:latest`. The grammar and the errors are those of the kubelet.

use std::{fmt, str::FromStr};

use crate::digest::{Digest, DigestError};

/// Where an image is, and which one of those there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a text names no image; the kubelet's reason is `InvalidImageName`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("couldn't parse image name {name:?}: {problem}")]
pub struct InvalidName {
    pub name: String,
    pub problem: NameProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    #[error("invalid reference format")]
    Format,
    #[error("invalid reference format: repository name ({0}) must be lowercase")]
    UpperCase(String),
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Hexadecimal(String),
    #[error("repository name must not be more than 255 characters")]
    TooLong,
    #[error(transparent)]
    Digest(#[from] DigestError),
}

const DEFAULT_DOMAIN: &str = "docker.io";
const DEFAULT_TAG: &str = "latest";
const MAX_NAME: usize = 255;
const MAX_TAG: usize = 128;

impl Reference {
    /// The registry's host, with its port if it has one.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The repository within its registry: `library/busybox`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// `docker.io/library/busybox`
    pub fn repository(&self) -> String {
        format!("{}/{}", self.domain, self.path)
    }

    /// The tag, `latest` when neither tag nor digest was given.
    pub fn tag(&self) -> Option<&str> {
        match (&self.tag, &self.digest) {
            (None, None) => Some(DEFAULT_TAG),
            (tag, _) => tag.as_deref(),
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What a registry is asked for: the digest if there is one, else the tag.
    pub fn version(&self) -> String {
        match &self.digest {
            Some(digest) => digest.to_string(),
            None => self.tag().unwrap_or(DEFAULT_TAG).to_owned(),
        }
    }

    /// The same repository's content of this digest.
    pub fn with_digest(&self, digest: &Digest) -> String {
        format!("{}@{digest}", self.repository())
    }
}

/// The whole name, with the tag that was not written.
impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.domain, self.path)?;
        if let Some(tag) = self.tag() {
            write!(formatter, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(formatter, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Reference {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        parse(name).map_err(|problem| InvalidName {
            name: name.to_owned(),
            problem,
        })
    }
}

fn parse(name: &str) -> Result<Reference, NameProblem> {
    if name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(NameProblem::Hexadecimal(name.to_owned()));
    }
    let (domain, rest) = split_domain(name);
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest.parse()?)),
        None => (rest, None),
    };
    let (path, tag) = match rest.rsplit_once(':') {
        Some((path, tag)) => (path, Some(tag.to_owned())),
        None => (rest, None),
    };
    let domain = if domain == "index.docker.io" {
        DEFAULT_DOMAIN
    } else {
        domain
    };
    let path = if domain == DEFAULT_DOMAIN && !path.contains('/') && !path.is_empty() {
        format!("library/{path}")
    } else {
        path.to_owned()
    };
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(NameProblem::UpperCase(path));
    }
    let well_formed =
        is_domain(domain) && path.split('/').all(is_path_component) && tag.as_deref().is_none_or(is_tag);
    if !well_formed {
        return Err(NameProblem::Format);
    }
    if domain.len() + 1 + path.len() > MAX_NAME {
        return Err(NameProblem::TooLong);
    }
    Ok(Reference {
        domain: domain.to_owned(),
        path,
        tag,
        digest,
    })
}

/// The first part is a host if it looks like one: `a/b` is on Docker Hub, `a.b/c` and `a:5000/c` are
/// not.
fn split_domain(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (first, rest)
        }
        _ => (DEFAULT_DOMAIN, name),
    }
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = if domain.starts_with('[') {
        match domain.split_once(']') {
            Some((host, port)) => (host, port.strip_prefix(':').or((!port.is_empty()).then_some(""))),
            None => return false,
        }
    } else {
        match domain.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (domain, None),
        }
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = match host.strip_prefix('[') {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.split('.').all(is_domain_component),
    };
    is_host && port.is_none_or(is_port)
}

fn is_domain_component(component: &str) -> bool {
    !component.is_empty()
        && !component.starts_with('-')
        && !component.ends_with('-')
        && component
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Lower-case letters and digits, parted by `.`, `_`, `__` or any number of `-`.
fn is_path_component(component: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separator = String::new();
    for byte in component.bytes() {
        if is_plain(byte) {
            separator.clear();
            continue;
        }
        separator.push(char::from(byte));
        let is_separator =
            matches!(separator.as_str(), "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-');
        if !is_separator {
            return false;
        }
    }
    component.bytes().next().is_some_and(is_plain) && separator.is_empty()
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.bytes().next().is_some_and(is_word)
        && tag.len() <= MAX_TAG
        && tag
            .bytes()
            .all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn shown(name: &str) -> String {
        name.parse::<Reference>().unwrap().to_string()
    }

    fn problem(name: &str) -> String {
        name.parse::<Reference>().unwrap_err().to_string()
    }

    #[test]
    fn short_names_are_on_docker_hub() {
        assert_eq!(shown("busybox"), "docker.io/library/busybox:latest");
        assert_eq!(shown("busybox:1.36"), "docker.io/library/busybox:1.36");
        assert_eq!(shown("ada/tool"), "docker.io/ada/tool:latest");
        assert_eq!(shown("docker.io/busybox"), "docker.io/library/busybox:latest");
        assert_eq!(shown("index.docker.io/a/b"), "docker.io/a/b:latest");
    }

    #[test]
    fn other_registries_are_known_by_a_dot_a_port_or_localhost() {
        assert_eq!(shown("registry.k8s.io/pause:3.10"), "registry.k8s.io/pause:3.10");
        assert_eq!(shown("localhost/x"), "localhost/x:latest");
        assert_eq!(shown("host:5000/x"), "host:5000/x:latest");
        assert_eq!(shown("[::1]:5000/x/y:z"), "[::1]:5000/x/y:z");
    }

    #[test]
    fn a_digest_needs_no_tag_but_may_stand_beside_one() {
        let name = format!("a.b/c@sha256:{HEX}");
        assert_eq!(shown(&name), name);
        let both = format!("a.b/c:1@sha256:{HEX}");
        assert_eq!(shown(&both), both);
        let reference: Reference = both.parse().unwrap();
        assert_eq!(reference.version(), format!("sha256:{HEX}"));
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_kubelet() {
        assert_eq!(
            problem("INVALID"),
            "couldn't parse image name \"INVALID\": invalid reference format: repository name \
             (library/INVALID) must be lowercase"
        );
        assert_eq!(
            problem("a b"),
            "couldn't parse image name \"a b\": invalid reference format"
        );
        assert!(problem(HEX).contains("cannot specify 64-byte hexadecimal strings"));
        assert!(problem("x@sha256:12").contains("invalid checksum digest length"));
        for name in [
            "", "a//b", "a:", "a/.b", "a/b___c", "a/-b", "/a", "a:b/c", "x:-t", "a..b",
        ] {
            assert!(name.parse::<Reference>().is_err(), "{name:?}");
        }
        assert!(problem(&"a/".repeat(200)).contains("invalid reference format"));
        assert!(problem(&format!("x/{}", "a".repeat(250))).contains("255"));
    }
}
