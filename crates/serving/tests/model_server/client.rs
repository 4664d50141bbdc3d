//! A client of gRPC and one of HTTP/1.1, neither of which is the program's own.

use std::{io::Write as _, net::SocketAddr};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use saved_model::{Tensor, proto::TensorProto};
use serde_json::Value;
use serving::proto::prediction::{ModelSpec, PredictRequest, PredictResponse};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The number of a status, and its words.
pub(crate) type Refusal = (u32, String);

#[derive(Clone)]
pub(crate) struct Grpc(SendRequest<Full<Bytes>>);

impl Grpc {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn call<M: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> Result<M, Refusal> {
        self.call_with(path, request, &HeaderMap::new()).await
    }

    pub(crate) async fn call_with<M: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
        headers: &HeaderMap,
    ) -> Result<M, Refusal> {
        self.exchange(path, framed(0, &request.encode_to_vec()), headers)
            .await
    }

    /// The same with a message that is compressed by gzip.
    pub(crate) async fn call_packed<M: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> Result<M, Refusal> {
        let headers = HeaderMap::from_iter([("grpc-encoding".parse().unwrap(), "gzip".parse().unwrap())]);
        let packed = gzip(&request.encode_to_vec());
        self.exchange(path, framed(1, &packed), &headers).await
    }

    /// What comes of a request that has no end.
    pub(crate) async fn watch(&mut self, path: &str, request: &impl Message) -> Incoming {
        let request = asked(path, framed(0, &request.encode_to_vec()), &HeaderMap::new());
        self.0.send_request(request).await.unwrap().into_body()
    }

    async fn exchange<M: Message + Default>(
        &mut self,
        path: &str,
        body: Bytes,
        headers: &HeaderMap,
    ) -> Result<M, Refusal> {
        let broken = |error: hyper::Error| (999, format!("{error:?}"));
        let request = asked(path, body, headers);
        let response = self.0.send_request(request).await.map_err(broken)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(broken)?;
        let trailers = body.trailers().cloned().unwrap_or_default();
        let text = |name: &str| {
            let value = trailers.get(name).or(head.headers.get(name))?;
            Some(value.to_str().unwrap().to_owned())
        };
        match text("grpc-status").as_deref() {
            Some("0") => Ok(M::decode(body.to_bytes().slice(5..)).unwrap()),
            Some(code) => Err((code.parse().unwrap(), text("grpc-message").unwrap_or_default())),
            None => panic!("no status: {head:?}"),
        }
    }

    /// `y` of the model that adds, for one row of two.
    pub(crate) async fn add(&mut self, row: [f32; 2]) -> Result<(i64, Vec<f32>), Refusal> {
        let x = Tensor::new([1_usize, 2].as_slice(), row.to_vec()).unwrap();
        let request = PredictRequest {
            model_spec: Some(spec("")),
            inputs: [("x".to_owned(), TensorProto::from(&x))].into(),
            output_filter: Vec::new(),
        };
        let answer: PredictResponse = self
            .call("/tensorflow.serving.PredictionService/Predict", &request)
            .await?;
        let version = answer.model_spec.unwrap().version.unwrap().value;
        Ok((version, answer.outputs["y"].float_val.clone()))
    }
}

fn framed(flag: u8, message: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u8(flag);
    body.put_u32(message.len() as u32);
    body.put_slice(message);
    body.freeze()
}

fn asked(path: &str, body: Bytes, headers: &HeaderMap) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("http://server{path}"))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(Full::new(body))
        .unwrap();
    request.headers_mut().extend(headers.clone());
    request
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn spec(signature: &str) -> ModelSpec {
    ModelSpec {
        name: "model".to_owned(),
        signature_name: signature.to_owned(),
        ..ModelSpec::default()
    }
}

/// A status and a body.
pub(crate) async fn http(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let (status, _, body) = exchange(address, method, path, "", body.as_bytes()).await;
    (status, String::from_utf8(body).unwrap())
}

/// A status, headers and a body, for a request with further headers.
pub(crate) async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), answer[end + 4..].to_vec())
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    http(address, "GET", path, "").await
}

/// What a good answer says.
pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> Value {
    let (status, answer) = http(address, "POST", path, body).await;
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// The status and the words of a bad one.
pub(crate) async fn refused(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let (status, answer) = http(address, "POST", path, body).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    (status, answer["error"].as_str().unwrap().to_owned())
}
