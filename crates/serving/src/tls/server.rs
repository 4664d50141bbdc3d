//! TLS of the server. Its files are read again when they change: certificates are replaced while it runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::{AUTHORITY, CERTIFICATE, KEY, TlsError, certificates, key, read, unpaired};

/// Where a server has its certificates; all in PEM.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// Its certificate, followed by those between it and its authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Whoever asks needs a certificate of one of these authorities.
    pub client_authorities: Option<PathBuf>,
}

/// What the files make, as of when they were last good.
pub(crate) struct Tls {
    files: ServerFiles,
    state: Mutex<State>,
}

struct State {
    config: Arc<ServerConfig>,
    /// What the files had when they were last looked at.
    seen: Contents,
    /// What was last said about them.
    complaint: Option<String>,
}

#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_authorities: Option<Vec<u8>>,
}

impl ServerFiles {
    fn read(&self) -> Result<Contents, TlsError> {
        let authorities = self.client_authorities.as_ref();
        Ok(Contents {
            certificate: read(CERTIFICATE, &self.certificate)?,
            key: read(KEY, &self.key)?,
            client_authorities: authorities.map(|path| read(AUTHORITY, path)).transpose()?,
        })
    }

    fn config(&self, contents: &Contents) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = certificates(CERTIFICATE, &self.certificate, &contents.certificate)?;
        let key = key(&self.key, &contents.key)?;
        let unusable = |cause| unpaired(&self.certificate, &self.key, cause);
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let builder = match (&self.client_authorities, &contents.client_authorities) {
            (Some(path), Some(bytes)) => builder.with_client_cert_verifier(verifier(path, bytes)?),
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn verifier(path: &Path, bytes: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable = |cause| TlsError::Unusable {
        what: AUTHORITY,
        path: path.to_owned(),
        cause,
    };
    let mut roots = RootCertStore::empty();
    for authority in certificates(AUTHORITY, path, bytes)? {
        roots.add(authority).map_err(unusable)?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()))
        .build()
        .map_err(|error| unusable(rustls::Error::General(error.to_string())))
}

impl Tls {
    pub(crate) fn load(files: ServerFiles) -> Result<Self, TlsError> {
        let seen = files.read()?;
        let config = files.config(&seen)?;
        Ok(Self {
            files,
            state: Mutex::new(State {
                config,
                seen,
                complaint: None,
            }),
        })
    }

    /// For one connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.state.lock().config.clone())
    }

    /// Takes what the files have now, if it is good. In the middle of a change it need not be.
    fn refresh(&self) {
        let looked = self.files.read();
        let mut state = self.state.lock();
        let taken = match looked {
            Ok(contents) if contents == state.seen => return,
            Ok(contents) => {
                let config = self.files.config(&contents);
                state.seen = contents;
                config
            }
            Err(error) => Err(error),
        };
        match taken {
            Ok(config) => {
                state.config = config;
                state.complaint = None;
                tracing::info!(file = %self.files.certificate.display(), "the certificate was replaced");
            }
            Err(error) => state.complain(&error),
        }
    }
}

impl State {
    /// Once, as long as it is the same.
    fn complain(&mut self, error: &TlsError) {
        let words = error.to_string();
        if self.complaint.as_ref() == Some(&words) {
            return;
        }
        let error: &(dyn std::error::Error + 'static) = error;
        tracing::warn!(error, "new certificates cannot be used, those of before stay");
        self.complaint = Some(words);
    }
}

/// Looks at the files again and again until told to stop.
pub(crate) async fn follow(tls: Arc<Tls>, interval: Duration, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(interval) => {}
        }
        let tls = tls.clone();
        // They may lie on a file server that does not answer.
        let _ = tokio::task::spawn_blocking(move || tls.refresh()).await;
    }
}
