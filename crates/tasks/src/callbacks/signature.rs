//! Signatures of callbacks, as of Standard Webhooks 1.0. Pure but for the key's randomness, which is given.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::hmac;

const PREFIX: &str = "whsec_";

/// A key as it is written down.
pub fn written(random: &[u8; 32]) -> String {
    format!("{PREFIX}{}", BASE64_STANDARD.encode(random))
}

/// The value of the `webhook-signature` header.
pub fn sign(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
    let secret = secret.trim();
    let encoded = secret.strip_prefix(PREFIX).unwrap_or(secret);
    // Somebody may have chosen a key that is no base64.
    let key = BASE64_STANDARD
        .decode(encoded)
        .unwrap_or_else(|_| secret.as_bytes().to_vec());
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = hmac::sign(&key, format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(signed.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn the_specifications_example_is_signed_as_it_says() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(
            sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_key_that_is_made_can_be_used() {
        let key = written(&[7; 32]);
        assert!(key.starts_with(PREFIX));
        assert_ne!(sign(&key, "a", 1, "b"), sign(&key, "a", 2, "b"));
    }
}
