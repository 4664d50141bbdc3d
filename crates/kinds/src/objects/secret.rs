//! Secret: what each type must hold, `stringData` that turns into `data`, and a type that stays.

use base64::Engine as _;
use manifests::field::quoted;
use serde_json::{Map, Value};

use super::{
    config_map::{MAX_SIZE, decode, decoded_len, validate_frozen, validate_key},
    field::{Errors, Field},
};
use crate::{read, strategy::Strategy};

const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const REDACTED: &str = "<secret contents redacted>";

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_update,
    validate,
    validate_update,
    warnings_on_create: warnings,
    warnings_on_update: |secret, _| warnings(secret),
    ..Strategy::NONE
};

fn default(secret: &mut Value) {
    merge_string_data(secret);
    if read::text(secret, "type").is_empty() {
        secret["type"] = "Opaque".into();
    }
}

/// `stringData` is for writing only: its entries win over those of `data` and are never read back.
fn merge_string_data(secret: &mut Value) {
    let Some(Value::Object(texts)) = secret
        .as_object_mut()
        .and_then(|fields| fields.remove("stringData"))
    else {
        return;
    };
    if texts.is_empty() {
        return;
    }
    let data = read::object_mut(secret, "data");
    for (key, text) in texts {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key, encoded.into());
    }
}

fn prepare_for_update(secret: &mut Value, old: &Value) {
    if read::text(secret, "type").is_empty() {
        secret["type"] = read::get(old, "type").clone();
    }
}

fn validate(secret: &Value, errors: &mut Errors) {
    let root = Field::root(secret);
    let data = root.child("data");
    let mut size = 0;
    for (key, entry) in data.entries() {
        validate_key(key, &entry, errors);
        size += decoded_len(entry.text());
    }
    if size > MAX_SIZE {
        data.too_long(MAX_SIZE, errors);
    }
    validate_type(&root, &data, errors);
}

fn validate_type(root: &Field<'_>, data: &Field<'_>, errors: &mut Errors) {
    match root.child("type").text() {
        "kubernetes.io/service-account-token" => {
            root.child("metadata.annotations")
                .key(SERVICE_ACCOUNT_NAME)
                .require(errors);
        }
        "kubernetes.io/dockercfg" => validate_json(&data.key(".dockercfg"), errors),
        "kubernetes.io/dockerconfigjson" => validate_json(&data.key(".dockerconfigjson"), errors),
        "kubernetes.io/basic-auth" => {
            let (username, password) = (data.key("username"), data.key("password"));
            if !username.is_set() && !password.is_set() {
                username.required(errors);
                password.required(errors);
            }
        }
        "kubernetes.io/ssh-auth" => {
            data.key("ssh-privatekey").require(errors);
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                let entry = data.key(key);
                if !entry.is_set() {
                    entry.required(errors);
                }
            }
        }
        _ => {}
    }
}

/// The entry holds a JSON object; its text stays out of the complaint.
fn validate_json(entry: &Field<'_>, errors: &mut Errors) {
    if !entry.is_set() {
        entry.required(errors);
        return;
    }
    let text = decode(entry.text());
    if let Err(error) = serde_json::from_slice::<Map<String, Value>>(&text) {
        entry.invalid_as(REDACTED, go_json_error(&text, &error), errors);
    }
}

/// The most common complaints of the JSON reader, in the words users know.
fn go_json_error(text: &[u8], error: &serde_json::Error) -> String {
    let text = text.trim_ascii_start();
    let Some(first) = text.first() else {
        return "unexpected end of JSON input".to_owned();
    };
    match first {
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' if error.is_eof() => {
            "unexpected end of JSON input".to_owned()
        }
        b't' => literal_error(text, "true", "bool"),
        b'f' => literal_error(text, "false", "bool"),
        b'n' => literal_error(text, "null", "null"),
        b'[' if error.is_data() => not_a_map("array"),
        b'"' if error.is_data() => not_a_map("string"),
        b'-' | b'0'..=b'9' if error.is_data() => not_a_map("number"),
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' => error.to_string(),
        _ => format!(
            "invalid character {} looking for beginning of value",
            shown_byte(*first)
        ),
    }
}

fn literal_error(text: &[u8], literal: &str, kind: &str) -> String {
    match literal
        .bytes()
        .enumerate()
        .find(|(index, byte)| text.get(*index) != Some(byte))
    {
        None => not_a_map(kind),
        Some((index, expected)) => match text.get(index) {
            None => "unexpected end of JSON input".to_owned(),
            Some(found) => format!(
                "invalid character {} in literal {literal} (expecting {})",
                shown_byte(*found),
                shown_byte(expected)
            ),
        },
    }
}

fn shown_byte(byte: u8) -> String {
    quoted(&char::from(byte).to_string()).replace('"', "'")
}

fn not_a_map(found: &str) -> String {
    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}

fn validate_update(secret: &Value, old: &Value, errors: &mut Errors) {
    Field::root(secret)
        .child("type")
        .immutable(read::get(old, "type"), errors);
    validate_frozen(secret, old, &["data"], errors);
    validate(secret, errors);
}

/// A key pair that is none is accepted with a warning. Whether key and certificate belong together is
/// not looked at.
fn warnings(secret: &Value) -> Vec<String> {
    if read::text(secret, "type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let has_pem = |key| {
        let entry = decode(read::text(read::get(secret, "data"), key));
        let text = String::from_utf8_lossy(&entry);
        text.contains("-----BEGIN ") && text.contains("-----END ")
    };
    let parts = [("tls.crt", "certificate"), ("tls.key", "key")];
    let missing = parts.iter().find(|(key, _)| !has_pem(key));
    missing
        .map(|(_, part)| format!("tls: failed to find any PEM data in {part} input"))
        .into_iter()
        .collect()
}
