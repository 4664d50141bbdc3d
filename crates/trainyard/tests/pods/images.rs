//! Images: imported beside a running cluster, and pulled from a registry that asks who we are.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{Api, api::DeleteParams};
use serde_json::json;

use crate::{
    cluster::{as_everybody, as_everybody_with, container, phase, shared_folder},
    made::{Made, running},
    registry::{PASSWORD, Registry, USER},
};

#[tokio::test]
async fn an_image_that_is_imported_beside_a_running_cluster_is_there_at_once() {
    as_everybody(async |cluster| {
        let layout = shared_folder();
        Made::saying("from a layout").write(layout.path());
        let path = layout.path().to_str().unwrap();
        let imported = cluster.trainyard(&["image", "import", path, "--name", "example.com/word:1"]);
        assert!(imported.is_success, "{imported:?}");
        let listed = cluster.trainyard(&["image", "ls"]);
        assert!(listed.stdout.contains("example.com/word:1"), "{listed:?}");
        let mut spec = running("example.com/word:1");
        spec["containers"][0]["args"] = json!(["cat /word; sleep 1000"]);
        spec["containers"][0]["imagePullPolicy"] = json!("Never");
        spec["terminationGracePeriodSeconds"] = json!(0);
        let pod: Pod = cluster
            .create(json!({"metadata": {"name": "word"}, "spec": spec}))
            .await;
        cluster.until_text(&pod, "from a layout").await;
        cluster.until_phase("word", "Running").await;

        // Its name goes at once, what the pod runs on when the pod does.
        let removed = cluster.trainyard(&["image", "rm", "example.com/word:1"]);
        assert!(removed.is_success, "{removed:?}");
        let words = "its layers stay until those who use them end: ";
        assert!(removed.stderr.starts_with(words), "{removed:?}");
        assert_eq!(phase(&cluster.pod("word").await), "Running");
        let pods: Api<Pod> = cluster.api();
        pods.delete("word", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("word").await;
        let listed = cluster.trainyard(&["image", "ls"]);
        assert!(!listed.stdout.contains("example.com/word:1"), "{listed:?}");
    })
    .await;
}

#[tokio::test]
async fn an_image_is_pulled_over_tls_by_who_has_the_secret() {
    let registry = Registry::start("team/word", "1", &Made::saying("from a registry"));
    let folder = shared_folder();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, &registry.authority).unwrap();
    let arguments = ["--registry-ca", authority.to_str().unwrap()];
    as_everybody_with(&arguments, async |cluster| {
        let image = registry.image("team/word:1");
        let pod = |name: &str, secret: &str| {
            let mut spec = running(&image);
            spec["imagePullSecrets"] = json!([{ "name": secret }]);
            json!({"metadata": {"name": name}, "spec": spec})
        };
        cluster.create::<Pod>(pod("stranger", "absent")).await;
        let waiting = cluster
            .until("stranger", "refused", |pod| {
                container(pod, "main")["state"]["waiting"]["reason"] == "ErrImagePull"
            })
            .await;
        let message = container(&waiting, "main")["state"]["waiting"]["message"].clone();
        let words = "authorization failed: no basic auth credentials";
        assert!(message.as_str().unwrap().ends_with(words), "{message}");

        let login = BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let auths = json!({"auths": {registry.address.to_string(): {"auth": login}}});
        cluster
            .create::<Secret>(json!({
                "metadata": {"name": "login"}, "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": auths.to_string()},
            }))
            .await;
        let pulled: Pod = cluster.create(pod("member", "login")).await;
        let over = cluster.until_phase("member", "Succeeded").await;
        assert_eq!(cluster.text(&pulled, "main", 0), "from a registry\n");
        let id = container(&over, "main")["imageID"].clone();
        assert!(id.as_str().unwrap().contains("sha256:"), "{id}");
        for reason in ["Pulling", "Pulled"] {
            cluster.until_event("member", reason).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_registry_that_nobody_vouches_for_is_not_believed() {
    let registry = Registry::start("team/word", "1", &Made::saying("from a stranger"));
    as_everybody(async |cluster| {
        let spec = running(&registry.image("team/word:1"));
        cluster
            .create::<Pod>(json!({"metadata": {"name": "word"}, "spec": spec}))
            .await;
        let words = "x509: certificate signed by unknown authority";
        cluster.until_event_says("word", "Failed", words).await;
    })
    .await;
}
