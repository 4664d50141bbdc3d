//! The way the original service is described: a definition is registered, values are filled in, a job runs, and
//! whoever asked for it is called back. The JSON is that of the description.

use client_tests::{Receiver, Release, Shell, is_real, kubectl, needed};
use serde_json::{Value, json};

use crate::{Service, until};

/// The definition as it is registered, text for text; registry and account are made up.
const DEFINITION: &str = r#"{
	"creator": "admin",
	"name": "mnist_softmax_cpu",
	"task_template_name": "non-distributed-task",
	"description": "Tensorflow mnist softmax training on cpu",
	"user_values_description": "taskDef: (Required) Task definition name\r\ndescription: (Required) Description of job\r\nname: (Required) Application name\r\ncreator: (Required) Creator Id\r\n\r\nendpoints:\r\n  -\r\n    endpoint: (Required) S3 folder endpoint stores train.tfrecords, test.tfrecords, validation.tfrecords\r\n    type: (Required) dataset\r\n  -\r\n    endpoint: (Optional) A callback endpoint\r\n    type: (Optional) event\r\n\r\nprocess:\r\n  train:\r\n    maxStep: (Optional) Max step to train, default is 1000\r\n    batchSize: (Optional) Batch size to train, default is 100\r\n    saveStep: (Required) Number of step to save checkpoint\r\n  eval:\r\n    batchSize: (Optional) Batch size to eval, default is 100\r\n  model:\r\n  export: \r\n    modelVersion: (Optional) Model version to export to local path,\r\n    signatureMap: (Required) Signature map for serving model\r\n\r\nresources:\r\n  cpu: (Optional) CPU resource default `500m`\r\n  memory: (Optional) Memory resource default `512Mi`\r\n",
	"system_values": "image:\r\n  pullPolicy: Always\r\n  repository: registry.example\/base\r\n  tag: mnist-softmax-cpu",
	"user_values_example": "taskDef: mnist_softmax_cpu\r\ndescription: Training tensorflow MNIST softmax on CPU\r\nname: demo\r\ncreator: ducta\r\n\r\nendpoints:\r\n  -\r\n    endpoint: s3:\/\/abc\/xyz\r\n    type: dataset\r\n  -\r\n    endpoint: http:\/\/localhost:8080\/v1\/callback\r\n    type: event\r\n\r\nprocess:\r\n  train:\r\n    maxStep: 2000\r\n    batchSize: 256\r\n    saveStep: 200\r\n  eval:\r\n    batchSize: 100\r\n  model:\r\n  export: \r\n    modelVersion: 1\r\n    signatureMap: predict_images\r\n\r\nresources:\r\n  cpu: 2000m\r\n  memory: 2048Mi\r\n",
	"application": "Production",
	"append_uuid": 0
}"#;

/// Filled values, text for text; the receiver is put in by the test.
const VALUES: &str = r#"{
  "taskDef": "mnist_softmax_cpu",
  "description": "Training tensorflow MNIST softmax on CPU",
  "name": "demo",
  "creator": "ducta",
  "endpoints":[
    {
      "endpoint": "s3://bucket/dataset/mnist-tfrecords/",
      "type": "dataset"
    },
    {
      "endpoint": "RECEIVER",
      "type": "event",
      "headers":{
        "x-api-key": "a-key-of-the-test"
      }
    }
  ],
  "process":{
    "train":{
      "maxStep": 100,
        "batchSize": 32,
        "saveStep": 20  
    },
    "eval":{
      "batchSize": 10  
    },
    "model":{},
    "export":{
      "modelVersion": 1,  
      "signatureMap": "predict_images"
    }
  },
  "resources":{
    "cpu": "200m",
    "memory": "512Mi"
  }
}"#;

#[test]
fn a_definition_is_registered_and_its_values_become_a_job_that_counts_down() {
    let service = Service::start();
    let receiver = Receiver::start();

    // Registered as it is described, and described again as it was registered.
    let registered = service.curl(&[], "/v1/definitions", Some(DEFINITION)).expect(201);
    let sent: Value = serde_json::from_str(DEFINITION).unwrap();
    for (name, value) in sent.as_object().unwrap() {
        assert_eq!(&registered[name], value, "{name}");
    }
    let found = service.get("/v1/definitions/mnist_softmax_cpu").expect(200);
    assert_eq!(found["user_values_description"], sent["user_values_description"]);

    // The same values once more: what they make is what the template says.
    let values = VALUES.replace("RECEIVER", &receiver.url("/v1/ml/train/callback"));
    let preview = service
        .curl(&[], "/v1/tasks?dryRun=true", Some(&values))
        .expect(200);
    let kinds: Vec<&Value> = preview["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| &object["kind"])
        .collect();
    assert_eq!(kinds, ["ConfigMap", "PersistentVolumeClaim", "Job"]);
    let job = &preview["manifests"][2];
    assert_eq!(job["metadata"]["labels"]["taskDef"], "mnist_softmax_cpu");
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/base:mnist-softmax-cpu");
    assert_eq!(
        container["resources"]["limits"],
        json!({"cpu": "200m", "memory": "512Mi"})
    );
    let process: Value =
        serde_json::from_str(preview["manifests"][0]["data"]["processCfg"].as_str().unwrap()).unwrap();
    assert_eq!(process["train"]["saveStep"], 20);

    let task = service.curl(&[], "/v1/tasks", Some(&values)).expect(201);
    let name = task["name"].as_str().unwrap();
    assert!(
        name.starts_with("mnist-softmax-cpu-") && name.len() <= 50,
        "{name}"
    );
    assert_eq!(
        (&task["phase"], &task["creator"]),
        (&json!("Pending"), &json!("admin"))
    );
    let shown = service.get(&format!("/v1/tasks/{name}")).expect(200);
    assert!(
        !shown.to_string().contains("a-key-of-the-test"),
        "headers are secrets: {shown}"
    );

    // One that runs here: it counts down, and tells of it.
    service.register_countdown("countdown");
    let mut countdown = crate::countdown("countdown", 3);
    countdown["endpoints"] = json!([{
        "endpoint": receiver.url("/v1/ml/train/callback"),
        "type": "event",
        "headers": {"x-api-key": "a-key-of-the-test"},
    }]);
    let task = service.post("/v1/tasks", &countdown).expect(201);
    let name = task["name"].as_str().unwrap();
    if is_real() {
        // Pods only seem to run there; somebody says how they ended.
        finish(&service, name);
    }
    let ended = service.wait_for(name, &["Succeeded", "Failed"]);
    assert_eq!(ended["phase"], "Succeeded", "{ended}");
    if !is_real() {
        let log = service.get(&format!("/v1/tasks/{name}/logs"));
        assert_eq!(
            (log.status, log.body.replace('\r', "").as_str()),
            (200, "3\n2\n1\n"),
            "{log:?}"
        );
    }

    // The receiver is told, in order, with its own header and ours.
    let mine = || -> Vec<_> {
        let calls = receiver.calls();
        calls
            .into_iter()
            .filter(|call| call.body["task_id"] == name)
            .collect()
    };
    until("the last callback", || {
        let calls = mine();
        let is_told = calls.iter().any(|call| call.body["status"] == "succeeded");
        is_told.then_some(()).ok_or_else(|| format!("{calls:#?}"))
    });
    let calls = mine();
    let sequences: Vec<i64> = calls
        .iter()
        .filter_map(|call| call.body["data"]["sequence"].as_i64())
        .collect();
    assert!(sequences.is_sorted(), "{sequences:?}");
    for call in &calls {
        assert_eq!(call.path, "/v1/ml/train/callback");
        assert_eq!(call.header("x-api-key"), Some("a-key-of-the-test"));
        assert!(call.header("webhook-id").is_some() && call.header("webhook-timestamp").is_some());
        assert!(
            call.header("webhook-signature")
                .is_some_and(|signature| signature.starts_with("v1,"))
        );
        assert_eq!(call.body["task_def"], "countdown");
        assert_eq!(call.body["creator"], "admin");
    }

    // The log of deliveries says the same, and one can be delivered again.
    let deliveries = service
        .get(&format!("/v1/deliveries?task={name}&phase=Delivered"))
        .expect(200);
    let delivery = &deliveries["items"][0];
    let before = receiver.calls().len();
    let path = format!("/v1/deliveries/{}", delivery["name"].as_str().unwrap());
    service
        .curl(&["-X", "POST"], &format!("{path}:replay"), None)
        .expect(202);
    until("the callback once more", || {
        let now = receiver.calls().len();
        (now > before).then_some(()).ok_or_else(|| format!("{now} calls"))
    });
    let attempts = service.get(&path).expect(200);
    assert!(!attempts.to_string().contains("a-key-of-the-test"), "{attempts}");
}

/// Ends the job of a task on a cluster whose pods only seem to run.
fn finish(service: &Service, task: &str) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let shell = Shell::new(&service.server, &[("kubectl", &kubectl)]);
    until("the pod of the job", || {
        let found = shell.run(&format!("kubectl get pods -l job-name={task} -o name"));
        (!found.stdout.is_empty()).then_some(()).ok_or(found.stderr)
    });
    let patch = r#"{"status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}}"#;
    shell.ok(&format!(
        "kubectl patch --subresource=status $(kubectl get pods -l job-name={task} -o name) -p '{patch}'"
    ));
}

/// The original texts, which are no part of this repository.
#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn the_registration_of_the_corpus_is_taken_as_it_stands() {
    let corpus = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    let folder = std::path::Path::new(&corpus).join("004/from-seed");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let service = Service::start();
    let definition = read("definition/mnist_softmax_cpu.register.json");
    service
        .curl(&[], "/v1/definitions", Some(&definition))
        .expect(201);
    let values = read("filled-values/mnist_softmax_cpu.json");
    let preview = service
        .curl(&[], "/v1/tasks?dryRun=true", Some(&values))
        .expect(200);
    assert_eq!(preview["manifests"].as_array().unwrap().len(), 3);
    service.curl(&[], "/v1/tasks", Some(&values)).expect(201);
}
