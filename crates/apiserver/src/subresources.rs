//! Parts of objects with an address of their own.

pub(crate) mod approval;
pub(crate) mod binding;
pub(crate) mod eviction;
pub(crate) mod pods;
pub(crate) mod reviews;
pub(crate) mod scale;
pub(crate) mod token;

use http::Method;
use kinds::objects::namespace;

use crate::{
    call::Call,
    error::{ApiError, Result},
    get,
    receiving::Received,
    response::Answer,
    streams,
    writes::{
        patch,
        update::{self, Part, Special},
    },
};

/// The answer to a creation that stores nothing: a review, or a binding on its old path.
pub(crate) async fn create(call: &Call, bytes: &[u8]) -> Option<Result<Answer>> {
    if call.kind.is("", "Binding") {
        return Some(binding::bind(call, bytes).await);
    }
    reviews::answer(call, bytes).await
}

pub(crate) async fn answer(call: &Call, method: &Method, body: &Received) -> Result<Answer> {
    let name = call.target.subresource.as_str();
    let Some(subresource) = call.kind.subresource(name) else {
        return Err(ApiError::no_such_resource());
    };
    if !subresource.verbs.contains(&call.target.verb) {
        return Err(ApiError::method_not_allowed());
    }
    call.check_name()?;
    let part = match (call.kind.plural.as_ref(), name) {
        ("pods", "log") => return streams::logs(call).await,
        (_, "scale") => return scale::answer(call, method, body.bytes()?).await,
        ("pods", "binding") => return binding::bind(call, body.bytes()?).await,
        ("pods", "eviction") => return eviction::evict(call, body.bytes()?).await,
        ("serviceaccounts", "token") => return token::issue(call, body.bytes()?).await,
        ("namespaces", "finalize") => Part::Special(Special {
            name: "finalize",
            prepare: namespace::prepare_for_finalize,
            validate: |new, _, errors| namespace::validate_finalize(new, errors),
            is_counted: true,
        }),
        ("certificatesigningrequests", "approval") => approval::PART,
        ("pods", "ephemeralcontainers") => pods::EPHEMERAL_CONTAINERS,
        ("pods", "resize") => pods::RESIZE,
        _ => Part::Status,
    };
    match *method {
        Method::GET => get::get(call).await,
        Method::PUT => update::update(call, part, body.bytes()?).await,
        Method::PATCH => patch::patch(call, part, body.bytes()?).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}
