//! Certificates and keys, from files. `server` is how the server uses them, `client` how whoever measures does.

mod client;
mod server;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustls::InconsistentKeys;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

pub use client::{ClientFiles, ClientTls};
pub use server::ServerFiles;
pub(crate) use server::{Tls, follow};

/// Why files do not make TLS. Nothing here has a byte of what is in them: one of them is a secret.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read the {what} `{}`", path.display())]
    Read {
        what: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the {what} `{}` is none: {problem}", path.display())]
    Content {
        what: &'static str,
        path: PathBuf,
        problem: &'static str,
    },
    #[error("the key `{}` is not that of the certificate `{}`", key.display(), certificate.display())]
    NotAPair { certificate: PathBuf, key: PathBuf },
    #[error("the {what} `{}` cannot be used", path.display())]
    Unusable {
        what: &'static str,
        path: PathBuf,
        #[source]
        cause: rustls::Error,
    },
    #[error("`{0}` is no name that a certificate could have")]
    Name(String),
    #[error("{0}")]
    System(String),
}

const CERTIFICATE: &str = "certificate";
const KEY: &str = "key";
const AUTHORITY: &str = "certificate authority";

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|cause| TlsError::Read {
        what,
        path: path.to_owned(),
        cause,
    })
}

fn certificates(
    what: &'static str,
    path: &Path,
    bytes: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |problem| TlsError::Content {
        what,
        path: path.to_owned(),
        problem,
    };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match read {
        Ok(read) if read.is_empty() => Err(wrong("there is no certificate in PEM in it")),
        Ok(read) => Ok(read),
        Err(_) => Err(wrong("its PEM is damaged")),
    }
}

fn key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|_| TlsError::Content {
        what: KEY,
        path: path.to_owned(),
        problem: if bytes.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) {
            "it is encrypted"
        } else {
            "there is no private key in PEM in it"
        },
    })
}

const ENCRYPTED: &[u8] = b"ENCRYPTED";

/// What is wrong with a certificate and a key, each of which is one.
fn unpaired(certificate: &Path, key: &Path, cause: rustls::Error) -> TlsError {
    match cause {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::NotAPair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        },
        cause @ rustls::Error::InvalidCertificate(_) => TlsError::Unusable {
            what: CERTIFICATE,
            path: certificate.to_owned(),
            cause,
        },
        cause => TlsError::Unusable {
            what: KEY,
            path: key.to_owned(),
            cause,
        },
    }
}
