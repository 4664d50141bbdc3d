//! A client: one kept-alive connection and the requests of Kubernetes on it.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;

use crate::{
    connection::{self, Sender},
    server::Server,
};

/// How long to leave a server alone that is not ready yet.
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) struct Client {
    sender: Sender,
    authority: String,
    /// None for what everybody may ask.
    authorization: Option<String>,
    accepted: &'static str,
}

/// What a server answered, with the body read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<Bytes>,
}

impl Client {
    pub(crate) async fn open(server: &Server) -> Result<Self> {
        Ok(Self {
            sender: connection::open(server)
                .await
                .with_context(|| format!("no connection to `{}`", server.name))?,
            authority: format!("{}:{}", server.host, server.port),
            authorization: (!server.token.is_empty()).then(|| format!("Bearer {}", server.token)),
            accepted: "application/json",
        })
    }

    /// From now on the server need not repeat what it was sent.
    pub(crate) fn accept_metadata_alone(&mut self) {
        self.accepted = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer> {
        self.ask(Method::GET, path, "", Bytes::new()).await?.expect(200)
    }

    /// Whatever the server says, be it that there is nothing yet.
    pub(crate) async fn try_get(&mut self, path: &str) -> Result<Answer> {
        self.ask(Method::GET, path, "", Bytes::new()).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Result<Answer> {
        self.ask(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn post_protobuf(&mut self, path: &str, body: Bytes) -> Result<Answer> {
        self.ask(Method::POST, path, "application/vnd.kubernetes.protobuf", body)
            .await
    }

    pub(crate) async fn merge_patch(&mut self, path: &str, body: Bytes) -> Result<Answer> {
        self.ask(Method::PATCH, path, "application/merge-patch+json", body)
            .await?
            .expect(200)
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Result<Answer> {
        self.ask(Method::DELETE, path, "", Bytes::new())
            .await?
            .expect(200)
    }

    /// A body that goes on and on.
    pub(crate) async fn stream(&mut self, path: &str) -> Result<Incoming> {
        let response = self.send(Method::GET, path, "", Bytes::new()).await?;
        if response.status() != 200 {
            bail!("`{path}` answered {}", response.status());
        }
        Ok(response.into_body())
    }

    async fn ask(&mut self, method: Method, path: &str, content: &str, body: Bytes) -> Result<Answer> {
        let response = self.send(method, path, content, body).await?;
        let status = response.status().as_u16();
        let mut incoming = response.into_body();
        let mut body = Vec::new();
        while let Some(frame) = incoming.frame().await {
            if let Ok(data) = frame.context("the answer broke off")?.into_data() {
                body.push(data);
            }
        }
        Ok(Answer { status, body })
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        content: &str,
        body: Bytes,
    ) -> Result<http::Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.authority)
            .header(header::ACCEPT, self.accepted);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if !content.is_empty() {
            request = request.header(header::CONTENT_TYPE, content);
        }
        self.sender.ready().await.context("the connection is closed")?;
        self.sender
            .send_request(request.body(Full::new(body))?)
            .await
            .with_context(|| format!("no answer to `{path}`"))
    }
}

impl Answer {
    pub(crate) fn expect(self, status: u16) -> Result<Self> {
        if self.status != status {
            bail!("{} instead of {status}: {}", self.status, self.text());
        }
        Ok(self)
    }

    pub(crate) fn len(&self) -> usize {
        self.body.iter().map(Bytes::len).sum()
    }

    pub(crate) fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body.concat()).context("the answer is not JSON")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body.concat()).into_owned()
    }
}

/// Asks again and again, as anybody, until the server says that it is ready.
pub(crate) async fn until_ready(server: &Server) {
    loop {
        if let Ok(mut client) = Client::open(server).await {
            while let Ok(answer) = client.ask(Method::GET, "/readyz", "", Bytes::new()).await {
                if answer.status == 200 {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
