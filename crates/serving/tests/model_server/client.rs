//! A client of gRPC and one of HTTP/1.1, neither of which is the program's own.

use std::net::SocketAddr;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{self, SendRequest};
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
        let mut body = BytesMut::new();
        body.put_u8(0);
        body.put_u32(request.encoded_len() as u32);
        request.encode(&mut body).unwrap();
        let mut request = Request::post(format!("http://server{path}"))
            .header("content-type", "application/grpc+proto")
            .header("te", "trailers")
            .body(Full::new(body.freeze()))
            .unwrap();
        request.headers_mut().extend(headers.clone());
        let broken = |error: hyper::Error| (999, format!("{error:?}"));
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

pub(crate) fn spec(signature: &str) -> ModelSpec {
    ModelSpec {
        name: "model".to_owned(),
        signature_name: signature.to_owned(),
        ..ModelSpec::default()
    }
}

/// A status and a body.
pub(crate) async fn http(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: server\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
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
