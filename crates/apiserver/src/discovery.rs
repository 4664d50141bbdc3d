//! What is served, in the two forms clients ask for it: one document for everything, or one per group
//! and version.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    error::ApiError,
    kind::Kind,
    negotiate::Representation,
    registry::{Group, Snapshot},
    response::{self, Answer},
};

const AGGREGATED: &str = "APIGroupDiscoveryList";

pub(crate) fn paths(snapshot: &Snapshot) -> Vec<String> {
    let mut paths = vec![
        "/api".to_owned(),
        "/api/v1".to_owned(),
        "/apis".to_owned(),
        "/apis/".to_owned(),
    ];
    for group in snapshot.groups.iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group
                .versions
                .iter()
                .map(|v| format!("/apis/{}/{}", group.name, v.version)),
        );
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/openid/v1/jwks",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    paths
}

/// `/api`.
pub(crate) fn core(snapshot: &Snapshot, headers: &HeaderMap) -> Answer {
    if let Some(version) = aggregated_version(headers) {
        return aggregated(snapshot, headers, version, |group| group.name.is_empty());
    }
    plain(&json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "" }],
    }))
}

/// `/apis`.
pub(crate) fn groups(snapshot: &Snapshot, headers: &HeaderMap) -> Answer {
    if let Some(version) = aggregated_version(headers) {
        return aggregated(snapshot, headers, version, |group| !group.name.is_empty());
    }
    let groups: Vec<Value> = snapshot
        .groups
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(api_group)
        .collect();
    plain(&json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
}

/// `/apis/GROUP`.
pub(crate) fn group(snapshot: &Snapshot, name: &str) -> Answer {
    let Some(group) = snapshot.group(name).filter(|group| !group.name.is_empty()) else {
        return not_found();
    };
    let mut value = api_group(group);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    plain(&value)
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resources(snapshot: &Snapshot, group: &str, version: &str) -> Answer {
    let found = snapshot
        .group(group)
        .and_then(|group| group.versions.iter().find(|v| v.version == version));
    let Some(found) = found else {
        return unknown_version(group, snapshot);
    };
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut kinds: Vec<&Kind> = found.kinds.iter().map(AsRef::as_ref).collect();
    kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
    let resources: Vec<Value> = kinds.into_iter().flat_map(api_resources).collect();
    let mut value = json!({
        "kind": "APIResourceList", "groupVersion": group_version, "resources": resources,
    });
    if !group.is_empty() {
        value["apiVersion"] = "v1".into();
    }
    plain(&value)
}

fn plain(value: &Value) -> Answer {
    response::value(StatusCode::OK, Representation::JSON, value)
}

/// A version nobody serves of a group somebody does.
fn unknown_version(group: &str, snapshot: &Snapshot) -> Answer {
    if snapshot.group(group).is_none() {
        return not_found();
    }
    response::error(&ApiError::no_such_resource())
}

fn not_found() -> Answer {
    response::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn api_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|v| json!({ "groupVersion": format!("{}/{}", group.name, v.version), "version": v.version }))
        .collect();
    json!({ "name": group.name, "preferredVersion": versions.first(), "versions": versions })
}

/// A kind and its subresources as rows of an `APIResourceList`.
fn api_resources(kind: &Kind) -> Vec<Value> {
    let mut own = json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        own["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        own["categories"] = json!(kind.categories);
    }
    if kind.has_verb("list") {
        own["storageVersionHash"] = storage_hash(kind).into();
    }
    let mut rows = vec![own];
    for subresource in &kind.subresources {
        let mut row = json!({
            "name": format!("{}/{}", kind.plural, subresource.name),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": subresource.kind,
            "verbs": subresource.verbs,
        });
        if (subresource.group, subresource.version) != (&*kind.group, &*kind.version)
            && !subresource.version.is_empty()
        {
            row["group"] = subresource.group.into();
            row["version"] = subresource.version.into();
        }
        rows.push(row);
    }
    rows
}

fn storage_hash(kind: &Kind) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let text = format!("{}/{}/{}", kind.group, kind.version, kind.kind);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    BASE64_STANDARD.encode(&digest.as_ref()[..8])
}

/// The version of the aggregated form a client asks for, if it asks for that before the plain one.
fn aggregated_version(headers: &HeaderMap) -> Option<&'static str> {
    for value in headers.get_all(header::ACCEPT) {
        for clause in value.to_str().unwrap_or_default().split(',') {
            let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
            let has = |part: &str| parts.contains(&part);
            if parts[0] != "application/json" {
                continue;
            }
            if has("g=apidiscovery.k8s.io") && has("as=APIGroupDiscoveryList") {
                if has("v=v2") {
                    return Some("v2");
                }
                continue;
            }
            return None;
        }
    }
    None
}

fn aggregated(
    snapshot: &Snapshot,
    headers: &HeaderMap,
    version: &'static str,
    wanted: impl Fn(&Group) -> bool,
) -> Answer {
    let items: Vec<Value> = snapshot
        .groups
        .iter()
        .filter(|group| wanted(group))
        .map(group_discovery)
        .collect();
    let value = json!({
        "kind": AGGREGATED,
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let bytes = value.to_string();
    let digest = ring::digest::digest(&ring::digest::SHA512, bytes.as_bytes());
    let etag: String = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    let etag = format!("\"{etag}\"");
    let content_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as={AGGREGATED}");
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let mut answer = if known == Some(&etag) {
        let mut answer = response::text(StatusCode::NOT_MODIFIED, "");
        answer.headers_mut().remove(header::CONTENT_TYPE);
        answer
    } else {
        response::json_bytes(StatusCode::OK, bytes)
    };
    let headers = answer.headers_mut();
    for (name, text) in [
        (header::ETAG, etag),
        (header::CONTENT_TYPE, content_type),
        (header::VARY, "Accept".to_owned()),
        (header::CACHE_CONTROL, "public".to_owned()),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
    answer
}

fn group_discovery(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let mut kinds: Vec<&std::sync::Arc<Kind>> = version.kinds.iter().collect();
            kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
            json!({
                "version": version.version,
                "resources": kinds.into_iter().map(|kind| resource_discovery(kind)).collect::<Vec<_>>(),
                "freshness": "Current",
            })
        })
        .collect();
    let metadata = if group.name.is_empty() {
        json!({ "creationTimestamp": null })
    } else {
        json!({ "name": group.name, "creationTimestamp": null })
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn resource_discovery(kind: &Kind) -> Value {
    // Built-in kinds leave out the group and version they are listed under, custom ones do not.
    let response_kind = |group: &str, version: &str, name: &str| {
        let own = version.is_empty() || (group, version) == (&*kind.group, &*kind.version);
        let (group, version) = match (own, kind.is_custom()) {
            (true, true) => (&*kind.group, &*kind.version),
            (true, false) => ("", ""),
            (false, _) => (group, version),
        };
        json!({ "group": group, "version": version, "kind": name })
    };
    let mut value = json!({
        "resource": kind.plural,
        "responseKind": response_kind("", "", &kind.kind),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        value["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        value["categories"] = json!(kind.categories);
    }
    let subresources: Vec<Value> = kind
        .subresources
        .iter()
        .map(|subresource| {
            json!({
                "subresource": subresource.name,
                "responseKind": response_kind(subresource.group, subresource.version, &subresource.kind),
                "verbs": subresource.verbs,
            })
        })
        .collect();
    if !subresources.is_empty() {
        value["subresources"] = subresources.into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_kinds_are_of_the_group_they_are_listed_under() {
        let kinds = crate::built_in::kinds();
        let deployments = kinds.iter().find(|kind| kind.is("apps", "Deployment")).unwrap();
        let described = resource_discovery(deployments);
        assert_eq!(
            described["responseKind"],
            json!({"group": "", "version": "", "kind": "Deployment"})
        );
        let kind_of = |part: &Value| (part["subresource"].clone(), part["responseKind"].clone());
        let parts: Vec<_> = described["subresources"]
            .as_array()
            .unwrap()
            .iter()
            .map(kind_of)
            .collect();
        assert_eq!(
            parts,
            [
                (
                    json!("scale"),
                    json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
                ),
                (
                    json!("status"),
                    json!({"group": "", "version": "", "kind": "Deployment"})
                ),
            ]
        );
    }
}
