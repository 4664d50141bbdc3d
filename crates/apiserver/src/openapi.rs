//! OpenAPI documents of whatever is served now, made when somebody asks. Clients keep them by the hash
//! in their address, so nobody asks twice for the same one.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use field_docs::FieldDocs;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kinds::openapi::{self, Body, GroupVersionDoc, KindDoc, ResourceDoc, SchemaSource, SubresourceDoc};
use schemas::openapi::Format;
use serde_json::{Value, json};

use crate::{
    custom::CustomVersion,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    negotiate::Representation,
    query::Query,
    registry::Snapshot,
    response::{self, Answer},
};

/// `/openapi/v3`: which documents there are, each under the hash of its content.
pub(crate) fn index(snapshot: &Snapshot) -> Answer {
    let mut paths = serde_json::Map::new();
    let mut add = |name: String, hash: String| {
        let url = address(&name, &hash);
        paths.insert(name, json!({ "serverRelativeURL": url }));
    };
    for group in &snapshot.groups {
        if !group.name.is_empty() {
            add(format!("apis/{}", group.name), hash(&group.name));
        }
        for version in &group.versions {
            let custom = CustomSchemas::of(&version.kinds, Format::V3);
            let document = group_version(&group.name, &version.version, &version.kinds, &custom);
            add(document_name(&group.name, &version.version), hash(&document));
        }
    }
    add("api".to_owned(), hash("api"));
    add("apis".to_owned(), hash("apis"));
    add("version".to_owned(), hash("version"));
    response::value(StatusCode::OK, Representation::JSON, &json!({ "paths": paths }))
}

fn document_name(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

fn address(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// `/openapi/v3/NAME`.
pub(crate) async fn document(
    snapshot: Arc<Snapshot>,
    name: String,
    headers: &HeaderMap,
    query: &Query,
) -> Result<Answer> {
    let asked = query.text("hash").map(str::to_owned);
    let known = known_tag(headers);
    off_thread(move || {
        let docs = FieldDocs::open().map_err(ApiError::internal)?;
        let lookup = |type_name: &str, field: Option<&str>| docs.get(type_name, field);
        let found = snapshot.groups.iter().find_map(|group| {
            let version = group
                .versions
                .iter()
                .find(|v| document_name(&group.name, &v.version) == name)?;
            Some((group, version))
        });
        let write = |document: &openapi::Document<'_>, hash: &str| match asked.as_deref() {
            Some(asked) if asked != hash => Ok(moved(&address(&name, hash))),
            asked => write(document, Language::Json, hash, asked, known.as_deref()),
        };
        let Some((group, version)) = found else {
            let Some(document) = openapi::group_document(&name, &lookup) else {
                return Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n"));
            };
            return write(&document, &hash(&name));
        };
        let custom = CustomSchemas::of(&version.kinds, Format::V3);
        let described = group_version(&group.name, &version.version, &version.kinds, &custom);
        write(&openapi::document(&described, &lookup), &hash(&described))
    })
    .await
}

/// The document is not what the client knew by this hash.
fn moved(address: &str) -> Answer {
    let mut answer = response::text(StatusCode::MOVED_PERMANENTLY, "");
    if let Ok(address) = HeaderValue::from_str(address) {
        answer.headers_mut().insert(header::LOCATION, address);
    }
    answer
}

/// `/openapi/v2`: everything in one document of the older language.
pub(crate) async fn swagger(snapshot: Arc<Snapshot>, headers: &HeaderMap) -> Result<Answer> {
    let known = known_tag(headers);
    let language = if wants_protobuf(headers) {
        Language::Protobuf
    } else {
        Language::Json
    };
    off_thread(move || {
        let docs = FieldDocs::open().map_err(ApiError::internal)?;
        let lookup = |type_name: &str, field: Option<&str>| docs.get(type_name, field);
        let versions = || {
            snapshot
                .groups
                .iter()
                .flat_map(|group| group.versions.iter().map(move |v| (group, v)))
        };
        let custom: Vec<CustomSchemas> = versions()
            .map(|(_, v)| CustomSchemas::of(&v.kinds, Format::V2))
            .collect();
        let described: Vec<GroupVersionDoc<'_>> = versions()
            .zip(&custom)
            .map(|((group, v), custom)| group_version(&group.name, &v.version, &v.kinds, custom))
            .collect();
        let document = openapi::swagger(&described, &lookup);
        write(&document, language, &hash(&described), None, known.as_deref())
    })
    .await
}

/// What a document is written in.
#[derive(Clone, Copy)]
enum Language {
    Json,
    /// Only the older document has this form, and Go clients take it in no other.
    Protobuf,
}

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

fn wants_protobuf(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    // Clients spell it with an at sign, which is no valid media type; servers answer with a dot.
    accepted
        .flat_map(|value| value.split(','))
        .next()
        .is_some_and(|first| first.trim().replace('@', ".") == PROTOBUF)
}

/// Documents take milliseconds to write: not on a thread that answers requests.
async fn off_thread(make: impl FnOnce() -> Result<Answer> + Send + 'static) -> Result<Answer> {
    tokio::task::spawn_blocking(make)
        .await
        .map_err(ApiError::internal)?
}

fn known_tag(headers: &HeaderMap) -> Option<String> {
    headers
        .get(header::IF_NONE_MATCH)?
        .to_str()
        .ok()
        .map(str::to_owned)
}

fn write(
    document: &openapi::Document<'_>,
    language: Language,
    hash: &str,
    asked: Option<&str>,
    known: Option<&str>,
) -> Result<Answer> {
    let tag = format!("\"{hash}\"");
    let mut answer = if known == Some(tag.as_str()) {
        response::text(StatusCode::NOT_MODIFIED, "")
    } else {
        match language {
            Language::Json => {
                let bytes = serde_json::to_vec(document).map_err(ApiError::internal)?;
                response::json_bytes(StatusCode::OK, bytes)
            }
            Language::Protobuf => {
                response::with_type(StatusCode::OK, PROTOBUF, response::full(document.to_protobuf()))
            }
        }
    };
    let headers = answer.headers_mut();
    let mut set = |name, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    set(header::ETAG, &tag);
    set(header::VARY, "Accept");
    if asked == Some(hash) {
        // The address names the content: it never changes.
        set(header::CACHE_CONTROL, "public, immutable");
        set(header::EXPIRES, "Fri, 31 Dec 2094 23:59:59 GMT");
    } else {
        set(header::CACHE_CONTROL, "no-cache, private");
    }
    Ok(answer)
}

/// A hash that names a document. It only has to differ when the document does.
fn hash(described: &(impl Hash + ?Sized)) -> String {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    described.hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}

/// The published schemas of the custom kinds of one version, kept while the document borrows them.
struct CustomSchemas(Vec<(String, [(String, Value); 2])>);

impl CustomSchemas {
    fn of(kinds: &[Arc<Kind>], format: Format) -> Self {
        let custom = kinds.iter().filter_map(|kind| Some((kind, kind.custom()?)));
        Self(
            custom
                .map(|(kind, custom)| (kind.plural.to_string(), CustomVersion::openapi(custom, format)))
                .collect(),
        )
    }

    fn get(&self, plural: &str) -> Option<&[(String, Value); 2]> {
        self.0
            .iter()
            .find(|(name, _)| name == plural)
            .map(|(_, schemas)| schemas)
    }
}

fn group_version<'a>(
    group: &'a str,
    version: &'a str,
    kinds: &'a [Arc<Kind>],
    custom: &'a CustomSchemas,
) -> GroupVersionDoc<'a> {
    GroupVersionDoc {
        group,
        version,
        resources: kinds.iter().filter_map(|kind| resource(kind, custom)).collect(),
    }
}

fn resource<'a>(kind: &'a Kind, custom: &'a CustomSchemas) -> Option<ResourceDoc<'a>> {
    match &kind.definition {
        Definition::BuiltIn(built_in) => Some(ResourceDoc::built_in(built_in.resource)),
        Definition::Custom(_) => Some(ResourceDoc {
            kind: &kind.kind,
            plural: &kind.plural,
            namespaced: kind.namespaced,
            verbs: &kind.verbs,
            schema: SchemaSource::Custom(custom.get(&kind.plural)?),
            subresources: kind
                .subresources
                .iter()
                .map(|part| SubresourceDoc {
                    name: part.name,
                    verbs: part.verbs,
                    kind: KindDoc {
                        group: if part.version.is_empty() {
                            &kind.group
                        } else {
                            part.group
                        },
                        version: if part.version.is_empty() {
                            &kind.version
                        } else {
                            part.version
                        },
                        kind: &part.kind,
                    },
                    body: match part.name {
                        "scale" => Body::BuiltIn("io.k8s.api.autoscaling.v1.Scale"),
                        _ => Body::Parent,
                    },
                })
                .collect(),
        }),
    }
}
