//! Which representation a client wants, read from `Accept`, and which one it sent, from
//! `Content-Type`.

use http::{HeaderMap, header};

use crate::{
    error::{ApiError, Result},
    kind::Kind,
};

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

/// The first representation in `Accept` this server can give of one object of a kind or of a list.
pub(crate) fn accept(headers: &HeaderMap, kind: &Kind, is_list: bool) -> Result<Representation> {
    let (encoding, wanted) = wanted(headers, is_list)?;
    let form = match wanted {
        Wanted::Object => Form::Object,
        Wanted::Table(version) => Form::Table(version),
        Wanted::Metadata { of_list } if of_list == is_list => Form::Metadata,
        Wanted::Metadata { .. } => return Err(wrong_metadata(kind, is_list)),
    };
    Ok(Representation { form, encoding })
}

/// What a client asks to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Object,
    /// The metadata of one object or of each in a list.
    Metadata {
        of_list: bool,
    },
    Table(&'static str),
}

/// The first clause of `Accept` we know. Protobuf is passed over: every client that asks for it also
/// takes JSON.
fn wanted(headers: &HeaderMap, is_list: bool) -> Result<(Encoding, Wanted)> {
    let mut refused = None;
    for value in headers.get_all(header::ACCEPT) {
        let Ok(value) = value.to_str() else { continue };
        for clause in value.split(',').filter(|clause| !clause.trim().is_empty()) {
            match read_clause(clause, is_list) {
                Ok(wanted) => return Ok(wanted),
                Err(error) => refused = Some(error),
            }
        }
    }
    refused.map_or(Ok((Encoding::Json, Wanted::Object)), Err)
}

fn read_clause(clause: &str, is_list: bool) -> Result<(Encoding, Wanted)> {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next().unwrap_or_default() {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        _ => return Err(unknown_type(is_list)),
    };
    let (mut form, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => form = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            _ => {}
        }
    }
    let wanted = match (form, group, version) {
        ("", ..) => Wanted::Object,
        ("Table", "meta.k8s.io", "v1") => Wanted::Table("v1"),
        ("Table", "meta.k8s.io", "v1beta1") => Wanted::Table("v1beta1"),
        ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Wanted::Metadata { of_list: false },
        ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => Wanted::Metadata { of_list: true },
        _ => return Err(unknown_form()),
    };
    Ok((encoding, wanted))
}

/// The metadata of a list where there is an object, or the other way round.
fn wrong_metadata(kind: &Kind, is_list: bool) -> ApiError {
    let (asked, is) = if is_list {
        ("PartialObjectMetadata", "a list")
    } else {
        ("PartialObjectMetadataList", "not a list")
    };
    not_acceptable(&format!(
        "you requested {asked}, but the requested object is {is} ({})",
        kind.go_type(is_list)
    ))
}

/// What there is to choose from, which is not protobuf. Of a collection there are streams too.
fn unknown_type(is_list: bool) -> ApiError {
    let streams = if is_list {
        ", application/json;stream=watch"
    } else {
        ""
    };
    not_acceptable(&format!(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml{streams}",
    ))
    .with_details(serde_json::json!({}))
}

fn unknown_form() -> ApiError {
    not_acceptable("only the following media types are accepted: application/json, application/yaml")
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
    fn check(text: &'static str, expected: Option<Wanted>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(text));
        let wanted = wanted(&headers, false).ok().map(|(_, wanted)| wanted);
        assert_eq!(wanted, expected, "for {text}");
    }

    #[test]
    fn the_first_form_we_can_give_wins() {
        check("application/json", Some(Wanted::Object));
        check("*/*", Some(Wanted::Object));
        check(
            "application/vnd.kubernetes.protobuf,application/json",
            Some(Wanted::Object),
        );
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Some(Wanted::Table("v1")),
        );
        check(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            Some(Wanted::Metadata { of_list: false }),
        );
        check("text/html", None);
        check("application/json;as=Nonsense;g=x;v=y", None);
    }

    #[test]
    fn a_list_is_no_object_and_an_object_no_list() {
        let kinds = crate::built_in::kinds();
        let kind = kinds.iter().find(|kind| kind.is("", "ConfigMap")).unwrap();
        let refused = |form: &'static str, is_list| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(form));
            accept(&headers, kind, is_list).unwrap_err().message
        };
        assert_eq!(
            refused(
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                true
            ),
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
        );
        assert_eq!(
            refused(
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                false
            ),
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
        );
    }
}
