//! TLS: certificates are made, named, replaced and mistaken as users do.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use client_tests::{binary, get_from, run};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;

use crate::{Model, Served, measured, refused, trained, until};

/// Who vouches for servers and clients.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// It writes itself to a file.
    fn new(path: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(path, issuer.pem()).unwrap();
        Self { issuer }
    }

    /// A certificate for these names, and its key.
    fn issue(&self, files: &Files, names: &[&str]) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        fs::write(&files.certificate, certificate.pem()).unwrap();
    }
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(model: &Model, name: &str) -> Self {
        Self {
            certificate: model.beside(&format!("{name}.crt")),
            key: model.beside(&format!("{name}.key")),
        }
    }

    /// As options of `serve` and `bench-serving`.
    fn options(&self) -> [&str; 4] {
        let (certificate, key) = (self.certificate.to_str(), self.key.to_str());
        ["--tls-cert", certificate.unwrap(), "--tls-key", key.unwrap()]
    }
}

const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];
const FEW: [&str; 5] = ["-n", "5", "-w", "0", "-q"];

fn secure(served: &Served) -> String {
    format!("https://{}", served.address())
}

#[test]
fn over_tls_every_protocol_is_answered() {
    let model = trained().copy();
    let ca = model.beside("ca.crt");
    let files = Files::new(&model, "server");
    Authority::new(&ca).issue(&files, &NAMES);
    let ca = ca.to_str().unwrap();
    let served = model.serve(&files.options());
    assert_eq!(served.block["tls"], true);
    let server = secure(&served);
    let all = ["-b", "50", "-n", "40", "-o", "json", "--tls-ca", ca];
    let report: Value = serde_json::from_str(&measured(&server, &all).success()).unwrap();
    let difference = report["accuracy"].as_f64().unwrap() - trained().accuracy;
    assert!(difference.abs() < 1e-4, "{report}");
    let status = get_from(&format!("{server},,{ca}"), "/v1/models/digits");
    assert!(status.body.contains("AVAILABLE"), "{}", status.body);
    // Who names an authority means TLS.
    measured(&served.address(), &[&FEW[..], &["--tls-ca", ca]].concat()).success();
    refused(
        &measured(&server, &FEW),
        &["certificate signed by unknown authority", "hint: --tls-ca names"],
    );
    refused(
        &measured(&server, &["--tls-ca", ca, "--tls-name", "models.example.org"]),
        &["models.example.org", "hint: --tls-ca names"],
    );
    refused(
        &measured(&served.address(), &["--retries", "0"]),
        &["does not answer", "https://HOST:PORT where it speaks TLS"],
    );
    assert_eq!(served.stop(), Some(0));
    let plain = model.serve(&[]);
    refused(
        &measured(&secure(&plain), &["--tls-ca", ca]),
        &["it does not speak TLS"],
    );
}

#[test]
fn only_those_with_a_certificate_are_answered() {
    let model = trained().copy();
    let ca = model.beside("ca.crt");
    let (server, client) = (Files::new(&model, "server"), Files::new(&model, "client"));
    let authority = Authority::new(&ca);
    authority.issue(&server, &NAMES);
    authority.issue(&client, &["somebody"]);
    let ca = ca.to_str().unwrap();
    let served = model.serve(&[&server.options()[..], &["--tls-client-ca", ca]].concat());
    let trusting = [&FEW[..], &["--retries", "0", "--tls-ca", ca]].concat();
    // Whether the server's reason comes before its end is chance: in TLS 1.3 it follows the handshake.
    refused(&measured(&secure(&served), &trusting), &["does not answer"]);
    measured(&secure(&served), &[&trusting[..], &client.options()].concat()).success();
    // One of somebody else's.
    Authority::new(&model.beside("other.crt")).issue(&client, &["somebody"]);
    let stranger = [&trusting[..], &client.options()].concat();
    refused(&measured(&secure(&served), &stranger), &["does not answer"]);
}

#[test]
fn certificates_are_replaced_while_it_serves() {
    let model = trained().copy();
    let files = Files::new(&model, "server");
    let trusted = |name: &str| model.beside(name).to_str().unwrap().to_owned();
    let issue = |name: &str| Authority::new(&model.beside(name)).issue(&files, &NAMES);
    issue("first.crt");
    let served = model.serve(&files.options());
    let is_believed = |ca: &str| {
        let output = measured(
            &secure(&served),
            &[&FEW[..], &["--tls-ca", &trusted(ca)]].concat(),
        );
        output.code == 0
    };
    assert!(is_believed("first.crt"));
    // In the middle of a change, and after a mistake, what there was stays.
    let certificate = fs::read(&files.certificate).unwrap();
    fs::write(&files.certificate, "damaged").unwrap();
    assert!(is_believed("first.crt"));
    fs::write(&files.certificate, certificate).unwrap();
    issue("second.crt");
    until("the new certificate is not used", || is_believed("second.crt"));
    assert!(!is_believed("first.crt"));
}

#[test]
fn files_that_make_no_tls_are_told() {
    let model = trained().copy();
    let (files, other) = (Files::new(&model, "server"), Files::new(&model, "other"));
    let authority = Authority::new(&model.beside("ca.crt"));
    authority.issue(&files, &NAMES);
    authority.issue(&other, &NAMES);
    let path = |name: &str| model.beside(name).to_str().unwrap().to_owned();
    fs::write(path("empty"), "").unwrap();
    let sealed = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(path("sealed"), sealed).unwrap();
    let (crt, key) = (path("server.crt"), path("server.key"));
    let secret = fs::read_to_string(&key).unwrap();
    let secret = secret.lines().nth(1).unwrap();
    let none = String::new();
    for (crt, key, clients, told) in [
        (&path("gone"), &key, &none, "cannot read the certificate `"),
        (&crt, &path("gone"), &none, "cannot read the key `"),
        (
            &path("empty"),
            &key,
            &none,
            "there is no certificate in PEM in it",
        ),
        (
            &crt,
            &path("empty"),
            &none,
            "there is no private key in PEM in it",
        ),
        (&crt, &path("sealed"), &none, "it is encrypted"),
        (&key, &crt, &none, "there is no certificate in PEM in it"),
        (&crt, &path("other.key"), &none, "is not that of the certificate"),
        (&crt, &key, &path("empty"), "the certificate authority `"),
    ] {
        let mut serve = Command::new(binary());
        serve.arg("serve").arg(model.path());
        serve.args(["--port", "0", "--tls-cert", crt, "--tls-key", key]);
        if !clients.is_empty() {
            serve.args(["--tls-client-ca", clients]);
        }
        let output = run(&mut serve, "");
        let folder = model.path();
        let folder = folder.parent().unwrap().to_str().unwrap();
        refused(&output, &[told, folder, "hint: --tls-cert and --tls-key"]);
        assert!(!output.stderr.contains(secret), "{}", output.stderr);
    }
    let mut half = Command::new(binary());
    half.args(["serve", "x", "--tls-cert", &crt]);
    refused(&run(&mut half, ""), &["--tls-key"]);
    refused(
        &measured("https://localhost:1", &["--tls-ca", &path("empty")]),
        &["there is no certificate in PEM in it", &path("empty")],
    );
}
