//! A server to measure, as the command line names it.

use std::{path::PathBuf, str::FromStr};

use anyhow::{Context as _, Error};

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Empty for what everybody may ask.
    pub(crate) token: String,
    /// Whom to trust; the file may appear only when the server starts.
    pub(crate) authority: PathBuf,
}

impl FromStr for Server {
    type Err = Error;

    /// Reads `NAME=https://HOST:PORT,TOKEN,CA-FILE`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (name, rest) = text.split_once('=')?;
            let (url, rest) = rest.split_once(',')?;
            let (token, authority) = rest.split_once(',')?;
            let (host, port) = url.strip_prefix("https://")?.rsplit_once(':')?;
            Some(Self {
                name: name.to_owned(),
                host: host.to_owned(),
                port: port.parse().ok()?,
                token: token.to_owned(),
                authority: authority.into(),
            })
        };
        parse().context("a server is given as NAME=https://HOST:PORT,TOKEN,CA-FILE")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_from_its_argument() {
        let server: Server = "ours=https://127.0.0.1:6443,secret,/pki/ca.crt".parse().unwrap();
        assert_eq!(
            (server.name.as_str(), server.host.as_str(), server.port),
            ("ours", "127.0.0.1", 6443)
        );
        assert_eq!(
            (server.token.as_str(), server.authority),
            ("secret", "/pki/ca.crt".into())
        );
    }

    #[test]
    fn a_server_without_an_authority_is_refused() {
        assert!("ours=https://127.0.0.1:6443,secret".parse::<Server>().is_err());
    }
}
