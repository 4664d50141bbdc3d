//! The messages of TensorFlow that a SavedModel and its clients are made of, with the fields that are used here;
//! what is not listed is skipped when it is read.

mod example;
mod graph;
mod meta;
mod tensor;

pub use example::{BytesList, Example, Feature, Features, FloatList, Int64List, feature};
pub use graph::{
    ArgDef, AttrValue, FunctionDef, FunctionDefLibrary, GraphDef, ListValue, NameAttrList, NodeDef, OpDef,
    VersionDef, attr_value,
};
pub use meta::{
    AssetFileDef, BundleEntry, BundleHeader, CollectionDef, CompositeTensor, CooSparse, MetaGraphDef,
    MetaInfoDef, NodeList, SavedModel, SaverDef, SignatureDef, TensorInfo, collection_def, tensor_info,
};
pub use tensor::{Dim, TensorProto, TensorShapeProto};
