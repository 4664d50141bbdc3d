//! The Kubernetes API as the service needs it: objects are JSON, and what it refuses becomes a problem that
//! people who know nothing of Kubernetes understand.

use futures_util::AsyncBufRead;
use http::{Method, Request, header};
use kube::{
    Client,
    core::{ApiResource, GroupVersionKind, Status},
};
use resources::tasks::TaskKind;
use serde_json::Value;

use crate::problem::{Code, Mistake, Outcome, Problem};

/// Where objects of a kind are.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: String,
}

impl Folder {
    pub(crate) fn core(namespace: &str, plural: &str) -> Self {
        Self {
            path: format!("/api/v1/namespaces/{namespace}/{plural}"),
        }
    }

    /// Objects of the whole cluster, or of all namespaces.
    pub(crate) fn cluster(plural: &str) -> Self {
        Self {
            path: format!("/api/v1/{plural}"),
        }
    }

    /// Objects of the service's own kinds.
    pub(crate) fn of(kind: &TaskKind, namespace: &str) -> Self {
        let root = format!("/apis/{}", kind.api_version());
        Self {
            path: if kind.is_namespaced {
                format!("{root}/namespaces/{namespace}/{}", kind.plural)
            } else {
                format!("{root}/{}", kind.plural)
            },
        }
    }

    /// The path of one of them.
    pub(crate) fn item(&self, name: &str) -> String {
        format!("{}/{}", self.path, escaped(name))
    }
}

/// The kind as `kube` knows it.
pub(crate) fn api_resource(kind: &TaskKind) -> ApiResource {
    let gvk = GroupVersionKind::gvk(resources::tasks::GROUP, resources::tasks::VERSION, kind.kind);
    ApiResource::from_gvk_with_plural(&gvk, kind.plural)
}

/// A client of the cluster.
#[derive(Clone)]
pub(crate) struct Objects {
    client: Client,
}

/// Whether something is done or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earnest {
    Really,
    DryRun,
}

impl Earnest {
    fn query(self) -> &'static str {
        match self {
            Self::Really => "",
            Self::DryRun => "&dryRun=All",
        }
    }
}

const MANAGER: &str = "fieldManager=trainyard-service";

impl Objects {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    pub(crate) async fn get(&self, folder: &Folder, name: &str) -> Result<Value, Refusal> {
        self.ask(Method::GET, &folder.item(name), None, "").await
    }

    /// What may not be there.
    pub(crate) async fn find(&self, folder: &Folder, name: &str) -> Result<Option<Value>, Refusal> {
        self.find_at(&folder.item(name)).await
    }

    /// The same by its path.
    pub(crate) async fn find_at(&self, path: &str) -> Result<Option<Value>, Refusal> {
        match self.ask(Method::GET, path, None, "").await {
            Ok(object) => Ok(Some(object)),
            Err(refusal) if refusal.is(404) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    pub(crate) async fn list(&self, folder: &Folder, query: &str) -> Result<Value, Refusal> {
        self.ask(Method::GET, &format!("{}?{query}", folder.path), None, "")
            .await
    }

    /// Of each object the metadata alone.
    pub(crate) async fn list_metadata(&self, folder: &Folder, query: &str) -> Result<Value, Refusal> {
        let request = Request::get(format!("{}?{query}", folder.path))
            .header(
                header::ACCEPT,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            )
            .body(Vec::new());
        self.send(request).await
    }

    pub(crate) async fn create(
        &self,
        folder: &Folder,
        object: &Value,
        earnest: Earnest,
    ) -> Result<Value, Refusal> {
        let path = format!("{}?{MANAGER}{}", folder.path, earnest.query());
        self.ask(Method::POST, &path, Some(object), "application/json")
            .await
    }

    /// The whole object, if it is still of the version it names.
    pub(crate) async fn replace(
        &self,
        folder: &Folder,
        name: &str,
        object: &Value,
        earnest: Earnest,
    ) -> Result<Value, Refusal> {
        let path = format!("{}?{MANAGER}{}", folder.item(name), earnest.query());
        self.ask(Method::PUT, &path, Some(object), "application/json")
            .await
    }

    pub(crate) async fn merge(&self, folder: &Folder, name: &str, change: &Value) -> Result<Value, Refusal> {
        let path = format!("{}?{MANAGER}", folder.item(name));
        self.ask(Method::PATCH, &path, Some(change), "application/merge-patch+json")
            .await
    }

    pub(crate) async fn delete(
        &self,
        folder: &Folder,
        name: &str,
        options: &Value,
    ) -> Result<Value, Refusal> {
        self.ask(
            Method::DELETE,
            &folder.item(name),
            Some(options),
            "application/json",
        )
        .await
    }

    /// Something that is asked by being created.
    pub(crate) async fn review(&self, path: &str, review: &Value) -> Result<Value, Refusal> {
        self.ask(Method::POST, path, Some(review), "application/json")
            .await
    }

    pub(crate) async fn text(&self, folder: &Folder, name: &str, rest: &str) -> Result<String, Refusal> {
        let request = Request::get(format!("{}{rest}", folder.item(name))).body(Vec::new());
        let request = request.map_err(|error| Refusal::unreadable(&error))?;
        Ok(self.client.request_text(request).await?)
    }

    /// An answer that is read while it is given.
    pub(crate) async fn stream(
        &self,
        folder: &Folder,
        name: &str,
        rest: &str,
    ) -> Result<impl AsyncBufRead + Send + use<>, Refusal> {
        let request = Request::get(format!("{}{rest}", folder.item(name))).body(Vec::new());
        let request = request.map_err(|error| Refusal::unreadable(&error))?;
        Ok(self.client.request_stream(request).await?)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        form: &str,
    ) -> Result<Value, Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        if !form.is_empty() {
            request = request.header(header::CONTENT_TYPE, form);
        }
        let body = body.map(|body| body.to_string().into_bytes());
        self.send(request.body(body.unwrap_or_default())).await
    }

    async fn send(&self, request: http::Result<Request<Vec<u8>>>) -> Result<Value, Refusal> {
        let request = request.map_err(|error| Refusal::unreadable(&error))?;
        Ok(self.client.request(request).await?)
    }
}

/// A part of a path as it may stand there.
pub(crate) fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Why the API did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// It said why.
    #[error("{}", .0.message)]
    Said(Box<Status>),
    /// It did not answer, or nothing that can be understood.
    #[error("the cluster did not answer: {0}")]
    Silent(String),
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Said(status),
            other => {
                // The innermost cause is the one that somebody can do something about.
                let mut why: &dyn std::error::Error = &other;
                while let Some(source) = why.source() {
                    why = source;
                }
                Self::Silent(why.to_string())
            }
        }
    }
}

impl Refusal {
    fn unreadable(error: &dyn std::error::Error) -> Self {
        Self::Silent(error.to_string())
    }

    /// What was to be read is there, but not to be read.
    pub(crate) fn file(error: &std::io::Error) -> Self {
        Self::Silent(error.to_string())
    }

    pub(crate) fn is(&self, code: u16) -> bool {
        matches!(self, Self::Said(status) if status.code == code)
    }

    /// Whether it says that nothing was done. After no answer, or one that it failed, something may have been.
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self, Self::Said(status) if (400..500).contains(&status.code) && status.code != 408)
    }

    /// Whether it says that the cluster failed, or somebody it asked.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Said(status) if status.code >= 500)
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Said(status) => &status.reason,
            Self::Silent(_) => "",
        }
    }

    /// As a problem about something that people call by this name.
    pub(crate) fn about(&self, what: &str, name: &str) -> Problem {
        let status = match self {
            Self::Silent(why) => {
                tracing::warn!(why, "the cluster cannot be asked");
                return Problem {
                    retry_after: Some(1),
                    ..Problem::new(Code::Unavailable, "the cluster did not answer; try again")
                };
            }
            Self::Said(status) => status,
        };
        let said = || format!("the cluster refuses {what} `{name}`: {}", status.message);
        match (status.code, status.reason.as_str()) {
            (404, _) => match status.details.as_ref() {
                Some(details) if details.kind == "namespaces" => {
                    Problem::not_found("namespace", &details.name)
                }
                _ => Problem::not_found(what, name),
            },
            (409, "AlreadyExists") => {
                Problem::new(Code::AlreadyExists, format!("there is already a {what} `{name}`"))
            }
            (409, _) => Problem::new(
                Code::Changed,
                format!("{what} `{name}` was changed by somebody else at the same time"),
            ),
            (410, _) => Problem::new(Code::Gone, format!("{what} `{name}` is gone")),
            (400 | 422, _) => Problem {
                errors: causes(status),
                ..Problem::new(Code::Invalid, said())
            },
            (403, _) => Problem::new(Code::Forbidden, said()),
            (413, _) => Problem::new(Code::TooLarge, said()),
            (429 | 503 | 504, _) => Problem {
                retry_after: Some(u64::from(
                    status
                        .details
                        .as_ref()
                        .map_or(1, |details| details.retry_after_seconds.max(1)),
                )),
                ..Problem::new(Code::Unavailable, "the cluster is busy; try again")
            },
            _ => {
                tracing::warn!(
                    code = status.code,
                    reason = status.reason,
                    message = status.message,
                    "refused"
                );
                Problem::new(Code::Internal, format!("{what} `{name}`: the cluster failed"))
            }
        }
    }
}

/// The fields the API does not like. Those of our kinds have their names in `spec`.
fn causes(status: &Status) -> Vec<Mistake> {
    let causes = status.details.iter().flat_map(|details| details.causes.iter());
    causes
        .map(|cause| {
            let field = cause.field.strip_prefix("spec.").unwrap_or(&cause.field);
            let pointer: String = field
                .split(['.', '['])
                .map(|part| format!("/{}", part.trim_end_matches(']')))
                .collect();
            Mistake::new(pointer, cause.message.clone())
        })
        .collect()
}

/// Shorthand for handlers that have nothing to add to what was refused.
pub(crate) trait About<T> {
    fn about(self, what: &str, name: &str) -> Outcome<T>;
}

impl<T> About<T> for Result<T, Refusal> {
    fn about(self, what: &str, name: &str) -> Outcome<T> {
        self.map_err(|refusal| refusal.about(what, name))
    }
}
