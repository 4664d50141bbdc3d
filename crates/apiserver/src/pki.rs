//! The cluster's own certificate authority, its serving certificate and the keys beside them, made
//! once and kept in the data directory.

use std::{
    fs,
    io::{self, Write as _},
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::tokens::Signer;

/// Everything secret or public that the server needs to be trusted and to recognise its clients.
pub(crate) struct Pki {
    pub ca_pem: String,
    pub admin_token: String,
    pub signer: Signer,
    pub tls: Arc<ServerConfig>,
}

#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("cannot read or write `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    #[error("`{}` does not hold what it should; move it away to have a new one made", path.display())]
    Malformed { path: PathBuf },
    #[error("the certificates do not make a TLS configuration")]
    Tls(#[from] rustls::Error),
}

/// Names and addresses under which the server may be reached.
const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

impl Pki {
    /// Reads the authority and keys below `dir`, making what is missing, and issues a serving
    /// certificate for `addresses`.
    pub(crate) fn open(dir: &Path, addresses: &[IpAddr]) -> Result<Self, PkiError> {
        fs::create_dir_all(dir).map_err(|source| PkiError::Io {
            path: dir.to_owned(),
            source,
        })?;
        let authority = Authority::open(dir)?;
        let admin_token = read_or_make(&dir.join("admin.token"), || Ok(random_token()))?;
        let signing_key = read_or_make(&dir.join("service-account.key"), || {
            Ok(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?.serialize_pem())
        })?;
        let signing_path = dir.join("service-account.key");
        let signing_der =
            PrivateKeyDer::from_pem_slice(signing_key.as_bytes()).map_err(|_| PkiError::Malformed {
                path: signing_path.clone(),
            })?;
        let signer = Signer::from_pkcs8(signing_der.secret_der())
            .map_err(|_| PkiError::Malformed { path: signing_path })?;
        let tls = authority.server_config(addresses)?;
        Ok(Self {
            ca_pem: authority.certificate_pem,
            admin_token: admin_token.trim().to_owned(),
            signer,
            tls,
        })
    }
}

struct Authority {
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn open(dir: &Path) -> Result<Self, PkiError> {
        let (key_path, certificate_path) = (dir.join("ca.key"), dir.join("ca.crt"));
        let key_pem = read_or_make(&key_path, || {
            Ok(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?.serialize_pem())
        })?;
        let key = KeyPair::from_pem(&key_pem).map_err(|_| PkiError::Malformed {
            path: key_path.clone(),
        })?;
        let certificate_pem = read_or_make(&certificate_path, || {
            Ok(authority_params().self_signed(&key)?.pem())
        })?;
        let malformed = || PkiError::Malformed {
            path: certificate_path.clone(),
        };
        let certificate =
            CertificateDer::from_pem_slice(certificate_pem.as_bytes()).map_err(|_| malformed())?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|_| malformed())?;
        Ok(Self {
            certificate_pem,
            certificate,
            issuer,
        })
    }

    /// A serving certificate is made anew at each start: it is cheap, and its names follow the address.
    fn server_config(&self, addresses: &[IpAddr]) -> Result<Arc<ServerConfig>, PkiError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = server_params(addresses)?.signed_by(&key, &self.issuer)?;
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let private = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|error| rustls::Error::General(error.to_owned()))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone(), self.certificate.clone()], private)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "trainyard-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

fn server_params(addresses: &[IpAddr]) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(SERVER_NAMES.map(str::to_owned))?;
    params
        .distinguished_name
        .push(DnType::CommonName, "trainyard-apiserver");
    params
        .subject_alt_names
        .extend(addresses.iter().copied().map(SanType::IpAddress));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Reads a file, or makes it: readable by its owner only, and never half-written.
fn read_or_make(path: &Path, make: impl FnOnce() -> Result<String, PkiError>) -> Result<String, PkiError> {
    let io = |source| PkiError::Io {
        path: path.to_owned(),
        source,
    };
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = make()?;
            write_private(path, &text).map_err(io)?;
            Ok(text)
        }
        Err(error) => Err(io(error)),
    }
}

/// Writes a file that only its owner can read, all at once.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn random_token() -> String {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    use ring::rand::SecureRandom;
    let mut bytes = [0; 32];
    // The system's random source does not fail on any kernel this runs on; a uuid is the floor.
    match ring::rand::SystemRandom::new().fill(&mut bytes) {
        Ok(()) => BASE64_URL_SAFE_NO_PAD.encode(bytes),
        Err(_) => format!(
            "{}{}",
            uuid::Uuid::new_v4().simple(),
            uuid::Uuid::new_v4().simple()
        ),
    }
}
