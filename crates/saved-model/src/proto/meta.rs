//! What is around a graph: signatures, assets, and the index of the variables' values.

use std::collections::BTreeMap;

use super::{
    graph::GraphDef,
    tensor::{TensorProto, TensorShapeProto},
};

#[derive(Clone, PartialEq, prost::Message)]
pub struct SavedModel {
    #[prost(int64, tag = "1")]
    pub saved_model_schema_version: i64,
    #[prost(message, repeated, tag = "2")]
    pub meta_graphs: Vec<MetaGraphDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaGraphDef {
    #[prost(message, optional, tag = "1")]
    pub meta_info_def: Option<MetaInfoDef>,
    #[prost(message, optional, tag = "2")]
    pub graph_def: Option<GraphDef>,
    #[prost(message, optional, tag = "3")]
    pub saver_def: Option<SaverDef>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub collection_def: BTreeMap<String, CollectionDef>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub signature_def: BTreeMap<String, SignatureDef>,
    #[prost(message, repeated, tag = "6")]
    pub asset_file_def: Vec<AssetFileDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MetaInfoDef {
    #[prost(string, repeated, tag = "4")]
    pub tags: Vec<String>,
    #[prost(string, tag = "5")]
    pub tensorflow_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SaverDef {
    #[prost(string, tag = "1")]
    pub filename_tensor_name: String,
    #[prost(string, tag = "2")]
    pub save_tensor_name: String,
    #[prost(string, tag = "3")]
    pub restore_op_name: String,
    /// 2: the format with an index and shards.
    #[prost(int32, tag = "7")]
    pub version: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CollectionDef {
    #[prost(oneof = "collection_def::Kind", tags = "1")]
    pub kind: Option<collection_def::Kind>,
}

pub mod collection_def {
    //! What a collection may hold; the other kinds are of no use here.

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        #[prost(message, tag = "1")]
        NodeList(super::NodeList),
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeList {
    #[prost(string, repeated, tag = "1")]
    pub value: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SignatureDef {
    #[prost(btree_map = "string, message", tag = "1")]
    pub inputs: BTreeMap<String, TensorInfo>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub outputs: BTreeMap<String, TensorInfo>,
    #[prost(string, tag = "3")]
    pub method_name: String,
    /// Values of inputs that need not be given.
    #[prost(btree_map = "string, message", tag = "4")]
    pub defaults: BTreeMap<String, TensorProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorInfo {
    #[prost(oneof = "tensor_info::Encoding", tags = "1, 4, 5")]
    pub encoding: Option<tensor_info::Encoding>,
    #[prost(int32, tag = "2")]
    pub dtype: i32,
    #[prost(message, optional, tag = "3")]
    pub tensor_shape: Option<TensorShapeProto>,
}

pub mod tensor_info {
    //! How a tensor is found in the graph.

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Encoding {
        #[prost(string, tag = "1")]
        Name(String),
        #[prost(message, tag = "4")]
        CooSparse(super::CooSparse),
        #[prost(message, tag = "5")]
        Composite(super::CompositeTensor),
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CooSparse {
    #[prost(string, tag = "1")]
    pub values_tensor_name: String,
    #[prost(string, tag = "2")]
    pub indices_tensor_name: String,
    #[prost(string, tag = "3")]
    pub dense_shape_tensor_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CompositeTensor {
    #[prost(message, repeated, tag = "2")]
    pub components: Vec<TensorInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AssetFileDef {
    #[prost(message, optional, tag = "1")]
    pub tensor_info: Option<TensorInfo>,
    #[prost(string, tag = "2")]
    pub filename: String,
}

/// The first entry of an index.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BundleHeader {
    #[prost(int32, tag = "1")]
    pub num_shards: i32,
    /// 0: little.
    #[prost(int32, tag = "2")]
    pub endianness: i32,
    #[prost(message, optional, tag = "3")]
    pub version: Option<super::VersionDef>,
}

/// Where the values of a variable are.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BundleEntry {
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
    #[prost(int32, tag = "3")]
    pub shard_id: i32,
    #[prost(int64, tag = "4")]
    pub offset: i64,
    #[prost(int64, tag = "5")]
    pub size: i64,
    #[prost(fixed32, tag = "6")]
    pub crc32c: u32,
    /// Parts of a variable that was saved in pieces; only whether there are any matters here.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub slices: Vec<bytes::Bytes>,
}
