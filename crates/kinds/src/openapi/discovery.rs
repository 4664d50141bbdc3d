//! The paths that list what is served: `/api/`, `/apis/apps/`, `/apis/apps/v1/`, `/version/`.

use super::{
    GroupVersionDoc, naming,
    operation::{Operation, PathItem, Request, Response},
    paths, special, verbs,
};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The path of a document that is about a group, or about no group at all.
pub(super) fn path(name: &str) -> Option<(String, PathItem<'static>)> {
    let versions = "get available API versions";
    let (id, tag, description, answer) = match name {
        "api" => (
            "getCoreAPIVersions".to_owned(),
            "core".to_owned(),
            versions,
            meta("APIVersions"),
        ),
        "apis" => (
            "getAPIVersions".to_owned(),
            "apis".to_owned(),
            versions,
            meta("APIGroupList"),
        ),
        "version" => (
            "getCodeVersion".to_owned(),
            "version".to_owned(),
            "get the version information for this server",
            special::VERSION_INFO.to_owned(),
        ),
        _ => {
            let group = name.strip_prefix("apis/").filter(|group| !group.contains('/'))?;
            let short = naming::short(group);
            let id = format!("get{}APIGroup", naming::camel(short, true));
            let tag = naming::camel(short, false);
            (id, tag, "get information of a group", meta("APIGroup"))
        }
    };
    let produces = if name == "version" {
        &["application/json"]
    } else {
        verbs::ANSWERS
    };
    Some((format!("/{name}/"), item(id, tag, description, answer, produces)))
}

/// The path that lists the resources of a built-in group version. Custom ones are not described.
pub(super) fn resources(group_version: &GroupVersionDoc<'_>) -> Option<(String, PathItem<'static>)> {
    group_version.resources.iter().find(|it| !it.schema.is_custom())?;
    let found = item(
        naming::operation_id("get", group_version, "APIResources"),
        naming::tag(group_version),
        "get available resources",
        meta("APIResourceList"),
        verbs::ANSWERS,
    );
    Some((format!("{}/", paths::root(group_version)), found))
}

/// All of them, for the document that has everything.
pub(super) fn paths(group_versions: &[GroupVersionDoc<'_>]) -> Vec<(String, PathItem<'static>)> {
    let groups = group_versions
        .iter()
        .filter(|it| !it.group.is_empty() && resources(it).is_some())
        .map(|it| format!("apis/{}", it.group));
    let names = ["api", "apis", "version"]
        .map(str::to_owned)
        .into_iter()
        .chain(groups);
    names.filter_map(|name| path(&name)).collect()
}

fn meta(kind: &str) -> String {
    format!("{META}.{kind}")
}

fn item(
    id: String,
    tag: String,
    description: &str,
    answer: String,
    produces: &'static [&'static str],
) -> PathItem<'static> {
    PathItem {
        kind: "",
        parameters: Vec::new(),
        operations: vec![Operation {
            method: "get",
            id,
            tag,
            description: description.to_owned(),
            action: None,
            parameters: &[],
            consumes: produces,
            produces,
            request: Request::Nothing,
            response: Response::Object(answer),
            codes: &[("200", "OK")],
        }],
    }
}
