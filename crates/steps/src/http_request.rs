//! Steps that are one HTTP request.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use workflows::{
    expression::{self, Environment},
    report::{HttpOrder, LONGEST_RESULT, Report},
};

use crate::{Broken, Outcome};

/// How a step ends whose request was not answered as it should be.
const FAILED: i32 = 1;

struct Answer {
    code: u16,
    headers: Value,
    body: String,
}

pub(crate) async fn run(order: &HttpOrder) -> Result<Outcome, Broken> {
    let patience = Duration::from_secs(order.timeout_seconds.max(1));
    let answer = match timeout(patience, ask(order)).await {
        Ok(answer) => answer,
        Err(_) => Err(Broken(format!("no answer within {} seconds", patience.as_secs()))),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(Broken(error)) => return Ok(failed(format!("{} {}: {error}", order.method, order.url), None)),
    };
    let problem = judge(order, &answer)?;
    Ok(match problem {
        None => Outcome {
            code: 0,
            report: Report {
                result: Some(answer.body),
                ..Report::default()
            },
        },
        Some(problem) => failed(problem, Some(answer.body)),
    })
}

fn failed(message: String, result: Option<String>) -> Outcome {
    Outcome {
        code: FAILED,
        report: Report {
            result,
            message,
            ..Report::default()
        },
    }
}

/// What is wrong with an answer, if anything.
fn judge(order: &HttpOrder, answer: &Answer) -> Result<Option<String>, Broken> {
    if order.success_condition.is_empty() {
        let is_good = (200..300).contains(&answer.code);
        return Ok((!is_good).then(|| format!("received non-2xx response code: {}", answer.code)));
    }
    let environment = Environment::of([
        ("request.method", json!(order.method)),
        ("request.url", json!(order.url)),
        ("request.body", json!(order.body)),
        ("response.statusCode", json!(answer.code)),
        ("response.headers", answer.headers.clone()),
        ("response.body", json!(answer.body)),
    ]);
    let holds = expression::holds(&order.success_condition, &environment)
        .map_err(|error| Broken(format!("successCondition: {error}")))?;
    Ok((!holds).then(|| format!("successCondition '{}' evaluated false", order.success_condition)))
}

async fn ask(order: &HttpOrder) -> Result<Answer, Broken> {
    let uri: Uri = order
        .url
        .parse()
        .map_err(|error| Broken(format!("`{}` is no address: {error}", order.url)))?;
    let is_encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => {
            return Err(Broken(format!(
                "`{}` begins neither with http:// nor https://",
                order.url
            )));
        }
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let request = request(order, &uri)?;
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|error| Broken(format!("cannot connect to {host} port {port}: {error}")))?;
    if !is_encrypted {
        return exchange(stream, request).await;
    }
    let config = if order.insecure_skip_verify {
        let config = unverified_tls::client_config().map_err(|error| Broken(error.to_string()))?;
        Arc::new(config)
    } else {
        verified_tls::client_config(&[]).map_err(Broken)?
    };
    let name = ServerName::try_from(host.clone())
        .map_err(|_| Broken(format!("`{host}` is no name a certificate can be for")))?;
    let stream = TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(|error| Broken(verified_tls::describe(&error)))?;
    exchange(stream, request).await
}

fn request(order: &HttpOrder, uri: &Uri) -> Result<Request<Full<Bytes>>, Broken> {
    let target = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri
        .authority()
        .map(http::uri::Authority::as_str)
        .unwrap_or_default();
    let mut request = Request::builder()
        .method(order.method.as_str())
        .uri(target)
        .header(header::HOST, authority.rsplit('@').next().unwrap_or_default());
    for given in &order.headers {
        let (name, value) = (&given["name"], &given["value"]);
        let (Some(name), Some(value)) = (name.as_str(), value.as_str()) else {
            return Err(Broken(format!(
                "header {given} has no name and value; values of Secrets are not supported"
            )));
        };
        let name: HeaderName = name
            .parse()
            .map_err(|_| Broken(format!("`{name}` is no name of a header")))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| Broken(format!("header {name} has a value that no header can have")))?;
        request = request.header(name, value);
    }
    request
        .body(Full::from(order.body.clone()))
        .map_err(|error| Broken(error.to_string()))
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Broken> {
    let failed = |error: hyper::Error| Broken(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let answered = async {
        let answer = sender.send_request(request).await.map_err(failed)?;
        let code = answer.status().as_u16();
        let headers: serde_json::Map<String, Value> = answer
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), json!(String::from_utf8_lossy(value.as_bytes()))))
            .collect();
        let body = Limited::new(answer.into_body(), LONGEST_RESULT)
            .collect()
            .await
            .map_err(|_| {
                Broken(format!(
                    "the answer is longer than {LONGEST_RESULT} bytes, or broke off"
                ))
            })?;
        Ok(Answer {
            code,
            headers: Value::Object(headers),
            body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        })
    };
    tokio::select! {
        answer = answered => answer,
        Err(error) = connection => Err(failed(error)),
    }
}
