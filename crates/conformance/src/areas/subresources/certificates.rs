//! Certificate requests: made by a user, approved by another, signed by a third.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use super::AREA;
use crate::{Check, Context, Failure, Outcome, answer::Answer};

const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// A real request for a client certificate.
fn request() -> Result<String, rcgen::Error> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.distinguished_name.push(DnType::CommonName, "somebody");
    let pem = parameters.serialize_request(&KeyPair::generate()?)?.pem()?;
    Ok(BASE64_STANDARD.encode(pem))
}

fn create(cx: &Context<'_>) -> Outcome<Answer> {
    let request = request().map_err(|error| Failure::new("", "a certificate request", error))?;
    let spec = json!({"request": request, "signerName": "example.com/own", "usages": ["client auth"]});
    cx.create_cluster(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        json!({"metadata": {"name": cx.unique("request")}, "spec": spec}),
    )
}

fn decided(mut request: Value, kind: &str) -> Value {
    request["status"]["conditions"] =
        json!([{"type": kind, "status": "True", "reason": "Test", "message": "said the check"}]);
    request
}

/// What somebody is told who asks for a certificate with this text.
fn refused(cx: &Context<'_>, pem: &str, why: &str) -> Outcome {
    let request = BASE64_STANDARD.encode(pem);
    let spec = json!({"request": request, "signerName": "example.com/own", "usages": ["client auth"]});
    let message = format!("Invalid value: \"{request}\": {why}");
    cx.post(
        PATH,
        json!({"metadata": {"name": cx.unique("request")}, "spec": spec}),
    )
    .invalid(&[("spec.request", "FieldValueInvalid", &message)])?
    .done()
}

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a certificate request must be one", |cx| {
        const NONE: &str = "PEM block type must be CERTIFICATE REQUEST";
        let block = |name: &str, body: &str| format!("-----BEGIN {name}-----\n{body}-----END {name}-----\n");
        refused(cx, "hello", NONE)?;
        refused(cx, &block("CERTIFICATE", "aGVsbG8=\n"), NONE)?;
        refused(cx, &block("CERTIFICATE REQUEST", "!!!\n"), NONE)?;
        let truncated = "asn1: syntax error: sequence truncated";
        refused(cx, &block("CERTIFICATE REQUEST", ""), truncated)
    }),
    Check::new(AREA, "a certificate request records who made it", |cx| {
        create(cx)?
            .has(json!({
                "spec": {"username": "<any>", "groups": ["<includes>", "system:authenticated"]}, "status": {},
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "a certificate request is approved only through its own path",
        |cx| {
            let made = create(cx)?;
            let path = format!("{PATH}/{}", made.text("/metadata/name"));
            cx.put(&path, decided(made.json.clone(), "Approved"))
                .expect(200)?
                .exactly("/status", json!({}))?;
            cx.put(format!("{path}/approval"), decided(made.json, "Approved"))
                .expect(200)?
                .has(json!({"status": {"conditions": [{
                    "type": "Approved", "status": "True", "reason": "Test",
                    "lastUpdateTime": "<time>", "lastTransitionTime": "<time>",
                }]}}))?
                .done()
        },
    ),
    Check::new(AREA, "an approval cannot be taken back", |cx| {
        let made = create(cx)?;
        let path = format!("{PATH}/{}/approval", made.text("/metadata/name"));
        let mut approved = cx.put(&path, decided(made.json, "Approved")).expect(200)?.json;
        approved["status"]["conditions"] = json!([]);
        cx.put(&path, approved)
            .invalid(&[(
                "status.conditions",
                "FieldValueForbidden",
                "Forbidden: updates may not remove a condition of type \"Approved\"",
            )])?
            .done()
    }),
    Check::new(AREA, "an approved request cannot be denied", |cx| {
        let made = create(cx)?;
        let path = format!("{PATH}/{}/approval", made.text("/metadata/name"));
        let mut body = decided(made.json, "Approved");
        let denied =
            json!({"type": "Denied", "status": "True", "reason": "Test", "message": "said the check"});
        let approved = body["status"]["conditions"][0].take();
        body["status"]["conditions"] = json!([approved, denied]);
        cx.put(&path, body)
            .invalid(&[(
                "status.conditions",
                "FieldValueInvalid",
                "Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive",
            )])?
            .done()
    }),
    Check::new(
        AREA,
        "a request that is no certificate request is refused",
        |cx| {
            let spec = json!({"request": "AAAA", "signerName": "example.com/own", "usages": ["client auth"]});
            cx.post(
                PATH,
                json!({"metadata": {"name": cx.unique("request")}, "spec": spec}),
            )
            .invalid(&[(
                "spec.request",
                "FieldValueInvalid",
                "Invalid value: \"AAAA\": PEM block type must be CERTIFICATE REQUEST",
            )])?
            .done()
        },
    ),
    Check::new(AREA, "a signer's name has a domain and a path", |cx| {
        let request = request().map_err(|error| Failure::new("", "a certificate request", error))?;
        let spec = json!({"request": request, "signerName": "own", "usages": ["client auth"]});
        cx.post(
            PATH,
            json!({"metadata": {"name": cx.unique("request")}, "spec": spec}),
        )
        .invalid(&[(
            "spec.signerName",
            "FieldValueInvalid",
            "Invalid value: \"own\": must be a fully qualified domain and path of the form \
                 'example.com/signer-name'",
        )])?
        .done()
    }),
];
