//! TensorFlow Serving's REST API, metrics and health.

use serde_json::{Value, json};

use crate::{
    client::{exchange, get, gzip, http, post, refused},
    models, start,
};

#[tokio::test]
async fn rows_and_columns_are_answered_in_kind() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(0.5));
    let server = start(base.path()).await;
    let address = server.addresses()[1];
    let path = "/v1/models/model:predict";
    let rows = json!({ "predictions": [[1.5, 2.5], [3.5, 4.5]] });
    assert_eq!(
        post(address, path, r#"{"instances": [[1, 2], [3, 4]]}"#).await,
        rows
    );
    assert_eq!(
        post(address, path, r#"{"instances": [{"x": [1, 2]}, {"x": [3, 4]}]}"#).await,
        rows
    );
    let columns = json!({ "outputs": [[1.5, 2.5]] });
    assert_eq!(post(address, path, r#"{"inputs": [[1, 2]]}"#).await, columns);
    let versioned = "/v1/models/model/versions/1:predict";
    let body = r#"{"inputs": {"x": [[1, 2]]}, "signature_name": "serving_default"}"#;
    assert_eq!(post(address, versioned, body).await, columns);
    let (_, text) = http(address, "POST", path, r#"{"inputs": [[NaN, Infinity]]}"#).await;
    assert!(text.contains("[[NaN,Infinity]]"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn several_inputs_and_bytes_are_named() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::mixed());
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    let path = "/v1/models/model:predict";
    let body = r#"{"instances": [{"number": 1, "text": "plum"}, {"number": 2, "text": {"b64": "/w=="}}]}"#;
    let wanted = json!({ "predictions": [
        { "twice": 2, "text_bytes": { "b64": "cGx1bQ==" } },
        { "twice": 4, "text_bytes": { "b64": "/w==" } },
    ] });
    assert_eq!(post(address, path, body).await, wanted);
    let body = r#"{"inputs": {"number": [1], "text": ["plum"]}}"#;
    let wanted = json!({ "outputs": { "twice": [2], "text_bytes": [{ "b64": "cGx1bQ==" }] } });
    assert_eq!(post(address, path, body).await, wanted);
    let body = r#"{"signature_name": "classes", "examples": [{"age": 3}, {}]}"#;
    let classes = post(address, "/v1/models/model:classify", body).await;
    assert_eq!(classes["results"][1], json!([["", 3.0]]));
    let body = r#"{"signature_name": "values", "examples": [{}]}"#;
    assert_eq!(
        post(address, "/v1/models/model:regress", body).await,
        json!({ "results": [3.0] })
    );
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(0.5));
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    for (path, body, status, words) in [
        (
            "/v1/models/other:predict",
            r#"{"instances": [[1, 2]]}"#,
            404,
            "no model `other`",
        ),
        (
            "/v1/models/model/versions/3:predict",
            r#"{"instances": [[1, 2]]}"#,
            404,
            "version 3",
        ),
        ("/v1/models/model:predict", "{", 400, "the request is no JSON"),
        ("/v1/models/model:predict", "[]", 400, "an object of JSON"),
        (
            "/v1/models/model:predict",
            "{}",
            400,
            "`instances` or columns in `inputs`",
        ),
        (
            "/v1/models/model:predict",
            r#"{"instances": []}"#,
            400,
            "at least one row",
        ),
        (
            "/v1/models/model:predict",
            r#"{"instances": [[1]]}"#,
            400,
            "of shape [?, 2]",
        ),
        (
            "/v1/models/model:predict",
            r#"{"instances": [[1, 2], [3]]}"#,
            400,
            "row 1 has the shape [1]",
        ),
        (
            "/v1/models/model:predict",
            r#"{"instances": [["a", "b"]]}"#,
            400,
            "the input `x`: \"a\" is no value",
        ),
        (
            "/v1/models/model:predict",
            r#"{"inputs": {"z": [[1, 2]]}}"#,
            400,
            "no input `z`; it has `x`",
        ),
        (
            "/v1/models/model:classify",
            r#"{"examples": [{}]}"#,
            400,
            "tensorflow/serving/predict",
        ),
        ("/v1/models/model:guess", "{}", 404, "there is nothing at"),
    ] {
        let (found, told) = refused(address, path, body).await;
        assert!(found == status && told.contains(words), "{body}: {found} {told}");
    }
    let (status, _) = get(address, "/v1/models/model:predict").await;
    assert_eq!(status, 405);
    server.stop().await;
}

#[tokio::test]
async fn requests_that_are_too_large_are_refused() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(0.5));
    let server = crate::start_with(base.path(), |options| options.most_bytes = 8 << 10)
        .await
        .unwrap();
    let body = format!(r#"{{"instances": [[1, 2]], "x": "{}"}}"#, "x".repeat(2000));
    let (status, told) = refused(server.addresses()[0], "/v1/models/model:predict", &body).await;
    assert_eq!(
        (status, told.as_str()),
        (413, "the request has more than 1024 bytes")
    );
    server.stop().await;
}

#[tokio::test]
async fn the_model_says_what_it_is() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 3, &models::adding(0.5));
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    let read = async |path: &str| -> Value {
        let (status, body) = get(address, path).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    };
    let status = read("/v1/models/model").await;
    let wanted = json!({ "version": "3", "state": "AVAILABLE", "status": { "error_code": "OK", "error_message": "" } });
    assert_eq!(status["model_version_status"], json!([wanted]));
    assert_eq!(read("/v1/models/model/versions/3").await, status);
    let metadata = read("/v1/models/model/metadata").await;
    let input = &metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]["x"];
    assert_eq!(input["dtype"], "DT_FLOAT");
    assert_eq!(input["tensor_shape"]["dim"][0]["size"], "-1");
    assert_eq!(get(address, "/v1/models/model/versions/4").await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn health_and_metrics_are_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 3, &models::adding(0.5));
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    for path in ["/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"] {
        assert_eq!(get(address, path).await.0, 200, "{path}");
    }
    post(address, "/v1/models/model:predict", r#"{"instances": [[1, 2]]}"#).await;
    refused(address, "/v1/models/model:predict", "{").await;
    for path in ["/metrics", "/monitoring/prometheus/metrics"] {
        let (_, text) = get(address, path).await;
        for line in [
            "trainyard_serving_requests_total{protocol=\"rest\",method=\"predict\",code=\"OK\"} 1",
            "trainyard_serving_requests_total{protocol=\"rest\",method=\"predict\",code=\"INVALID_ARGUMENT\"} 1",
            "trainyard_serving_batch_rows_count 1",
            "trainyard_serving_model_version{model=\"model\",version=\"3\",state=\"AVAILABLE\"} 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn compressed_requests_are_read() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(0.5));
    let server = start(base.path()).await;
    let packed = gzip(br#"{"instances": [[1, 2]]}"#);
    let path = "/v1/models/model:predict";
    let asked = async |encoding: &str, body: &[u8]| {
        let header = format!("Content-Encoding: {encoding}\r\n");
        let (status, _, body) = exchange(server.addresses()[0], "POST", path, &header, body).await;
        (status, String::from_utf8(body).unwrap())
    };
    let (status, answer) = asked("gzip", &packed).await;
    assert!(status == 200 && answer.contains("[1.5,2.5]"), "{status} {answer}");
    assert_eq!(asked("gzip", &packed[..9]).await.0, 400);
    let (status, told) = asked("br", &packed).await;
    assert!(status == 501 && told.contains("only gzip and deflate"), "{told}");
    server.stop().await;
}
