use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::probes::testing::{POD, Pod, free_port, serve};

const PATIENCE: Duration = Duration::from_mins(1);

fn question(port: u16) -> HttpGet {
    HttpGet {
        is_encrypted: false,
        host: None,
        port,
        path: "/healthz".to_owned(),
        headers: vec![("X-Custom".to_owned(), "yes".to_owned())],
        user_agent: "kube-probe/1.34",
    }
}

fn answer(status: &str, more: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{more}Content-Length: 4\r\n\r\nbody")
}

async fn ask_all(answers: Vec<String>) -> (Verdict, Vec<String>) {
    let (port, server) = serve(answers).await;
    let verdict = get(&Pod::default(), &question(port), POD, PATIENCE).await;
    (verdict, server.await.unwrap())
}

#[tokio::test]
async fn good_answers_are_from_200_to_399() {
    let (verdict, asked) = ask_all(vec![answer("204 No Content", "")]).await;
    assert_eq!(verdict, Verdict::Passed);
    assert!(asked[0].starts_with("GET /healthz HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(
        asked[0].contains("X-Custom: yes\r\n") && asked[0].contains("User-Agent: kube-probe/1.34\r\n"),
        "{}",
        asked[0]
    );
    let (verdict, _) = ask_all(vec![answer("500 Oh", "")]).await;
    assert_eq!(
        verdict,
        Verdict::Failed("HTTP probe failed with statuscode: 500".to_owned())
    );
    let (verdict, _) = ask_all(vec![answer("304 Same", "")]).await;
    assert!(matches!(verdict, Verdict::Warned(_)), "{verdict:?}");
}

#[tokio::test]
async fn redirections_are_followed_on_the_same_host_only() {
    let moved = answer("302 Found", "Location: /other\r\n");
    let (verdict, asked) = ask_all(vec![moved, answer("200 OK", "")]).await;
    assert_eq!(verdict, Verdict::Passed);
    assert!(asked[1].starts_with("GET /other "), "{}", asked[1]);
    let (verdict, _) = ask_all(vec![answer("302 Found", "Location: http://example.com/\r\n")]).await;
    let expected = "Probe terminated redirects, Response body: body";
    assert_eq!(verdict, Verdict::Warned(expected.to_owned()));
    let round = vec![answer("302 Found", "Location: /healthz\r\n"); MAX_REDIRECTIONS];
    let (verdict, _) = ask_all(round).await;
    assert!(matches!(verdict, Verdict::Failed(text) if text.ends_with("stopped after 10 redirects")));
}

#[tokio::test]
async fn who_does_not_answer_has_failed() {
    let port = free_port().await;
    let verdict = get(&Pod::default(), &question(port), POD, PATIENCE).await;
    let address = format!("{POD}:{port}");
    let expected =
        format!("Get \"http://{address}/healthz\": dial tcp {address}: connect: connection refused");
    assert_eq!(verdict, Verdict::Failed(expected));

    let silent = TcpListener::bind((POD, 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let verdict = get(&Pod::default(), &question(port), POD, Duration::from_millis(50)).await;
    let Verdict::Failed(text) = verdict else {
        panic!("{verdict:?}");
    };
    assert!(
        text.contains("context deadline exceeded (Client.Timeout exceeded"),
        "{text}"
    );

    let (verdict, _) = ask_all(vec![String::new()]).await;
    assert!(
        matches!(&verdict, Verdict::Failed(text) if text.ends_with("EOF")),
        "{verdict:?}"
    );
}

#[tokio::test]
async fn any_certificate_will_do() {
    let made = rcgen::generate_simple_self_signed(vec!["somebody.else".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let configuration = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(configuration));
    let listener = TcpListener::bind((POD, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        stream.write_all(answer("200 OK", "").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let question = HttpGet {
        is_encrypted: true,
        ..question(port)
    };
    let verdict = get(&Pod::default(), &question, POD, PATIENCE).await;
    assert_eq!(verdict, Verdict::Passed);
    server.await.unwrap();
}

fn place(path: &str) -> Place {
    Place {
        is_encrypted: false,
        dialled: None,
        host: "10.0.0.1".to_owned(),
        port: 8080,
        path: path.to_owned(),
    }
}

#[test]
fn redirections_stay_on_the_host() {
    let shown = |location: &str| {
        let next = place("/a/b").redirected(location)?;
        Some(format!("{} {}{}", next.is_encrypted, next.address(), next.path))
    };
    assert_eq!(shown("/x?y=1").unwrap(), "false 10.0.0.1:8080/x?y=1");
    assert_eq!(shown("c").unwrap(), "false 10.0.0.1:8080/a/c");
    assert_eq!(shown("https://10.0.0.1/x").unwrap(), "true 10.0.0.1:443/x");
    assert_eq!(shown("http://10.0.0.2:8080/x"), None);
}
