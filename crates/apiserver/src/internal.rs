//! Writes by the server's own controllers, through the same rules as everybody's.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use crate::{
    admission::Operation,
    api::Api,
    authentication::{MASTERS, User},
    call::Call,
    error::Result,
    kind::Kind,
    negotiate::Representation,
    query::Query,
    request_info::ResourceRequest,
    writes::{
        Outcome, Writer,
        delete::{self, DeleteOptions},
        options::WriteOptions,
        update::{self, Part},
    },
};

/// A request by a controller, to one object.
pub(crate) fn call(
    api: &Arc<Api>,
    kind: &Arc<Kind>,
    controller: &str,
    verb: &'static str,
    namespace: &str,
    name: &str,
) -> Call {
    Call {
        api: api.clone(),
        kind: kind.clone(),
        target: ResourceRequest {
            verb,
            group: kind.group.to_string(),
            version: kind.version.to_string(),
            namespace: namespace.to_owned(),
            resource: kind.plural.to_string(),
            name: name.to_owned(),
            ..ResourceRequest::default()
        },
        query: Query::of("fieldManager", controller),
        headers: HeaderMap::new(),
        user: User::new(
            &format!("system:serviceaccount:kube-system:{controller}"),
            &[MASTERS],
        ),
        representation: Representation::JSON,
        warnings: Arc::default(),
    }
}

pub(crate) async fn delete(
    api: &Arc<Api>,
    kind: &Arc<Kind>,
    controller: &str,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Outcome> {
    let call = call(api, kind, controller, "delete", namespace, name);
    let mut writer = Writer::new(&call, WriteOptions::default());
    delete::delete_in(&mut writer, namespace, name, options).await
}

/// Changes an object; `make` gets the current state and returns the wanted one.
pub(crate) async fn change(
    api: &Arc<Api>,
    kind: &Arc<Kind>,
    controller: &str,
    part: Part,
    namespace: &str,
    name: &str,
    mut make: impl FnMut(&Value) -> Value,
) -> Result<Outcome> {
    let mut call = call(api, kind, controller, "patch", namespace, name);
    part.subresource().clone_into(&mut call.target.subresource);
    let mut writer = Writer::new(&call, WriteOptions::default());
    update::change(&mut writer, part, Operation::Update, |_, old| Ok(make(old))).await
}
