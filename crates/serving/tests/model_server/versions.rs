//! Versions that come, go, and are not what they should be, while clients ask.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use prost::Message as _;
use saved_model::{Tensor, proto::TensorProto};
use serving::{
    Policy, StartError, State,
    proto::{
        config::{
            ModelConfig, ModelConfigList, ModelServerConfig, ReloadConfigRequest, ReloadConfigResponse,
            Specific, VersionPolicy,
        },
        log::{PredictLog, PredictionLog},
        prediction::PredictRequest,
    },
};

use crate::{
    becomes,
    client::{Grpc, get},
    models, start, start_with,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_takes_over_without_a_failed_request() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let address = server.addresses()[0];
    let (is_over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let (is_over, answers) = (is_over.clone(), answers.clone());
            tokio::spawn(async move {
                let mut client = Grpc::connect(address).await;
                let mut last = 1;
                while !is_over.load(Ordering::Relaxed) {
                    let (version, values) = client.add([0.0, 1.0]).await.unwrap();
                    assert!(version >= last, "version {version} after {last}");
                    // The answer is that of the version it names.
                    assert_eq!(values, [version as f32, version as f32 + 1.0]);
                    last = version;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                last
            })
        })
        .collect();
    for version in 2..=5 {
        let before = answers.load(Ordering::Relaxed);
        models::export(base.path(), version, &models::adding(version as f32));
        becomes(&server, version, State::Available).await;
        becomes(&server, version - 1, State::End).await;
        while answers.load(Ordering::Relaxed) < before + 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for asker in askers {
        assert_eq!(asker.await.unwrap(), 5);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_damaged_version_is_refused_and_the_old_one_stays() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    models::export(base.path(), 2, &models::damaged(models::adding(2.0)));
    becomes(&server, 2, State::End).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    let (_, status) = get(server.addresses()[0], "/v1/models/model").await;
    assert!(
        status.contains("do not match their checksum") && status.contains("AVAILABLE"),
        "{status}"
    );
    // Once it is whole it takes over.
    let whole = &models::adding(2.0)["variables/variables.data-00000-of-00001"];
    fs::write(
        base.path().join("2/variables/variables.data-00000-of-00001"),
        whole,
    )
    .unwrap();
    becomes(&server, 2, State::Available).await;
    becomes(&server, 1, State::End).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap(), (2, vec![2.0, 2.0]));
    server.stop().await;
}

#[tokio::test]
async fn a_version_that_is_being_copied_is_taken_when_it_is_whole() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    let server = start(base.path()).await;
    let files = models::adding(2.0);
    fs::create_dir_all(base.path().join("2/variables")).unwrap();
    for (name, content) in &files {
        becomes(&server, 2, State::End).await;
        assert!(get(server.addresses()[0], "/readyz").await.0 == 200);
        fs::write(base.path().join("2").join(name), content).unwrap();
    }
    becomes(&server, 2, State::Available).await;
    server.stop().await;
}

#[tokio::test]
async fn the_version_before_a_damaged_one_is_served_from_the_start() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 1, &models::adding(1.0));
    models::export(base.path(), 2, &models::damaged(models::adding(2.0)));
    models::export(base.path(), 3, &models::strange());
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    server.stop().await;
}

#[tokio::test]
async fn a_version_that_is_deleted_is_rolled_back() {
    let base = tempfile::tempdir().unwrap();
    for version in [1, 2] {
        models::export(base.path(), version, &models::adding(version as f32));
    }
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 2);
    fs::remove_dir_all(base.path().join("2")).unwrap();
    becomes(&server, 1, State::Available).await;
    becomes(&server, 2, State::End).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    // The last one stays, whatever becomes of its folder.
    fs::remove_dir_all(base.path()).unwrap();
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    server.stop().await;
}

#[tokio::test]
async fn several_versions_are_served_beside_each_other() {
    let base = tempfile::tempdir().unwrap();
    for version in [1, 2, 3] {
        models::export(base.path(), version, &models::adding(version as f32));
    }
    let server = start_with(base.path(), |options| {
        options.policy = Policy::Latest(2);
        options.labels = [("stable".to_owned(), 2)].into();
    })
    .await
    .unwrap();
    let address = server.addresses()[0];
    let status =
        async |path: &str| crate::client::http(address, "POST", path, r#"{"inputs": [[0, 0]]}"#).await;
    assert!(status("/v1/models/model:predict").await.1.contains("[[3.0,3.0]]"));
    assert!(
        status("/v1/models/model/versions/2:predict")
            .await
            .1
            .contains("[[2.0,2.0]]")
    );
    assert!(
        status("/v1/models/model/labels/stable:predict")
            .await
            .1
            .contains("[[2.0,2.0]]")
    );
    assert_eq!(status("/v1/models/model/versions/1:predict").await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_served_at_all_is_told_at_the_start() {
    let base = tempfile::tempdir().unwrap();
    let told = |started: Result<serving::Running, StartError>| match started {
        Ok(_) => panic!("it was started"),
        Err(error) => error.to_string(),
    };
    let missing = told(start_with(&base.path().join("gone"), |_| {}).await);
    assert!(
        missing.contains("gone` is no folder that can be read"),
        "{missing}"
    );
    let empty = told(start_with(base.path(), |_| {}).await);
    assert!(empty.contains("has no version of a model"), "{empty}");
    models::export(base.path(), 1, &models::strange());
    let wanted = |options: &mut serving::Options| options.policy = Policy::Only([3, 4].into());
    let other = told(start_with(base.path(), wanted).await);
    assert!(
        other.ends_with("has none of the versions that are wanted, but 1"),
        "{other}"
    );
    let strange = told(start_with(base.path(), |_| {}).await);
    assert!(
        strange.contains("version 1: the model needs the op QuantumFourier (node `y`"),
        "{strange}"
    );
}

#[tokio::test]
async fn a_server_may_wait_for_its_first_version() {
    let base = tempfile::tempdir().unwrap();
    let server = start_with(base.path(), |options| options.waits = true)
        .await
        .unwrap();
    let address = server.addresses()[0];
    assert_eq!(
        (get(address, "/healthz").await.0, get(address, "/readyz").await.0),
        (200, 503)
    );
    let mut client = Grpc::connect(address).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap_err().0, 14);
    models::export(base.path(), 1, &models::adding(1.0));
    becomes(&server, 1, State::Available).await;
    assert_eq!(get(address, "/readyz").await.0, 200);
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    server.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_a_model_is_served() {
    let base = tempfile::tempdir().unwrap();
    models::export(base.path(), 5, &models::adding(1.0));
    let server = start(&base.path().join("5")).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 5);
    server.stop().await;
}

fn config(policy: VersionPolicy, labels: &[(&str, i64)]) -> ReloadConfigRequest {
    let config = ModelConfig {
        name: "model".to_owned(),
        model_version_policy: Some(policy),
        version_labels: labels
            .iter()
            .map(|(label, version)| ((*label).to_owned(), *version))
            .collect(),
        ..ModelConfig::default()
    };
    ReloadConfigRequest {
        config: Some(ModelServerConfig {
            model_config_list: Some(ModelConfigList { config: vec![config] }),
        }),
    }
}

/// As TensorFlow Serving's users roll back: the server is told, nothing is restarted, nobody fails.
#[tokio::test]
async fn which_versions_are_served_can_be_changed_while_they_are() {
    let base = tempfile::tempdir().unwrap();
    for version in [1, 2, 3] {
        models::export(base.path(), version, &models::adding(version as f32));
    }
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 3);
    let path = "/tensorflow.serving.ModelService/HandleReloadConfigRequest";
    let specific = |versions: &[i64]| VersionPolicy {
        specific: Some(Specific {
            versions: versions.to_vec(),
        }),
        ..VersionPolicy::default()
    };
    let back = config(specific(&[1, 2]), &[("stable", 1)]);
    let answer: ReloadConfigResponse = client.call(path, &back).await.unwrap();
    assert_eq!(answer.status.unwrap().error_code, 0);
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 2);
    let body = r#"{"inputs": [[0, 0]]}"#;
    let labelled = "/v1/models/model/labels/stable:predict";
    let (_, answer) = crate::client::http(server.addresses()[0], "POST", labelled, body).await;
    assert!(answer.contains("[[1.0,1.0]]"), "{answer}");
    // What cannot be had changes nothing.
    for (wish, words) in [
        (config(specific(&[2, 9]), &[]), "version 9 is not there"),
        (config(specific(&[2]), &[("stable", 3)]), "version 3 is not there"),
    ] {
        let (code, told) = client
            .call::<ReloadConfigResponse>(path, &wish)
            .await
            .unwrap_err();
        assert!(code == 9 && told.contains(words), "{code} {told}");
    }
    becomes(&server, 1, State::Available).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 2);
    server.stop().await;
}

/// Requests as a model brings them to warm up a server.
fn warm_up(columns: usize) -> Vec<u8> {
    let x = Tensor::new([1, columns].as_slice(), vec![0.0_f32; columns]).unwrap();
    let log = PredictionLog {
        predict: Some(PredictLog {
            request: Some(PredictRequest {
                inputs: [("x".to_owned(), TensorProto::from(&x))].into(),
                ..PredictRequest::default()
            }),
        }),
        ..PredictionLog::default()
    };
    saved_model::records::written(&log.encode_to_vec()).to_vec()
}

#[tokio::test]
async fn a_version_that_cannot_answer_what_it_brings_is_refused() {
    const FILE: &str = "assets.extra/tf_serving_warmup_requests";
    let base = tempfile::tempdir().unwrap();
    let mut files = models::adding(1.0);
    files.insert(FILE.to_owned(), warm_up(2));
    models::export(base.path(), 1, &files);
    let server = start(base.path()).await;
    let mut client = Grpc::connect(server.addresses()[0]).await;
    files.insert(FILE.to_owned(), [warm_up(2), warm_up(3)].concat());
    models::export(base.path(), 2, &files);
    files.insert(FILE.to_owned(), warm_up(2)[..20].to_vec());
    models::export(base.path(), 3, &files);
    becomes(&server, 2, State::End).await;
    becomes(&server, 3, State::End).await;
    assert_eq!(client.add([0.0, 0.0]).await.unwrap().0, 1);
    let (_, status) = get(server.addresses()[0], "/v1/models/model").await;
    for words in [
        "request 2 of `assets.extra/tf_serving_warmup_requests` is not answered: the input `x`",
        "`assets.extra/tf_serving_warmup_requests` is damaged: record 1 is cut off",
    ] {
        assert!(status.contains(words), "{words}: {status}");
    }
    server.stop().await;
}
