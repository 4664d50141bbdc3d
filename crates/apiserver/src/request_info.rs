//! What a request is about: the verb, resource, namespace and name behind a method and a path.
//! Authorization, admission and routing all read this one answer.

use http::Method;

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
            Self::Resource(request) => {
                request.verb == "watch"
                    || matches!(
                        request.subresource.as_str(),
                        "attach" | "exec" | "proxy" | "log" | "portforward"
                    )
            }
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

fn read_resource(method: &Method, path: &str, mut watch: bool) -> Option<ResourceRequest> {
    let mut segments: Vec<String> = path.trim_matches('/').split('/').map(decode_segment).collect();
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
    request.verb = resource_verb(method, request.name.is_empty(), watch);
    Some(request)
}

fn resource_verb(method: &Method, collection: bool, watch: bool) -> &'static str {
    match *method {
        Method::GET if watch => "watch",
        Method::GET if collection => "list",
        Method::GET => "get",
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

fn decode_segment(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment)
        .decode_utf8_lossy()
        .into_owned()
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
