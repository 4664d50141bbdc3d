//! Requests passed on to a pod, a service or a node, and their answers passed back. What an answer
//! says about where things are is changed to be true for the client.

mod exchange;
mod headers;
mod html;
mod kubelet;
mod links;
mod location;

use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::io::copy_bidirectional;

use self::{exchange::Outbound, links::Links, location::Location};
use super::{Incoming, connections, upgrade::is_upgrade};
use crate::{
    call::Call,
    error::{ApiError, Result},
    in_flight,
    response::{self, Answer, Body},
};

pub(super) async fn answer(call: &Call, incoming: Incoming) -> Result<Answer> {
    let path = behind_proxy(call, incoming.uri.path()).to_owned();
    let place = match location::find(call)? {
        Location::Place(place) => place,
        Location::NodeItself(node) => return kubelet::answer(call, &incoming.method, &path, &node).await,
    };
    if is_upgrade(&call.headers) {
        return switch(call, incoming, &place, &path).await;
    }
    if path.is_empty() && matches!(incoming.method, Method::GET | Method::HEAD) {
        return Ok(to_the_folder(&incoming));
    }
    let links = Links {
        prefix: prefix(incoming.uri.path(), &path).to_owned(),
        authority: place.authority(),
        asked_host: headers::host(&call.headers, &incoming.uri),
    };
    let method = incoming.method.clone();
    let outbound = Outbound {
        headers: headers::for_the_backend(call, &incoming, &links),
        target: target(&path, incoming.uri.query()),
        method,
        body: incoming.body,
    };
    let answer = exchange::send(&place, outbound)
        .await
        .map_err(|why| unreachable(&why))?;
    Ok(passed_back(call, answer, &links))
}

/// What stands behind `/proxy` in a path, as the client wrote it.
fn behind_proxy<'p>(call: &Call, path: &'p str) -> &'p str {
    let segments_before = if call.kind.namespaced { 7 } else { 5 };
    let mut slashes = path.match_indices('/').skip(segments_before);
    slashes.next().map_or("", |(index, _)| &path[index..])
}

/// What stands before the part that is passed on.
fn prefix<'p>(path: &'p str, behind: &str) -> &'p str {
    path.strip_suffix(behind).unwrap_or(path)
}

/// Links on the page that comes are relative to a folder.
fn to_the_folder(incoming: &Incoming) -> Answer {
    let query = incoming.uri.query().map(|query| format!("?{query}"));
    let location = format!("{}/{}", incoming.uri.path(), query.unwrap_or_default());
    let mut answer = Answer::new(response::full(""));
    *answer.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::from_str(&location) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

fn target(path: &str, query: Option<&str>) -> String {
    let path = if path.is_empty() { "/" } else { path };
    match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

fn unreachable(why: &str) -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        format!("error trying to reach service: {why}"),
    )
}

fn passed_back(call: &Call, answer: http::Response<hyper::body::Incoming>, links: &Links) -> Answer {
    let (mut parts, body) = answer.into_parts();
    headers::for_the_client(&mut parts.headers);
    let is_redirect = links.correct_location(&mut parts.headers);
    let body = exchange::until_stopped(call, body);
    let body = if !is_redirect && headers::is_plain_html(&parts.headers) {
        parts.headers.remove(header::CONTENT_LENGTH);
        html::corrected(body, links.clone())
    } else {
        body
    };
    Answer::from_parts(parts, body)
}

/// Passes on a request to leave HTTP, and then whatever both sides say.
async fn switch(call: &Call, incoming: Incoming, place: &location::Place, path: &str) -> Result<Answer> {
    let Some(client) = incoming.upgrade else {
        return Err(ApiError::bad_request(
            "unable to upgrade: unable to hijack response",
        ));
    };
    let Some(seat) = call.api.connections.enter() else {
        return Ok(in_flight::too_many_requests());
    };
    let outbound = Outbound {
        headers: headers::for_an_upgrade(call, &incoming.uri, incoming.peer),
        target: target(path, incoming.uri.query()),
        method: incoming.method,
        body: incoming.body,
    };
    let dialing = |why: String| {
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            format!("error dialing backend: {why}"),
        )
    };
    let mut answer = exchange::send(place, outbound).await.map_err(dialing)?;
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => {}
        code if code.is_client_error() || code.is_server_error() => {
            let (mut parts, body) = answer.into_parts();
            headers::for_the_client(&mut parts.headers);
            return Ok(Answer::from_parts(parts, exchange::until_stopped(call, body)));
        }
        code => {
            return Err(ApiError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "",
                format!("invalid upgrade response: status code {}", code.as_u16()),
            ));
        }
    }
    let backend = hyper::upgrade::on(&mut answer);
    let api = call.api.clone();
    connections::after_upgrade(client, seat, |mut client| async move {
        let Ok(backend) = backend.await else { return };
        let mut backend = hyper_util::rt::TokioIo::new(backend);
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut backend) => {}
            () = api.stopping() => {}
        }
    });
    let (parts, _) = answer.into_parts();
    let nothing: Body = response::full("").boxed_unsync();
    Ok(Answer::from_parts(parts, nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_is_what_the_client_wrote() {
        let path = "/api/v1/namespaces/ns/pods/p:80/proxy/a%2Fb/";
        assert_eq!(prefix(path, "/a%2Fb/"), "/api/v1/namespaces/ns/pods/p:80/proxy");
        assert_eq!(target("/a", Some("x=1&y")), "/a?x=1&y");
        assert_eq!(target("", None), "/");
    }
}
