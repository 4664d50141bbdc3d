//! The cluster's own certificate authority, its serving certificate and the keys beside them, made
//! once and kept in the data directory.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::unix::fs::{OpenOptionsExt, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
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
    pub serving: Serving,
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

/// Names under which the server may be reached, beside that of its machine.
const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

impl Pki {
    /// Reads the authority and keys below `dir`, making what is missing.
    pub(crate) fn open(dir: &Path) -> Result<Self, PkiError> {
        make_private(dir).map_err(|source| PkiError::Io {
            path: dir.to_owned(),
            source,
        })?;
        let authority = Authority::open(dir)?;
        let token_path = dir.join("admin.token");
        let admin_token = read_or_make(&token_path, || Ok(random_token()))?;
        let admin_token = admin_token.trim().to_owned();
        if !is_hard_to_guess(&admin_token) {
            return Err(PkiError::Malformed { path: token_path });
        }
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
        Ok(Self {
            ca_pem: authority.certificate_pem.clone(),
            admin_token,
            signer,
            serving: Serving::new(authority),
        })
    }
}

/// The certificates the server shows. They are made when they are needed, which is cheap: each names
/// the address it is shown at, so that none has to be known beforehand, and the machine's name, which
/// may change.
pub(crate) struct Serving {
    authority: Authority,
    made: Mutex<HashMap<(IpAddr, String), Arc<ServerConfig>>>,
}

impl Serving {
    /// Machines have a few addresses; who connects to more of them pays for it.
    const KEPT: usize = 64;

    fn new(authority: Authority) -> Self {
        Self {
            authority,
            made: Mutex::default(),
        }
    }

    /// How to speak TLS with somebody who reached this machine at an address.
    pub(crate) fn at(&self, address: IpAddr) -> Result<Arc<ServerConfig>, PkiError> {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = (address.to_canonical(), machine);
        if let Some(config) = self.made.lock().get(&name) {
            return Ok(config.clone());
        }
        let config = self.authority.server_config(name.0, &name.1)?;
        let mut made = self.made.lock();
        if made.len() >= Self::KEPT {
            made.clear();
        }
        made.insert(name, config.clone());
        Ok(config)
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

    fn server_config(&self, address: IpAddr, machine: &str) -> Result<Arc<ServerConfig>, PkiError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = server_params(address, machine)?.signed_by(&key, &self.issuer)?;
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

/// A certificate for loopback, the API's Service, and where and as whom the server is reached.
fn server_params(address: IpAddr, machine: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(SERVER_NAMES.map(str::to_owned))?;
    params
        .distinguished_name
        .push(DnType::CommonName, "trainyard-apiserver");
    let mut addresses: Vec<IpAddr> = vec![
        Ipv4Addr::LOCALHOST.into(),
        Ipv6Addr::LOCALHOST.into(),
        [10, 96, 0, 1].into(),
    ];
    if !addresses.contains(&address) {
        addresses.push(address);
    }
    let names = &mut params.subject_alt_names;
    names.extend(addresses.into_iter().map(SanType::IpAddress));
    // A machine may have a name that no certificate can hold.
    if !machine.is_empty() && !SERVER_NAMES.contains(&machine) {
        names.extend(machine.try_into().ok().map(SanType::DnsName));
    }
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

/// A folder that only its owner can enter, whatever it was before.
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
}

/// Whether a token is one: a file that was emptied or cut short must not open the door to everybody.
fn is_hard_to_guess(token: &str) -> bool {
    token.len() >= 32 && token.bytes().all(|byte| byte.is_ascii_graphic())
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

#[cfg(test)]
mod tests {
    use x509_parser::{extensions::GeneralName, parse_x509_certificate};

    use super::*;

    #[test]
    fn certificates_name_the_machine_and_where_it_is_reached() {
        let params = server_params([192, 0, 2, 7].into(), "workstation").unwrap();
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let (_, certificate) = parse_x509_certificate(certificate.der()).unwrap();
        let names = certificate.subject_alternative_name().unwrap().unwrap();
        let names = &names.value.general_names;
        assert!(names.contains(&GeneralName::DNSName("workstation")), "{names:?}");
        for address in [[192, 0, 2, 7], [127, 0, 0, 1], [10, 96, 0, 1]] {
            assert!(names.contains(&GeneralName::IPAddress(&address)), "{names:?}");
        }
    }

    #[test]
    fn a_token_that_anybody_could_guess_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        Pki::open(dir.path()).unwrap();
        for token in ["", "x", "a token with blanks in it, long enough otherwise"] {
            fs::write(dir.path().join("admin.token"), token).unwrap();
            let refused = Pki::open(dir.path()).err().expect("this is no token");
            assert!(refused.to_string().contains("admin.token"), "{refused}");
        }
    }

    #[test]
    fn nobody_else_can_look_into_the_folder_of_the_keys() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Pki::open(dir.path()).unwrap();
        let mode = fs::metadata(dir.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_machine_with_an_odd_name_gets_a_certificate_all_the_same() {
        assert!(server_params([127, 0, 0, 1].into(), "größe").is_ok());
    }

    #[test]
    fn a_certificate_is_made_once_for_each_address() {
        let folder = tempfile::tempdir().unwrap();
        let serving = Pki::open(folder.path()).unwrap().serving;
        let at = |address: IpAddr| serving.at(address).unwrap();
        let first = at([192, 0, 2, 7].into());
        assert!(Arc::ptr_eq(&first, &at([192, 0, 2, 7].into())));
        assert!(!Arc::ptr_eq(&first, &at([192, 0, 2, 8].into())));
        for last in 0..=255 {
            at([127, 0, 0, last].into());
        }
        assert!(serving.made.lock().len() <= Serving::KEPT);
    }
}
