//! TensorFlow Serving's gRPC, and gRPC's health checks.

use std::collections::BTreeMap;

use http::HeaderMap;
use http_body_util::BodyExt as _;
use prost::Message as _;
use saved_model::{
    Tensor,
    proto::{Example, TensorProto, TensorShapeProto},
};
use serving::proto::{
    health::{HealthCheckRequest, HealthCheckResponse, NOT_SERVING, SERVING},
    prediction::{
        ClassificationResponse, ExampleList, ExamplesRequest, GetModelMetadataRequest,
        GetModelMetadataResponse, GetModelStatusRequest, GetModelStatusResponse, InferenceTask, Input,
        Int64Value, ModelSpec, MultiInferenceRequest, MultiInferenceResponse, PredictRequest,
        PredictResponse, RegressionResponse, SIGNATURES, SignatureDefMap,
    },
};

use crate::{
    client::{Grpc, spec},
    models, start,
};

const PREDICT: &str = "/tensorflow.serving.PredictionService/Predict";

#[tokio::test]
async fn predictions_are_answered_on_every_port() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 7, &models::adding(10.0));
    let server = start(base.path()).await;
    for address in server.addresses() {
        let mut client = Grpc::connect(*address).await;
        assert_eq!(client.add([1.0, 2.0]).await, Ok((7, vec![11.0, 12.0])));
    }
    server.stop().await;
}

#[tokio::test]
async fn values_may_come_as_they_lie_in_memory() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let x = TensorProto {
        dtype: 1,
        tensor_shape: Some(TensorShapeProto::of(&[2, 2])),
        tensor_content: [1.0_f32, 2.0, 3.0, 4.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect::<Vec<u8>>()
            .into(),
        ..TensorProto::default()
    };
    let request = PredictRequest {
        model_spec: Some(spec("serving_default")),
        inputs: BTreeMap::from([("x".to_owned(), x)]),
        output_filter: vec!["y".to_owned()],
    };
    let answer: PredictResponse = client.call(PREDICT, &request).await.unwrap();
    // Clients of TensorFlow Serving read the lists.
    assert_eq!(answer.outputs["y"].float_val, [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(
        answer.outputs["y"].tensor_shape,
        Some(TensorShapeProto::of(&[2, 2]))
    );
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let row = |columns: usize| Tensor::new([1, columns].as_slice(), vec![0.0_f32; columns]).unwrap();
    let request = |spec: ModelSpec, input: &str, columns: usize, output: &[&str]| PredictRequest {
        model_spec: Some(spec),
        inputs: BTreeMap::from([(input.to_owned(), TensorProto::from(&row(columns)))]),
        output_filter: output.iter().map(|name| (*name).to_owned()).collect(),
    };
    let other = ModelSpec {
        name: "other".to_owned(),
        ..ModelSpec::default()
    };
    let old = ModelSpec {
        version: Some(Int64Value { value: 9 }),
        ..spec("")
    };
    let labelled = ModelSpec {
        version_label: "stable".to_owned(),
        ..spec("")
    };
    for (request, code, words) in [
        (request(other, "x", 2, &[]), 5, "there is no model `other` here"),
        (
            request(old, "x", 2, &[]),
            5,
            "version 9 of `model` is not served; served: 1",
        ),
        (request(labelled, "x", 2, &[]), 5, "the label `stable`"),
        (
            request(spec("classify"), "x", 2, &[]),
            3,
            "no signature `classify`; it has `serving_default`",
        ),
        (request(spec(""), "z", 2, &[]), 3, "has no input `z`; it has `x`"),
        (
            request(spec(""), "x", 3, &[]),
            3,
            "the input `x` is DT_FLOAT of shape [?, 2]",
        ),
        (
            request(spec(""), "x", 2, &["z"]),
            3,
            "has no output `z`; it has `y`",
        ),
        (
            PredictRequest {
                model_spec: Some(spec("")),
                ..PredictRequest::default()
            },
            3,
            "the input `x` is missing",
        ),
        (PredictRequest::default(), 3, "names no model"),
    ] {
        let (found, told) = client
            .call::<PredictResponse>(PREDICT, &request)
            .await
            .unwrap_err();
        assert!(
            found == code && told.contains(words),
            "{found} {told}, not {code} {words}"
        );
    }
    let nothing = PredictRequest::default();
    let unknown = client.call::<PredictResponse>("/tensorflow.serving.PredictionService/Guess", &nothing);
    assert_eq!(unknown.await.unwrap_err().0, 12);
    // And it still answers.
    assert!(client.add([0.0, 0.0]).await.is_ok());
    server.stop().await;
}

/// The last value stands for all that are not given: forty bytes may ask for gigabytes.
#[tokio::test]
async fn a_small_request_cannot_take_all_memory() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = crate::start_with(base.path(), |options| options.most_bytes = 1 << 20)
        .await
        .unwrap();
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let rows = |rows: i64| PredictRequest {
        model_spec: Some(spec("")),
        inputs: BTreeMap::from([(
            "x".to_owned(),
            TensorProto {
                dtype: 1,
                tensor_shape: Some(TensorShapeProto::of(&[rows, 2])),
                float_val: vec![1.0],
                ..TensorProto::default()
            },
        )]),
        output_filter: Vec::new(),
    };
    let (code, told) = client
        .call::<PredictResponse>(PREDICT, &rows(1 << 29))
        .await
        .unwrap_err();
    assert!(
        code == 8 && told.contains("take 4294967296 bytes, more than the 4194304"),
        "{code} {told}"
    );
    let few: PredictResponse = client.call(PREDICT, &rows(3)).await.unwrap();
    assert_eq!(few.outputs["y"].float_val, [2.0; 6]);
    server.stop().await;
}

#[tokio::test]
async fn a_deadline_that_is_over_is_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let headers = HeaderMap::from_iter([("grpc-timeout".parse().unwrap(), "0n".parse().unwrap())]);
    let refused = client
        .call_with::<PredictResponse>(PREDICT, &PredictRequest::default(), &headers)
        .await;
    assert_eq!(refused.unwrap_err().0, 4);
    server.stop().await;
}

#[tokio::test]
async fn examples_are_classified_and_regressed() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::mixed());
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let request = |signature: &str, examples: usize| ExamplesRequest {
        model_spec: Some(spec(signature)),
        input: Some(Input {
            example_list: Some(ExampleList {
                examples: vec![Example::default(); examples],
            }),
            example_list_with_context: None,
        }),
    };
    let classified: ClassificationResponse = client
        .call(
            "/tensorflow.serving.PredictionService/Classify",
            &request("classes", 2),
        )
        .await
        .unwrap();
    let classes = classified.result.unwrap().classifications;
    // An empty example is an empty text, whose hash is 263 of 1000.
    assert_eq!(classes.len(), 2);
    assert!((classes[1].classes[0].score - 3.0).abs() < 1e-6);
    let regressed: RegressionResponse = client
        .call(
            "/tensorflow.serving.PredictionService/Regress",
            &request("values", 1),
        )
        .await
        .unwrap();
    assert!((regressed.result.unwrap().regressions[0].value - 3.0).abs() < 1e-6);
    let wrong = client
        .call::<RegressionResponse>(
            "/tensorflow.serving.PredictionService/Regress",
            &request("classes", 1),
        )
        .await
        .unwrap_err();
    assert!(
        wrong.0 == 3 && wrong.1.contains("tensorflow/serving/classify"),
        "{wrong:?}"
    );
    let empty = client
        .call::<RegressionResponse>(
            "/tensorflow.serving.PredictionService/Regress",
            &request("values", 0),
        )
        .await;
    assert_eq!(empty.unwrap_err(), (3, "the request has no examples".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn the_model_says_what_it_is() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 4, &models::mixed());
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let request = GetModelMetadataRequest {
        model_spec: Some(spec("")),
        metadata_field: vec![SIGNATURES.to_owned()],
    };
    let answer: GetModelMetadataResponse = client
        .call("/tensorflow.serving.PredictionService/GetModelMetadata", &request)
        .await
        .unwrap();
    assert_eq!(answer.model_spec.unwrap().version, Some(Int64Value { value: 4 }));
    let signatures = SignatureDefMap::decode(answer.metadata[SIGNATURES].value.clone())
        .unwrap()
        .signature_def;
    assert_eq!(
        signatures.keys().collect::<Vec<_>>(),
        ["classes", "serving_default", "values"]
    );
    assert_eq!(signatures["serving_default"].inputs["number"].dtype, 9);
    let request = GetModelStatusRequest {
        model_spec: Some(spec("")),
    };
    let answer: GetModelStatusResponse = client
        .call("/tensorflow.serving.ModelService/GetModelStatus", &request)
        .await
        .unwrap();
    let [status] = &answer.model_version_status[..] else {
        panic!("{answer:?}")
    };
    assert_eq!((status.version, status.state), (4, 30));
    assert_eq!(status.status.as_ref().unwrap().error_code, 0);
    server.stop().await;
}

#[tokio::test]
async fn health_is_told() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let mut check = async |service: &str| {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        client
            .call::<HealthCheckResponse>("/grpc.health.v1.Health/Check", &request)
            .await
    };
    assert_eq!(check("").await.unwrap().status, SERVING);
    assert_eq!(check("model").await.unwrap().status, SERVING);
    assert_eq!(check("nobody").await.unwrap_err().0, 5);
    server.stop().await;
}

#[tokio::test]
async fn compressed_requests_are_read() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = crate::start_with(base.path(), |options| options.most_bytes = 1 << 20)
        .await
        .unwrap();
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let rows = |rows: usize| PredictRequest {
        model_spec: Some(spec("")),
        inputs: BTreeMap::from([(
            "x".to_owned(),
            TensorProto::from(&Tensor::new([rows, 2].as_slice(), vec![1.0_f32; rows * 2]).unwrap()),
        )]),
        output_filter: Vec::new(),
    };
    let answer: PredictResponse = client.call_packed(PREDICT, &rows(2)).await.unwrap();
    assert_eq!(answer.outputs["y"].float_val, [2.0; 4]);
    // A few bytes that become many are still many.
    let (code, told) = client
        .call_packed::<PredictResponse>(PREDICT, &rows(1 << 20))
        .await
        .unwrap_err();
    assert_eq!(
        (code, told.as_str()),
        (8, "the request has more than 1048576 bytes")
    );
    server.stop().await;
}

#[tokio::test]
async fn several_questions_are_asked_of_the_same_examples() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::mixed());
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let task = |signature: &str, method: &str| InferenceTask {
        model_spec: Some(spec(signature)),
        method_name: format!("tensorflow/serving/{method}"),
    };
    let request = |tasks: Vec<InferenceTask>| MultiInferenceRequest {
        tasks,
        input: Some(Input {
            example_list: Some(ExampleList {
                examples: vec![Example::default(); 2],
            }),
            example_list_with_context: None,
        }),
    };
    let path = "/tensorflow.serving.PredictionService/MultiInference";
    let both = request(vec![task("classes", "classify"), task("values", "regress")]);
    let answer: MultiInferenceResponse = client.call(path, &both).await.unwrap();
    let [classes, values] = &answer.results[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(classes.classification.as_ref().unwrap().classifications.len(), 2);
    assert_eq!(values.regression.as_ref().unwrap().regressions.len(), 2);
    assert_eq!(values.model_spec.as_ref().unwrap().signature_name, "values");
    for (tasks, words) in [
        (Vec::new(), "has no tasks"),
        (
            vec![task("classes", "predict")],
            "not `tensorflow/serving/predict`",
        ),
        (
            vec![task("classes", "regress")],
            "the method of the signature `classes`",
        ),
    ] {
        let (code, told) = client
            .call::<MultiInferenceResponse>(path, &request(tasks))
            .await
            .unwrap_err();
        assert!(code == 3 && told.contains(words), "{code} {told}");
    }
    server.stop().await;
}

#[tokio::test]
async fn who_watches_the_health_is_told_of_every_change() {
    let base = tempfile::tempdir().unwrap();
    let server = crate::start_with(base.path(), |options| options.waits = true)
        .await
        .unwrap();
    let mut client = Grpc::connect(server.addresses()[0]).await;
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let mut told = client.watch("/grpc.health.v1.Health/Watch", &request).await;
    let mut next = async || {
        let frame = told.frame().await.unwrap().unwrap();
        let frame = frame.into_data().map(|data| data.slice(5..));
        frame
            .ok()
            .map(|message| HealthCheckResponse::decode(message).unwrap().status)
    };
    assert_eq!(next().await, Some(NOT_SERVING));
    models::export(base.path(), 1, &models::adding(1.0));
    assert_eq!(next().await, Some(SERVING));
    // A server that stops says so, and ends the watch instead of waiting for it.
    let stopped = tokio::spawn(server.stop());
    assert_eq!(next().await, Some(NOT_SERVING));
    assert_eq!(next().await, None);
    stopped.await.unwrap();
}
