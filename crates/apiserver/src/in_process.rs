//! The API as a service for programs in the same process: no socket, no TLS, the same rules.

use std::{
    convert::Infallible,
    fmt::Display,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Request;
use http_body_util::BodyExt as _;
use tower_service::Service;

use crate::{api::Api, authentication::User, body::BodyError, response::Answer};

/// A client's way to the API, as one user. `kube::Client::new` takes it.
#[derive(Clone)]
pub struct InProcess {
    api: Arc<Api>,
    user: User,
}

impl InProcess {
    pub fn new(api: Arc<Api>, user: User) -> Self {
        Self { api, user }
    }
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Display,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (api, user) = (self.api.clone(), self.user.clone());
        let request = request.map(|body| body.map_err(BodyError::new).boxed_unsync());
        Box::pin(async move { Ok(api.call(user, request).await) })
    }
}
