//! Which representation a client wants, read from `Accept`, and which one it sent, from
//! `Content-Type`.

use http::{HeaderMap, header};

use crate::error::{ApiError, Result};

/// How objects are shown to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object as it is.
    Object,
    /// `PartialObjectMetadata`: only the metadata.
    Metadata,
    /// `Table`: one row of cells an object, as `kubectl get` prints it. The string is the version of
    /// the Table kind.
    Table(&'static str),
}

/// The serialisation of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Representation {
    pub form: Form,
    pub encoding: Encoding,
}

impl Representation {
    pub(crate) const JSON: Self = Self {
        form: Form::Object,
        encoding: Encoding::Json,
    };

    pub(crate) fn content_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
        }
    }
}

/// Media types this server answers with.
pub(crate) const ACCEPTED: &[&str] = &["application/json", "application/yaml"];

/// The first representation in `Accept` this server can give. Protobuf is passed over: every client
/// that asks for it also takes JSON.
pub(crate) fn accept(headers: &HeaderMap) -> Result<Representation> {
    let mut asked = false;
    for value in headers.get_all(header::ACCEPT) {
        let Ok(value) = value.to_str() else { continue };
        for clause in value.split(',') {
            if clause.trim().is_empty() {
                continue;
            }
            asked = true;
            if let Some(representation) = read_clause(clause) {
                return Ok(representation);
            }
        }
    }
    if asked {
        Err(ApiError::not_acceptable(ACCEPTED))
    } else {
        Ok(Representation::JSON)
    }
}

fn read_clause(clause: &str) -> Option<Representation> {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next()? {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        _ => return None,
    };
    let (mut wanted, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => wanted = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            _ => {}
        }
    }
    let form = match (wanted, group, version) {
        ("", ..) => Form::Object,
        ("Table", "meta.k8s.io", "v1") => Form::Table("v1"),
        ("Table", "meta.k8s.io", "v1beta1") => Form::Table("v1beta1"),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
            Form::Metadata
        }
        _ => return None,
    };
    Some(Representation { form, encoding })
}

/// The media type of a request body, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map_or("", |value| value.split(';').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(text: &'static str, expected: Option<Form>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(text));
        assert_eq!(accept(&headers).ok().map(|r| r.form), expected, "for {text}");
    }

    #[test]
    fn the_first_form_we_can_give_wins() {
        check("application/json", Some(Form::Object));
        check("*/*", Some(Form::Object));
        check(
            "application/vnd.kubernetes.protobuf,application/json",
            Some(Form::Object),
        );
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Some(Form::Table("v1")),
        );
        check(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            Some(Form::Metadata),
        );
        check("text/html", None);
        check("application/json;as=Nonsense;g=x;v=y", None);
    }
}
