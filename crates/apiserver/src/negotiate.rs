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

/// The first representation in `Accept` this server can give of one object or of a list. Protobuf is
/// passed over: every client that asks for it also takes JSON.
pub(crate) fn accept(headers: &HeaderMap, is_list: bool) -> Result<Representation> {
    let mut refused = None;
    for value in headers.get_all(header::ACCEPT) {
        let Ok(value) = value.to_str() else { continue };
        for clause in value.split(',').filter(|clause| !clause.trim().is_empty()) {
            match read_clause(clause, is_list) {
                Ok(representation) => return Ok(representation),
                Err(error) => refused = Some(error),
            }
        }
    }
    refused.map_or(Ok(Representation::JSON), Err)
}

fn read_clause(clause: &str, is_list: bool) -> Result<Representation> {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next().unwrap_or_default() {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        _ => return Err(unknown_type()),
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
    let metadata = if is_list {
        "PartialObjectMetadataList"
    } else {
        "PartialObjectMetadata"
    };
    let form = match (wanted, group, version) {
        ("", ..) => Form::Object,
        ("Table", "meta.k8s.io", "v1") => Form::Table("v1"),
        ("Table", "meta.k8s.io", "v1beta1") => Form::Table("v1beta1"),
        (wanted, "meta.k8s.io", "v1" | "v1beta1") if wanted == metadata => Form::Metadata,
        _ => return Err(unknown_form()),
    };
    Ok(Representation { form, encoding })
}

/// The real server's words, protobuf included: its clients know what it can do.
fn unknown_type() -> ApiError {
    not_acceptable(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    )
}

fn unknown_form() -> ApiError {
    not_acceptable(
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )
}

fn not_acceptable(message: &str) -> ApiError {
    ApiError::new(http::StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
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
        assert_eq!(
            accept(&headers, false).ok().map(|r| r.form),
            expected,
            "for {text}"
        );
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
