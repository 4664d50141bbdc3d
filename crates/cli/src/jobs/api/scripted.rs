//! A cluster for tests, which answers each request by its path alone.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode};
use kube::{Client, client::Body};
use tower_service::Service;

use super::Api;

type Script = fn(&str) -> (StatusCode, String);

pub(crate) fn scripted(script: Script) -> Api {
    Api::new(Client::new(Scripted(script), "n"), "there".to_owned())
}

#[derive(Clone)]
struct Scripted(Script);

impl Service<Request<Body>> for Scripted {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (code, body) = (self.0)(request.uri().path());
        let mut answer = Response::new(Body::from(body.into_bytes()));
        *answer.status_mut() = code;
        ready(Ok(answer))
    }
}
