//! The specification of each kind.

use manifests::field::FieldError;
use resources::{Kind, specs};
use serde_json::Value;

use super::{Read, decode, mpi};
use crate::job::Framework;

pub(super) fn read(object: &Value, kind: &Kind, spec: &Value) -> Result<Read, FieldError> {
    Ok(match kind.kind {
        "TFJob" => tensorflow(decode(spec)?),
        "PyTorchJob" => pytorch(decode(spec)?),
        "MXJob" => {
            let spec: specs::MxJobSpec = decode(spec)?;
            plain(spec.run_policy, spec.mx_replica_specs, Framework::Mxnet)
        }
        "XGBoostJob" => {
            let spec: specs::XgBoostJobSpec = decode(spec)?;
            plain(spec.run_policy, spec.xgb_replica_specs, Framework::XgBoost)
        }
        "PaddleJob" => {
            let spec: specs::PaddleJobSpec = decode(spec)?;
            paddle(spec)
        }
        "JAXJob" => {
            let spec: specs::JaxJobSpec = decode(spec)?;
            plain(spec.run_policy, spec.jax_replica_specs, Framework::Jax)
        }
        _ => mpi::read(object, decode(spec)?),
    })
}

fn plain(run_policy: resources::RunPolicy, replicas: specs::Replicas, framework: Framework) -> Read {
    Read {
        run_policy,
        replicas,
        framework,
        mpi_version: None,
    }
}

fn tensorflow(spec: specs::TfJobSpec) -> Read {
    let framework = Framework::TensorFlow {
        all_workers: spec.success_policy.as_deref() == Some("AllWorkers"),
        dynamic: spec.enable_dynamic_worker,
    };
    plain(spec.run_policy, spec.tf_replica_specs, framework)
}

fn paddle(spec: specs::PaddleJobSpec) -> Read {
    let workers = workers(&spec.paddle_replica_specs);
    let elastic = spec.elastic_policy.map(|mut elastic| {
        // It has as many as it asks for, and never less than it must have.
        elastic.max_replicas = elastic.max_replicas.or(elastic.min_replicas.max(workers));
        elastic
    });
    plain(
        spec.run_policy,
        spec.paddle_replica_specs,
        Framework::Paddle { elastic },
    )
}

fn workers(replicas: &specs::Replicas) -> Option<i32> {
    replicas.get("Worker").map(|worker| worker.replicas.unwrap_or(1))
}

fn pytorch(spec: specs::PyTorchJobSpec) -> Read {
    let deprecated = spec
        .elastic_policy
        .as_ref()
        .and_then(|elastic| elastic.nproc_per_node);
    let processes = match spec.nproc_per_node {
        Some(Value::String(text)) => Some(text),
        Some(Value::Null) | None => deprecated.is_none().then(|| "auto".to_owned()),
        Some(number) => Some(number.to_string()),
    };
    let workers = workers(&spec.pytorch_replica_specs);
    let elastic = spec.elastic_policy.map(|mut elastic| {
        let (min, max) = (elastic.min_replicas, elastic.max_replicas);
        elastic.min_replicas = min.or(max).or(workers);
        elastic.max_replicas = max.or(min).or(workers);
        elastic
    });
    plain(
        spec.run_policy,
        spec.pytorch_replica_specs,
        Framework::PyTorch { elastic, processes },
    )
}
