//! One authorized request to a resource, with everything a verb needs to answer it.

use std::sync::Arc;

use http::HeaderMap;

use crate::{
    api::Api, authentication::User, kind::Kind, negotiate::Representation, query::Query,
    request_info::ResourceRequest,
};

#[derive(Clone)]
pub(crate) struct Call {
    pub api: Arc<Api>,
    pub kind: Arc<Kind>,
    pub target: ResourceRequest,
    pub query: Query,
    pub headers: HeaderMap,
    pub user: User,
    pub representation: Representation,
}

impl Call {
    /// The namespace to read in: none for cluster-scoped kinds and for reads over all namespaces.
    pub(crate) fn namespace(&self) -> Option<&str> {
        Some(self.target.namespace.as_str()).filter(|ns| self.kind.namespaced && !ns.is_empty())
    }

    /// The namespace part of the object's key.
    pub(crate) fn key_namespace(&self) -> &str {
        self.namespace().unwrap_or_default()
    }

    /// Who writes, as managedFields records it: the manager the client names, or its program.
    pub(crate) fn field_manager(&self) -> String {
        if let Some(manager) = self.query.text("fieldManager") {
            return manager.to_owned();
        }
        let agent = self
            .headers
            .get(http::header::USER_AGENT)
            .and_then(|value| value.to_str().ok());
        let program = agent.unwrap_or_default().split('/').next().unwrap_or_default();
        let program: String = program.chars().filter(|c| !c.is_control()).take(128).collect();
        if program.is_empty() {
            "unknown".to_owned()
        } else {
            program
        }
    }
}
