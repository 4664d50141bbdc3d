//! TensorFlow Serving's questions about a model.

use std::{collections::BTreeMap, sync::Arc};

use prost::Message as _;

use crate::{
    app::App,
    catalogue::{Choice, Version},
    failure::{Code, Failure, Outcome},
    proto::prediction::{
        Any, GetModelMetadataRequest, GetModelMetadataResponse, GetModelStatusRequest,
        GetModelStatusResponse, Int64Value, ModelSpec, ModelVersionStatus, SIGNATURES, SIGNATURES_TYPE,
        SignatureDefMap, StatusProto,
    },
};

/// Which version a request means.
pub(super) fn choice(spec: &ModelSpec) -> Choice {
    match &spec.version {
        Some(version) => Choice::Number(version.value),
        None if spec.version_label.is_empty() => Choice::Latest,
        None => Choice::Label(spec.version_label.clone()),
    }
}

/// Who answered.
pub(super) fn answered_by(app: &App, version: &Version, signature: &str) -> ModelSpec {
    ModelSpec {
        name: app.catalogue.name.clone(),
        version: Some(Int64Value {
            value: version.number as i64,
        }),
        signature_name: signature.to_owned(),
        version_label: String::new(),
    }
}

pub(super) fn find(app: &App, spec: Option<&ModelSpec>) -> Outcome<Arc<Version>> {
    let spec = spec.ok_or_else(|| Failure::invalid("the request names no model (`model_spec`)"))?;
    app.catalogue.find(&spec.name, &choice(spec))
}

pub(super) fn metadata(app: &App, request: &GetModelMetadataRequest) -> Outcome<GetModelMetadataResponse> {
    if request.metadata_field.is_empty() {
        return Err(Failure::invalid("`metadata_field` must name at least one field"));
    }
    if let Some(field) = request.metadata_field.iter().find(|field| *field != SIGNATURES) {
        return Err(Failure::invalid(format!(
            "there is no metadata `{field}`, only `{SIGNATURES}`"
        )));
    }
    let version = find(app, request.model_spec.as_ref())?;
    let signatures = version.model.signatures().iter();
    let map = SignatureDefMap {
        signature_def: signatures
            .map(|(name, signature)| (name.clone(), signature.definition().clone()))
            .collect(),
    };
    let packed = Any {
        type_url: SIGNATURES_TYPE.to_owned(),
        value: map.encode_to_vec().into(),
    };
    Ok(GetModelMetadataResponse {
        model_spec: Some(answered_by(app, &version, "")),
        metadata: BTreeMap::from([(SIGNATURES.to_owned(), packed)]),
    })
}

pub(super) fn status(app: &App, request: &GetModelStatusRequest) -> Outcome<GetModelStatusResponse> {
    let spec = request
        .model_spec
        .as_ref()
        .ok_or_else(|| Failure::invalid("the request names no model (`model_spec`)"))?;
    app.catalogue.check_name(&spec.name)?;
    let number = app.catalogue.number(&choice(spec))?;
    let known: Vec<ModelVersionStatus> = app
        .catalogue
        .status()
        .into_iter()
        .filter(|status| number.is_none_or(|number| number == status.version))
        .map(|status| ModelVersionStatus {
            version: status.version as i64,
            state: status.state as i32,
            status: Some(StatusProto {
                error_code: if status.error.is_some() {
                    Code::Unknown as i32
                } else {
                    0
                },
                error_message: status.error.unwrap_or_default(),
            }),
        })
        .collect();
    if known.is_empty() {
        let words = match number {
            Some(number) => format!("there is no version {number} of `{}`", spec.name),
            None => format!("there is no version of `{}` yet", spec.name),
        };
        return Err(Failure::new(Code::NotFound, words));
    }
    Ok(GetModelStatusResponse {
        model_version_status: known,
    })
}
