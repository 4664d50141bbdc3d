//! The Open Inference Protocol, over gRPC and REST.

use serde_json::json;
use serving::proto::inference::{
    Empty, InferTensor, InferTensorContents, ModelInferRequest, ModelInferResponse, ModelMetadataResponse,
    ModelRequest, ReadyResponse, RequestedOutput, ServerLiveResponse, ServerMetadataResponse,
};

use crate::{
    client::{Grpc, exchange, get, post, refused},
    models, start,
};

fn service(method: &str) -> String {
    format!("/inference.GRPCInferenceService/{method}")
}

#[tokio::test]
async fn tensors_come_with_contents_or_raw() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 2, &models::mixed());
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let tensor = |name: &str, datatype: &str, contents: Option<InferTensorContents>| InferTensor {
        name: name.to_owned(),
        datatype: datatype.to_owned(),
        shape: vec![2],
        contents,
    };
    let numbers = InferTensorContents {
        int64: vec![1, 2],
        ..InferTensorContents::default()
    };
    let texts = InferTensorContents {
        bytes: vec![models::text("a"), models::text("bc")],
        ..InferTensorContents::default()
    };
    let request = ModelInferRequest {
        model_name: "model".to_owned(),
        id: "7".to_owned(),
        inputs: vec![
            tensor("number", "INT64", Some(numbers)),
            tensor("text", "BYTES", Some(texts)),
        ],
        ..ModelInferRequest::default()
    };
    let answer: ModelInferResponse = client.call(&service("ModelInfer"), &request).await.unwrap();
    assert_eq!((answer.id.as_str(), answer.model_version.as_str()), ("7", "2"));
    let twice = answer
        .outputs
        .iter()
        .find(|output| output.name == "twice")
        .unwrap();
    assert_eq!(twice.contents.as_ref().unwrap().int64, [2, 4]);
    let raw = ModelInferRequest {
        inputs: vec![tensor("number", "INT64", None), tensor("text", "BYTES", None)],
        raw_input_contents: vec![
            [1_i64, 2]
                .into_iter()
                .flat_map(i64::to_le_bytes)
                .collect::<Vec<u8>>()
                .into(),
            b"\x01\0\0\0a\x02\0\0\0bc".to_vec().into(),
        ],
        outputs: vec![RequestedOutput {
            name: "text_bytes".to_owned(),
        }],
        ..request.clone()
    };
    let answer: ModelInferResponse = client.call(&service("ModelInfer"), &raw).await.unwrap();
    assert_eq!(answer.outputs.len(), 1);
    assert_eq!(answer.raw_output_contents, [b"\x01\0\0\0a\x02\0\0\0bc".to_vec()]);
    let cut = ModelInferRequest {
        raw_input_contents: raw
            .raw_input_contents
            .iter()
            .map(|bytes| bytes.slice(1..))
            .collect(),
        ..raw
    };
    let refused = client
        .call::<ModelInferResponse>(&service("ModelInfer"), &cut)
        .await
        .unwrap_err();
    assert!(
        refused.0 == 3 && refused.1.contains("the input `number` cannot be read"),
        "{refused:?}"
    );
    server.stop().await;
}

#[tokio::test]
async fn the_server_and_the_model_say_what_they_are() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 2, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let live: ServerLiveResponse = client.call(&service("ServerLive"), &Empty {}).await.unwrap();
    let ready: ReadyResponse = client.call(&service("ServerReady"), &Empty {}).await.unwrap();
    let about: ServerMetadataResponse = client.call(&service("ServerMetadata"), &Empty {}).await.unwrap();
    assert!(live.live && ready.ready && about.name == "trainyard");
    let mut model = ModelRequest {
        name: "model".to_owned(),
        version: "2".to_owned(),
    };
    let metadata: ModelMetadataResponse = client.call(&service("ModelMetadata"), &model).await.unwrap();
    assert_eq!(metadata.inputs[0].shape, [-1, 2]);
    assert_eq!(metadata.versions, ["2"]);
    let ready: ReadyResponse = client.call(&service("ModelReady"), &model).await.unwrap();
    assert!(ready.ready);
    model.version = "3".to_owned();
    let ready: ReadyResponse = client.call(&service("ModelReady"), &model).await.unwrap();
    assert!(!ready.ready);
    server.stop().await;
}

#[tokio::test]
async fn it_is_spoken_over_rest() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 2, &models::adding(1.0));
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    let body = r#"{"id": "7", "inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1, 2, 3, 4]}]}"#;
    let answer = post(address, "/v2/models/model/infer", body).await;
    let output = json!({ "name": "y", "datatype": "FP32", "shape": [2, 2], "data": [2.0, 3.0, 4.0, 5.0] });
    assert_eq!(
        answer,
        json!({ "model_name": "model", "model_version": "2", "id": "7", "outputs": [output] })
    );
    let nested = body.replace("[1, 2, 3, 4]", "[[1, 2], [3, 4]]");
    assert_eq!(
        post(address, "/v2/models/model/versions/2/infer", &nested).await["outputs"][0],
        output
    );
    for (from, to, words) in [
        ("[2, 2]", "[2, 3]", "has not 4 values"),
        ("FP32", "FP8", "`FP8` are not supported"),
        ("[1, 2, 3, 4]", "\"no\"", "is no value of type DT_FLOAT"),
        ("\"name\"", "\"nome\"", "has a `name`"),
    ] {
        let (status, told) = refused(address, "/v2/models/model/infer", &body.replace(from, to)).await;
        assert!(status == 400 && told.contains(words), "{told}");
    }
    assert_eq!(get(address, "/v2/models/model/ready").await.0, 200);
    assert_eq!(get(address, "/v2/models/other/ready").await.0, 404);
    let (_, metadata) = get(address, "/v2/models/model").await;
    assert!(
        metadata.contains(r#""platform":"tensorflow_savedmodel""#),
        "{metadata}"
    );
    assert_eq!(get(address, "/v2").await.0, 200);
    server.stop().await;
}

/// As Triton's clients send and want them unless told otherwise.
#[tokio::test]
async fn binary_tensors_follow_the_json() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 2, &models::mixed());
    let server = start(base.path()).await;
    let numbers: Vec<u8> = [1_i64, 2].into_iter().flat_map(i64::to_le_bytes).collect();
    let texts = b"\x01\0\0\0a\x02\0\0\0bc";
    let input = |name: &str, datatype: &str, bytes: usize| {
        json!({
            "name": name, "datatype": datatype, "shape": [2], "parameters": { "binary_data_size": bytes },
        })
    };
    let request = |outputs: serde_json::Value, size: usize| {
        json!({
            "inputs": [input("number", "INT64", 16), input("text", "BYTES", size)],
            "outputs": outputs,
            "parameters": { "binary_data_output": true },
        })
        .to_string()
    };
    let asked = async |json: &str, length: usize, further: &[u8]| {
        let headers = format!("Inference-Header-Content-Length: {length}\r\n");
        let body = [json.as_bytes(), &numbers, texts, further].concat();
        let path = "/v2/models/model/infer";
        exchange(server.addresses()[0], "POST", path, &headers, &body).await
    };
    let outputs = json!([
        { "name": "twice" },
        { "name": "text_bytes", "parameters": { "binary_data": false } },
    ]);
    let json = request(outputs, texts.len());
    let (status, head, body) = asked(&json, json.len(), b"").await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert!(head.contains("content-type: application/octet-stream"), "{head}");
    let length = head.split("inference-header-content-length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&body[..length]).unwrap();
    let output = |name: &str| {
        let outputs = answer["outputs"].as_array().unwrap().iter();
        outputs.clone().find(|output| output["name"] == name).unwrap()
    };
    assert_eq!(output("twice")["parameters"]["binary_data_size"], 16);
    assert_eq!(
        output("text_bytes")["data"],
        json!([{ "b64": "YQ==" }, { "b64": "YmM=" }])
    );
    let wanted: Vec<u8> = [2_i64, 4].into_iter().flat_map(i64::to_le_bytes).collect();
    assert_eq!(body[length..], wanted);
    for (size, length, further, words) in [
        (
            texts.len() + 1,
            None,
            &b""[..],
            "more than there is after the JSON",
        ),
        (texts.len() - 6, None, b"", "its shape has not 1 values"),
        (
            texts.len(),
            None,
            b"more",
            "4 bytes after the JSON belong to no input",
        ),
        (texts.len(), Some(100_000), b"", "cannot be JSON"),
    ] {
        let json = request(json!([]), size);
        let (status, _, body) = asked(&json, length.unwrap_or(json.len()), further).await;
        let told = String::from_utf8(body).unwrap();
        assert!(status == 400 && told.contains(words), "{status} {told}");
    }
    server.stop().await;
}
