//! What a request is about: the verb, resource, namespace and name behind a method and a path.
//! Authorization, admission and routing all read this one answer.

use http::Method;
use manifests::field_selector::{self, Operator};

/// A request to the API, or to something beside it (`/version`, `/openapi/v3`, ...).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestInfo {
    Resource(ResourceRequest),
    /// The path and the lower-case method.
    NonResource {
        path: String,
        verb: &'static str,
    },
}

/// A request for objects of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRequest {
    pub verb: &'static str,
    pub group: String,
    pub version: String,
    /// Empty for cluster-scoped resources and for lists over all namespaces.
    pub namespace: String,
    pub resource: String,
    pub subresource: String,
    /// What follows the subresource (`proxy/a/b`).
    pub rest: String,
    pub name: String,
    /// The one name a list or watch selects, if its field selector asks for one.
    pub selected_name: String,
}

impl ResourceRequest {
    /// Whether the answer is a stream of bytes that the client does not choose the form of.
    pub fn is_stream(&self) -> bool {
        matches!(
            self.subresource.as_str(),
            "attach" | "exec" | "proxy" | "log" | "portforward"
        )
    }

    /// Whether the request connects its client to something that both sides may talk to.
    pub fn is_connection(&self) -> bool {
        self.is_stream() && self.subresource != "log"
    }

    /// The name of the only object the request can be about; empty when there may be more.
    pub fn only_name(&self) -> &str {
        if self.name.is_empty() {
            &self.selected_name
        } else {
            &self.name
        }
    }
}

impl RequestInfo {
    /// Reads a request line. `watch` tells whether the query asks for a watch.
    pub fn read(method: &Method, path: &str, watch: bool) -> Self {
        read_resource(method, path, watch).map_or_else(
            || Self::NonResource {
                path: path.to_owned(),
                verb: plain_verb(method),
            },
            Self::Resource,
        )
    }

    /// The same request with its field selector: one that asks for a name makes it about that object.
    #[must_use]
    pub fn selecting(mut self, field_selector: Option<&str>) -> Self {
        if let Self::Resource(request) = &mut self
            && matches!(request.verb, "list" | "watch")
        {
            request.selected_name = field_selector.and_then(selected_name).unwrap_or_default();
        }
        self
    }

    fn verb(&self) -> &'static str {
        match self {
            Self::Resource(request) => request.verb,
            Self::NonResource { verb, .. } => verb,
        }
    }

    pub fn is_write(&self) -> bool {
        !matches!(self.verb(), "get" | "list" | "watch" | "head" | "options")
    }

    /// Whether the answer is a stream that goes on for as long as its client likes.
    pub fn is_long_running(&self) -> bool {
        match self {
            Self::Resource(request) => request.verb == "watch" || request.is_stream(),
            Self::NonResource { .. } => false,
        }
    }

    pub fn is_health_check(&self) -> bool {
        let Self::NonResource { path, .. } = self else {
            return false;
        };
        let first = path.split('/').nth(1).unwrap_or_default();
        matches!(first, "healthz" | "livez" | "readyz")
    }
}

/// The name a field selector asks for. One that could not stand in a path is no name.
fn selected_name(field_selector: &str) -> Option<String> {
    let requirements = field_selector::parse(field_selector).ok()?;
    requirements
        .into_iter()
        .find(|requirement| requirement.field == "metadata.name" && requirement.operator == Operator::Equals)
        .map(|requirement| requirement.value)
        .filter(|name| kinds::names::path_segment(name).is_empty())
}

fn read_resource(method: &Method, path: &str, mut watch: bool) -> Option<ResourceRequest> {
    // A slash is a slash, however it is written: no name holds one.
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let mut segments: Vec<String> = path.trim_matches('/').split('/').map(str::to_owned).collect();
    let (group, version) = match segments.first()?.as_str() {
        "api" if segments.len() >= 3 => (String::new(), segments[1].clone()),
        "apis" if segments.len() >= 4 => (segments[1].clone(), segments[2].clone()),
        _ => return None,
    };
    let mut rest = segments.split_off(if group.is_empty() && path.starts_with("/api/") {
        2
    } else {
        3
    });
    // The deprecated spelling of watches: /api/v1/watch/namespaces/x/pods.
    if rest.len() > 1 && rest[0] == "watch" && method == Method::GET {
        watch = true;
        rest.remove(0);
    }
    let mut request = ResourceRequest {
        group,
        version,
        ..ResourceRequest::default()
    };
    let mut rest = rest.into_iter().peekable();
    let first = rest.next().filter(|segment| !segment.is_empty())?;
    if first == "namespaces" {
        match rest.next() {
            None => request.resource = first,
            Some(namespace) => match rest.peek().map(String::as_str) {
                // `namespaces/x`, `namespaces/x/status` are about the namespace itself.
                None | Some("status" | "finalize") => {
                    request.resource = first;
                    request.namespace.clone_from(&namespace);
                    request.name = namespace;
                }
                Some(_) => {
                    request.namespace = namespace;
                    request.resource = rest.next()?;
                    request.name = rest.next().unwrap_or_default();
                }
            },
        }
    } else {
        request.resource = first;
        request.name = rest.next().unwrap_or_default();
    }
    request.subresource = rest.next().unwrap_or_default();
    request.rest = rest.collect::<Vec<_>>().join("/");
    let is_watch = watch && request.subresource.is_empty();
    request.verb = resource_verb(method, request.name.is_empty(), is_watch);
    Some(request)
}

fn resource_verb(method: &Method, collection: bool, watch: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD if watch => "watch",
        Method::GET | Method::HEAD if collection => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "",
    }
}

fn plain_verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(method: Method, path: &str, watch: bool) -> ResourceRequest {
        match RequestInfo::read(&method, path, watch) {
            RequestInfo::Resource(request) => request,
            RequestInfo::NonResource { .. } => panic!("{path} is about a resource"),
        }
    }

    #[test]
    fn paths_say_what_they_are_about() {
        let request = resource(Method::GET, "/api/v1/namespaces/ns/pods/p/log", false);
        assert_eq!(
            (
                request.verb,
                &*request.namespace,
                &*request.resource,
                &*request.name,
                &*request.subresource
            ),
            ("get", "ns", "pods", "p", "log")
        );
        let request = resource(Method::DELETE, "/apis/apps/v1/namespaces/ns/deployments", false);
        assert_eq!((request.verb, &*request.group), ("deletecollection", "apps"));
        let request = resource(Method::GET, "/api/v1/pods", true);
        assert_eq!((request.verb, &*request.namespace), ("watch", ""));
        let request = resource(Method::PUT, "/api/v1/namespaces/ns/finalize", false);
        assert_eq!(
            (&*request.resource, &*request.name, &*request.subresource),
            ("namespaces", "ns", "finalize")
        );
        let request = resource(Method::GET, "/api/v1/watch/namespaces/ns/pods", false);
        assert_eq!((request.verb, &*request.resource), ("watch", "pods"));
    }

    #[test]
    fn an_encoded_slash_is_a_slash() {
        let request = resource(Method::GET, "/api/v1/namespaces/ns/pods/..%2fsecrets", false);
        assert_eq!((&*request.name, &*request.subresource), ("..", "secrets"));
        let request = resource(Method::GET, "/api/v1/namespaces/ns/pods/a%25b", false);
        assert_eq!(&*request.name, "a%b");
    }

    #[test]
    fn a_list_of_one_name_is_about_that_object() {
        let only = |method: Method, path: &str, selector: &str| match RequestInfo::read(&method, path, false)
            .selecting(Some(selector))
        {
            RequestInfo::Resource(request) => request.only_name().to_owned(),
            RequestInfo::NonResource { .. } => panic!("{path} is about a resource"),
        };
        let pods = "/api/v1/namespaces/ns/pods";
        assert_eq!(
            only(Method::GET, pods, "status.phase=Running,metadata.name=a"),
            "a"
        );
        assert_eq!(only(Method::GET, pods, "metadata.name!=a"), "");
        assert_eq!(only(Method::GET, pods, "metadata.name=a/b"), "");
        assert_eq!(only(Method::DELETE, pods, "metadata.name=a"), "");
        assert_eq!(
            only(Method::GET, "/api/v1/namespaces/ns/pods/b", "metadata.name=a"),
            "b"
        );
    }

    #[test]
    fn everything_else_is_a_plain_path() {
        for path in ["/", "/version", "/api", "/apis/apps/v1", "/api/v1", "/openapi/v3"] {
            assert!(
                matches!(
                    RequestInfo::read(&Method::GET, path, false),
                    RequestInfo::NonResource { .. }
                ),
                "for {path}"
            );
        }
    }
}
