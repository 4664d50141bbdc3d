//! What a running server is to serve, of `tensorflow.serving`.

use std::collections::BTreeMap;

use super::prediction::StatusProto;

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReloadConfigRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ModelServerConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReloadConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<StatusProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelServerConfig {
    #[prost(message, optional, tag = "1")]
    pub model_config_list: Option<ModelConfigList>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelConfigList {
    #[prost(message, repeated, tag = "1")]
    pub config: Vec<ModelConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelConfig {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub base_path: String,
    #[prost(string, tag = "4")]
    pub model_platform: String,
    #[prost(message, optional, tag = "7")]
    pub model_version_policy: Option<VersionPolicy>,
    #[prost(btree_map = "string, int64", tag = "8")]
    pub version_labels: BTreeMap<String, i64>,
}

/// At most one of them is there; none is the latest.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionPolicy {
    #[prost(message, optional, tag = "100")]
    pub latest: Option<Latest>,
    #[prost(message, optional, tag = "101")]
    pub all: Option<All>,
    #[prost(message, optional, tag = "102")]
    pub specific: Option<Specific>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Latest {
    /// None is one.
    #[prost(uint32, tag = "1")]
    pub num_versions: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct All {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Specific {
    #[prost(int64, repeated, tag = "1")]
    pub versions: Vec<i64>,
}
