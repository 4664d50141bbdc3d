//! A new key pair in the forms that `ssh` and `sshd` read.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};

/// A key is made for every job, and one of a larger curve takes many times as long.
const CURVE: &str = "nistp256";

/// The system has no random numbers to make a key of.
#[derive(Debug, thiserror::Error)]
#[error("a key cannot be made: the system has no random numbers")]
pub(crate) struct NoKey;

pub(crate) struct KeyPair {
    /// PKCS#8, in PEM form.
    pub private: String,
    /// A line of an `authorized_keys` file.
    pub public: String,
}

pub(crate) fn generate() -> Result<KeyPair, NoKey> {
    let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| NoKey)?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).map_err(|_| NoKey)?;
    let name = format!("ecdsa-sha2-{CURVE}");
    let mut blob = Vec::new();
    for part in [name.as_bytes(), CURVE.as_bytes(), pair.public_key().as_ref()] {
        // No part is longer than a hundred bytes.
        blob.extend((part.len() as u32).to_be_bytes());
        blob.extend(part);
    }
    Ok(KeyPair {
        private: pem(document.as_ref()),
        public: format!("{name} {}\n", BASE64_STANDARD.encode(blob)),
    })
}

fn pem(document: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(document);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .filter_map(|at| text.get(at..text.len().min(at + 64)))
        .collect();
    format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_have_the_forms_that_ssh_reads() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        assert_ne!(one.public, other.public);
        assert!(
            one.public
                .starts_with("ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB")
        );
        assert!(one.private.starts_with("-----BEGIN PRIVATE KEY-----\nMI"));
        assert!(one.private.lines().all(|line| line.len() <= 64));
    }
}
