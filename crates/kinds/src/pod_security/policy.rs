//! Levels and versions of the standards, and how a namespace chooses them.

use std::fmt;

use manifests::field::{FieldError, Path};
use serde_json::Value;

use crate::read::get;

const PREFIX: &str = "pod-security.kubernetes.io/";

/// How much a policy forbids; a greater level forbids more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "privileged" => Ok(Self::Privileged),
            "baseline" => Ok(Self::Baseline),
            "restricted" => Ok(Self::Restricted),
            _ => Err("must be one of privileged, baseline, restricted"),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        })
    }
}

/// The release of Kubernetes whose rules count, `v1.x`; the latest is after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    Minor(u32),
    Latest,
}

impl Version {
    fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "must be \"latest\" or \"v1.x\"";
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let minor = text.strip_prefix("v1.").ok_or(EXPECTED)?;
        let plain =
            minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
        let minor = minor.parse().ok().filter(|_| plain).ok_or(EXPECTED)?;
        Ok(Self::Minor(minor))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(minor) => write!(f, "v1.{minor}"),
            Self::Latest => f.write_str("latest"),
        }
    }
}

/// The rules of one level in one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub level: Level,
    pub version: Version,
}

impl Policy {
    const PRIVILEGED: Self = Self {
        level: Level::Privileged,
        version: Version::Latest,
    };

    /// Whether pods that kept the old policy may break this one: another version may forbid more.
    pub fn may_forbid_more_than(self, old: Self) -> bool {
        self.level != Level::Privileged && (self.level > old.level || self.version != old.version)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

/// What happens to pods in a namespace: what is refused and what is only warned of. The labels for
/// audits are checked, but there is no audit log they could matter for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    pub enforce: Policy,
    pub warn: Policy,
}

/// Reads the labels of a namespace. Labels that make no sense are told; the strictest policy is
/// enforced then, and no warnings are given.
pub fn policies(labels: &Value) -> (Policies, Vec<FieldError>) {
    let mut errors = Vec::new();
    let enforce = mode("enforce", Level::Restricted, labels, &mut errors);
    mode("audit", Level::Privileged, labels, &mut errors);
    let mut warn = mode("warn", Level::Privileged, labels, &mut errors);
    let has = |label: &str| labels.get(format!("{PREFIX}{label}")).is_some();
    let enforce_is_valid = get(labels, &format!("{PREFIX}enforce"))
        .as_str()
        .is_some_and(|level| Level::parse(level).is_ok());
    // Whoever enforces a policy on pods also wants to hear of templates that break it.
    if !has("warn") && enforce_is_valid && enforce.level > warn.level {
        warn.level = enforce.level;
        if !has("warn-version") {
            warn.version = enforce.version;
        }
    }
    (Policies { enforce, warn }, errors)
}

fn mode(name: &str, level_on_error: Level, labels: &Value, errors: &mut Vec<FieldError>) -> Policy {
    let mut complain = |label: String, value: &str, detail: &str| {
        let path = Path::new("metadata").child("labels").key(&label);
        errors.push(FieldError::invalid(&path, &value.into(), detail));
    };
    let mut policy = Policy::PRIVILEGED;
    let (level, version) = (format!("{PREFIX}{name}"), format!("{PREFIX}{name}-version"));
    if let Some(value) = get(labels, &level).as_str() {
        policy.level = Level::parse(value).unwrap_or_else(|detail| {
            complain(level, value, detail);
            level_on_error
        });
    }
    if let Some(value) = get(labels, &version).as_str() {
        policy.version = Version::parse(value).unwrap_or_else(|detail| {
            complain(version, value, detail);
            Version::Latest
        });
    }
    policy
}
