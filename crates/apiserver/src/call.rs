//! One authorized request to a resource, with everything a verb needs to answer it.

use std::sync::Arc;

use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    api::Api,
    authentication::User,
    error::{ApiError, Result},
    kind::Kind,
    negotiate::Representation,
    object,
    query::Query,
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
    /// What the user should be told whatever becomes of the request.
    pub warnings: Arc<Mutex<Vec<String>>>,
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

    /// A name is one segment of a path, whatever the path says.
    pub(crate) fn check_name(&self) -> Result<()> {
        let name = &self.target.name;
        let why = kinds::names::path_segment(name);
        if why.is_empty() {
            return Ok(());
        }
        Err(ApiError::bad_request(format!(
            "Name parameter invalid: {}: {}",
            manifests::field::quoted(name),
            why.join(";")
        )))
    }

    /// The name of the object the call is about: the one in the path, or of what it creates.
    pub(crate) fn name_of<'a>(&'a self, object: Option<&'a Value>) -> &'a str {
        if self.target.name.is_empty() {
            object.map(object::name).unwrap_or_default()
        } else {
            &self.target.name
        }
    }

    /// Warns the user, once of each thing.
    pub(crate) fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        let mut given = self.warnings.lock();
        for warning in warnings {
            if !given.contains(&warning) {
                given.push(warning);
            }
        }
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
