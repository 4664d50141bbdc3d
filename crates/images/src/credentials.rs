//! Who we are to which registry: image pull secrets, matched as the kubelet does.

use std::collections::BTreeMap;

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD},
};
use serde::Deserialize;

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub username: String,
    pub password: String,
}

/// Passwords do not belong in logs.
impl std::fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Credential({:?})", self.username)
    }
}

/// Credentials by the registries, and the paths in them, that they are for.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    /// Several for one place are tried one after the other, which allows for rotation.
    credentials: BTreeMap<String, Vec<Credential>>,
}

/// Why a secret holds no credentials.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the secret is not JSON of the known form")]
    Json(#[source] serde_json::Error),
    #[error("unable to parse auth field, must be formatted as base64(username:password)")]
    Auth,
}

#[derive(Deserialize)]
struct DockerConfigJson {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    auth: String,
}

const DEFAULT_REGISTRY: &str = "index.docker.io";

impl Keyring {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret by its type and data; secrets of other types, and empty ones, say nothing.
    pub fn add_secret(&mut self, kind: &str, data: &BTreeMap<String, Vec<u8>>) -> Result<(), SecretError> {
        let entries = match kind {
            "kubernetes.io/dockerconfigjson" => match data.get(".dockerconfigjson") {
                Some(text) if !text.is_empty() => {
                    serde_json::from_slice::<DockerConfigJson>(text)
                        .map_err(SecretError::Json)?
                        .auths
                }
                _ => return Ok(()),
            },
            "kubernetes.io/dockercfg" => match data.get(".dockercfg") {
                Some(text) if !text.is_empty() => serde_json::from_slice(text).map_err(SecretError::Json)?,
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        for (place, entry) in entries {
            self.add(&place, entry.credential()?);
        }
        Ok(())
    }

    /// Adds a credential for `HOST[/PATH]`, where `HOST` may hold `*`.
    pub fn add(&mut self, place: &str, credential: Credential) {
        self.credentials
            .entry(place_key(place))
            .or_default()
            .push(credential);
    }

    /// The credentials for a repository, the most specific first.
    pub fn find(&self, repository: &str) -> Vec<Credential> {
        let matching: Vec<Credential> = self
            .credentials
            .iter()
            .rev()
            .filter(|(place, _)| matches(place, repository))
            .flat_map(|(_, credentials)| credentials.clone())
            .collect();
        if matching.is_empty() && repository.starts_with("docker.io/") {
            return self
                .credentials
                .get(DEFAULT_REGISTRY)
                .cloned()
                .unwrap_or_default();
        }
        matching
    }
}

impl Entry {
    fn credential(self) -> Result<Credential, SecretError> {
        if self.auth.is_empty() {
            return Ok(Credential {
                username: self.username,
                password: self.password,
            });
        }
        let decoded = if self.auth.trim().ends_with('=') {
            BASE64_STANDARD.decode(&self.auth)
        } else {
            BASE64_STANDARD_NO_PAD.decode(&self.auth)
        };
        let text = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let (username, password) = text
            .as_deref()
            .and_then(|text| text.split_once(':'))
            .ok_or(SecretError::Auth)?;
        Ok(Credential {
            username: username.to_owned(),
            password: password.to_owned(),
        })
    }
}

/// `https://host/v1/` and `host` are the same place.
fn place_key(place: &str) -> String {
    let place = place
        .strip_prefix("https://")
        .or_else(|| place.strip_prefix("http://"))
        .unwrap_or(place);
    let (host, path) = match place.find('/') {
        Some(slash) => place.split_at(slash),
        None => (place, ""),
    };
    let path = if path.starts_with("/v1/") || path.starts_with("/v2/") {
        &path[3..]
    } else {
        path
    };
    if path == "/" {
        host.to_owned()
    } else {
        format!("{host}{path}")
    }
}

fn matches(place: &str, repository: &str) -> bool {
    let split = |text: &str| match text.find('/') {
        Some(slash) => (text[..slash].to_owned(), text[slash..].to_owned()),
        None => (text.to_owned(), String::new()),
    };
    let ((glob, prefix), (host, path)) = (split(place), split(repository));
    let port = |host: &str| host.rsplit_once(':').map(|(_, port)| port.to_owned());
    let parts = |host: &str| -> Vec<String> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        name.split('.').map(str::to_owned).collect()
    };
    let (globs, names) = (parts(&glob), parts(&host));
    port(&glob) == port(&host)
        && globs.len() == names.len()
        && path.starts_with(&prefix)
        && globs
            .iter()
            .zip(&names)
            .all(|(glob, name)| glob_matches(glob.as_bytes(), name.as_bytes()))
}

/// `*` is any text, `?` any character.
fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    match (glob, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|skipped| glob_matches(rest, &text[skipped..])),
        ([b'?', glob @ ..], [_, text @ ..]) => glob_matches(glob, text),
        ([expected, glob @ ..], [found, text @ ..]) => expected == found && glob_matches(glob, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring(places: &[&str]) -> Keyring {
        let mut keyring = Keyring::new();
        for place in places {
            let username = (*place).to_owned();
            let password = String::new();
            keyring.add(place, Credential { username, password });
        }
        keyring
    }

    fn found(places: &[&str], repository: &str) -> Vec<String> {
        let credentials = keyring(places).find(repository).into_iter();
        credentials.map(|credential| credential.username).collect()
    }

    #[test]
    fn the_most_specific_comes_first() {
        let places = ["quay.io", "quay.io/coreos", "gcr.io"];
        assert_eq!(
            found(&places, "quay.io/coreos/etcd"),
            ["quay.io/coreos", "quay.io"]
        );
        assert_eq!(found(&places, "quay.io/other"), ["quay.io"]);
        assert!(found(&places, "example.com/x").is_empty());
    }

    #[test]
    fn hosts_may_have_stars_but_ports_are_exact() {
        assert_eq!(found(&["*.example.com"], "a.example.com/x"), ["*.example.com"]);
        assert!(found(&["*.example.com"], "a.b.example.com/x").is_empty());
        assert!(found(&["host:5000"], "host:5001/x").is_empty());
        assert_eq!(found(&["http://host:5000/v2/"], "host:5000/x").len(), 1);
    }

    #[test]
    fn docker_hub_has_its_old_address() {
        assert_eq!(
            found(&["https://index.docker.io/v1/"], "docker.io/library/x").len(),
            1
        );
        assert!(found(&["https://index.docker.io/v1/"], "quay.io/x").is_empty());
    }

    #[test]
    fn secrets_have_two_forms_and_two_ways_to_hold_a_password() {
        let mut keyring = Keyring::new();
        let json =
            br#"{"auths":{"a.io":{"auth":"YWRhOnNlY3JldDp4"},"b.io":{"username":"u","password":"p"}}}"#;
        let data = BTreeMap::from([(".dockerconfigjson".to_owned(), json.to_vec())]);
        keyring
            .add_secret("kubernetes.io/dockerconfigjson", &data)
            .unwrap();
        let data = BTreeMap::from([(
            ".dockercfg".to_owned(),
            br#"{"c.io":{"auth":"YTpiYw=="}}"#.to_vec(),
        )]);
        keyring.add_secret("kubernetes.io/dockercfg", &data).unwrap();
        let password = |repository: &str| keyring.find(repository)[0].password.clone();
        assert_eq!(password("a.io/x"), "secret:x");
        assert_eq!(password("b.io/x"), "p");
        assert_eq!(password("c.io/x"), "bc");
        let data = BTreeMap::from([(".dockercfg".to_owned(), br#"{"c.io":{"auth":"!"}}"#.to_vec())]);
        assert!(keyring.add_secret("kubernetes.io/dockercfg", &data).is_err());
        keyring.add_secret("Opaque", &data).unwrap();
    }
}
