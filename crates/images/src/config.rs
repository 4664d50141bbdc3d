//! What an image says about the containers made from it.

mod user;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

pub use self::user::{User, UserError, UserFiles};
use crate::{digest::Digest, platform::Platform};

/// The configuration of an image: OCI's and Docker's are the same where we look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    #[serde(flatten)]
    pub platform: Platform,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    pub config: Defaults,
    #[serde(default, deserialize_with = "null_is_default")]
    pub rootfs: RootFs,
}

/// What a container has unless its pod says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Defaults {
    /// `user`, `uid`, `user:group`, …; see [`UserFiles::find`].
    #[serde(deserialize_with = "null_is_default")]
    pub user: String,
    /// `NAME=value` each.
    #[serde(deserialize_with = "null_is_default")]
    pub env: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub entrypoint: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub cmd: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub working_dir: String,
    /// `SIGTERM`, `TERM` or `15`.
    #[serde(deserialize_with = "null_is_default")]
    pub stop_signal: String,
    #[serde(deserialize_with = "null_is_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_is_default")]
    pub volumes: BTreeMap<String, serde_json::Value>,
    #[serde(deserialize_with = "null_is_default")]
    pub exposed_ports: BTreeMap<String, serde_json::Value>,
}

/// The layers by what they are unpacked, from the bottom up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RootFs {
    #[serde(deserialize_with = "null_is_default")]
    pub diff_ids: Vec<Digest>,
}

impl Config {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The environment as pairs; an entry without `=` is a name without a value.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.config
            .env
            .iter()
            .map(|entry| entry.split_once('=').unwrap_or((entry, "")))
    }

    /// The number of the signal that asks the container to stop, SIGTERM unless the image says
    /// otherwise.
    pub fn stop_signal(&self) -> i32 {
        signal_number(&self.config.stop_signal).unwrap_or(15)
    }

    /// What stands for each layer together with all below it, from the bottom up.
    pub(crate) fn chain(&self) -> Vec<Digest> {
        let mut chain: Vec<Digest> = Vec::new();
        for layer in &self.rootfs.diff_ids {
            let link = match chain.last() {
                Some(below) => Digest::sha256(format!("{below} {layer}").as_bytes()),
                None => layer.clone(),
            };
            chain.push(link);
        }
        chain
    }
}

/// What runs: a container's `command` replaces the image's entrypoint *and* its arguments, `args`
/// replace only the arguments.
pub fn argv(command: &[String], args: &[String], image: &Config) -> Vec<String> {
    let Defaults { entrypoint, cmd, .. } = &image.config;
    match (command, args) {
        ([], []) => [entrypoint.as_slice(), cmd].concat(),
        ([], args) => [entrypoint.as_slice(), args].concat(),
        (command, args) => [command, args].concat(),
    }
}

/// Go writes nothing as `null` as readily as it leaves it out.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn signal_number(name: &str) -> Option<i32> {
    if let Ok(number) = name.parse::<i32>() {
        return (1..=64).contains(&number).then_some(number);
    }
    let upper = name.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    if let Some(offset) = name.strip_prefix("RTMIN+") {
        return offset
            .parse()
            .ok()
            .map(|offset: i32| 34 + offset)
            .filter(|number| *number <= 64);
    }
    let position = SIGNALS.iter().position(|known| *known == name)?;
    i32::try_from(position + 1).ok()
}

/// Linux' signals by number, from 1.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_runs_is_what_kubernetes_documents() {
        let mut image = Config::default();
        image.config.entrypoint = strings(&["/ep-1"]);
        image.config.cmd = strings(&["foo", "bar"]);
        let runs =
            |command: &[&str], args: &[&str]| argv(&strings(command), &strings(args), &image).join(" ");
        assert_eq!(runs(&[], &[]), "/ep-1 foo bar");
        assert_eq!(runs(&["/ep-2"], &[]), "/ep-2");
        assert_eq!(runs(&[], &["zoo", "boo"]), "/ep-1 zoo boo");
        assert_eq!(runs(&["/ep-2"], &["zoo", "boo"]), "/ep-2 zoo boo");
    }

    #[test]
    fn a_configuration_full_of_nulls_is_an_empty_one() {
        let text = br#"{"architecture":"amd64","os":"linux","config":{"Env":null,"Cmd":null,
            "Labels":null,"Volumes":null,"Entrypoint":null},"rootfs":{"type":"layers","diff_ids":null}}"#;
        let config = Config::parse(text).unwrap();
        assert_eq!(config.config, Defaults::default());
        assert_eq!(config.platform.architecture, "amd64");
        assert_eq!(config.stop_signal(), 15);
    }

    #[test]
    fn stop_signals_have_names_and_numbers() {
        for (name, number) in [("SIGQUIT", 3), ("winch", 28), ("9", 9), ("SIGRTMIN+3", 37)] {
            assert_eq!(signal_number(name), Some(number), "{name}");
        }
        assert_eq!(signal_number("SIGNOTHING"), None);
        assert_eq!(signal_number("0"), None);
    }

    #[test]
    fn layers_are_known_by_themselves_and_all_below() {
        let mut config = Config::default();
        config.rootfs.diff_ids = vec![Digest::sha256(b"a"), Digest::sha256(b"b")];
        let chain = config.chain();
        assert_eq!(chain[0], Digest::sha256(b"a"));
        let text = format!("{} {}", chain[0], Digest::sha256(b"b"));
        assert_eq!(chain[1], Digest::sha256(text.as_bytes()));
    }
}
