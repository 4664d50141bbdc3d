//! TLS of whoever asks a server.

use std::{path::PathBuf, sync::Arc};

use rustls::{
    ClientConfig,
    crypto::ring,
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_pki_types::ServerName;

use super::{AUTHORITY, CERTIFICATE, KEY, TlsError, certificates, key, read, unpaired};

/// Whom to believe, and who one is.
#[derive(Clone, Debug, Default)]
pub struct ClientFiles {
    /// Authorities to believe beside those of the system.
    pub authorities: Option<PathBuf>,
    /// A certificate and its key, for servers that want to know who asks.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// What the certificate of the server is for, where it is reached by another name.
    pub name: Option<String>,
}

/// What the files make.
#[derive(Clone, Debug)]
pub struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl ClientTls {
    pub fn load(files: &ClientFiles) -> Result<Self, TlsError> {
        let mut authorities = Vec::new();
        if let Some(path) = &files.authorities {
            authorities = read(AUTHORITY, path)?;
            certificates(AUTHORITY, path, &authorities)?;
        }
        let config = verified_tls::client_config(&authorities).map_err(TlsError::System)?;
        let mut config = Arc::unwrap_or_clone(config);
        config.alpn_protocols = vec![b"h2".to_vec()];
        if let Some((certificate, private)) = &files.identity {
            let chain = certificates(CERTIFICATE, certificate, &read(CERTIFICATE, certificate)?)?;
            let key = key(private, &read(KEY, private)?)?;
            let identity = CertifiedKey::from_der(chain, key, &ring::default_provider())
                .map_err(|cause| unpaired(certificate, private, cause))?;
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(identity));
        }
        let name = files.name.as_deref().map(server_name).transpose()?;
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// Whom the certificate of a server must be for.
    pub(crate) fn name(&self, host: &str) -> Result<ServerName<'static>, TlsError> {
        match &self.name {
            Some(name) => Ok(name.clone()),
            None => server_name(host.trim_start_matches('[').trim_end_matches(']')),
        }
    }
}

fn server_name(text: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(text.to_owned()).map_err(|_| TlsError::Name(text.to_owned()))
}
