//! Writing a SavedModel, as TensorFlow reads it: a graph that is built op by op, and the values of its variables.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

use crate::{
    bundle,
    proto::{
        AssetFileDef, AttrValue, GraphDef, MetaGraphDef, MetaInfoDef, NodeDef, SavedModel, SaverDef,
        SignatureDef, TensorInfo, TensorProto, TensorShapeProto, VersionDef, attr_value::Value,
        tensor_info::Encoding,
    },
    tensor::{DType, Tensor},
};

/// The method of a signature that takes and gives any tensors.
pub const PREDICT: &str = "tensorflow/serving/predict";
/// The method of a signature from examples to classes.
pub const CLASSIFY: &str = "tensorflow/serving/classify";
/// The method of a signature from examples to one number each.
pub const REGRESS: &str = "tensorflow/serving/regress";

/// The version of graphs that TensorFlow 2.11 writes.
const PRODUCER: i32 = 1286;

/// What a node gives: its name and which of its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    name: String,
}

/// A tensor of the graph as a signature shows it; -1 is a size that may be any.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    pub name: &'a str,
    pub tensor: &'a Output,
    pub dtype: DType,
    pub shape: &'a [i64],
}

/// A SavedModel while it is made.
#[derive(Default)]
pub struct Writer {
    nodes: Vec<NodeDef>,
    variables: BTreeMap<String, Tensor>,
    signatures: BTreeMap<String, SignatureDef>,
    assets: BTreeMap<String, Vec<u8>>,
    asset_files: Vec<AssetFileDef>,
    initialisers: Vec<String>,
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    /// A node with one output.
    pub fn op(&mut self, name: &str, op: &str, inputs: &[&Output], attributes: &[(&str, Value)]) -> Output {
        self.nodes.push(NodeDef {
            name: name.to_owned(),
            op: op.to_owned(),
            input: inputs.iter().map(|input| input.name.clone()).collect(),
            attr: attributes
                .iter()
                .map(|(name, value)| {
                    let value = Some(value.clone());
                    ((*name).to_owned(), AttrValue { value })
                })
                .collect(),
        });
        Output {
            name: name.to_owned(),
        }
    }

    /// Another output of a node that has several.
    pub fn output(of: &Output, index: usize) -> Output {
        Output {
            name: format!("{}:{index}", of.name),
        }
    }

    /// Something clients give.
    pub fn input(&mut self, name: &str, dtype: DType, shape: &[i64]) -> Output {
        let shape = Value::Shape(TensorShapeProto::of(shape));
        self.op(
            name,
            "Placeholder",
            &[],
            &[("dtype", of_type(dtype)), ("shape", shape)],
        )
    }

    pub fn constant(&mut self, name: &str, tensor: &Tensor) -> Output {
        let value = Value::Tensor(TensorProto::from(tensor));
        self.op(
            name,
            "Const",
            &[],
            &[("dtype", of_type(tensor.dtype())), ("value", value)],
        )
    }

    /// Something that was learnt. Gives its value.
    pub fn variable(&mut self, name: &str, tensor: Tensor) -> Output {
        let dtype = of_type(tensor.dtype());
        let sizes: Vec<i64> = tensor.shape().iter().map(|size| *size as i64).collect();
        let attributes = [
            ("dtype", dtype.clone()),
            ("shape", Value::Shape(TensorShapeProto::of(&sizes))),
            ("shared_name", Value::S(Bytes::from(name.to_owned()))),
        ];
        let handle = self.op(name, "VarHandleOp", &[], &attributes);
        self.variables.insert(name.to_owned(), tensor);
        self.op(
            &format!("{name}/Read"),
            "ReadVariableOp",
            &[&handle],
            &[("dtype", dtype)],
        )
    }

    /// A file of text beside the model. Gives its path, for ops that read it.
    pub fn asset(&mut self, name: &str, file: &str, content: Vec<u8>) -> Output {
        let path = self.constant(name, &Tensor::scalar(Bytes::from(file.to_owned())));
        self.assets.insert(file.to_owned(), content);
        self.asset_files.push(AssetFileDef {
            tensor_info: Some(TensorInfo {
                encoding: Some(Encoding::Name(format!("{name}:0"))),
                ..TensorInfo::default()
            }),
            filename: file.to_owned(),
        });
        path
    }

    /// A node that runs once, when the model is loaded.
    pub fn at_start(&mut self, node: &Output) {
        self.initialisers.push(format!("^{}", node.name));
    }

    pub fn signature(&mut self, name: &str, method: &str, inputs: &[Shown<'_>], outputs: &[Shown<'_>]) {
        let definition = SignatureDef {
            inputs: inputs.iter().map(info).collect(),
            outputs: outputs.iter().map(info).collect(),
            method_name: method.to_owned(),
            defaults: BTreeMap::new(),
        };
        self.signatures.insert(name.to_owned(), definition);
    }

    /// The files of the model, by path.
    pub fn files(mut self) -> BTreeMap<String, Vec<u8>> {
        let saver = self.saver();
        let init = self.initialiser();
        self.signatures.insert("__saved_model_init_op".to_owned(), init);
        let graph = GraphDef {
            node: self.nodes,
            library: None,
            versions: Some(VersionDef {
                producer: PRODUCER,
                min_consumer: 0,
            }),
        };
        let model = SavedModel {
            saved_model_schema_version: 1,
            meta_graphs: vec![MetaGraphDef {
                meta_info_def: Some(MetaInfoDef {
                    tags: vec!["serve".to_owned()],
                    tensorflow_version: String::new(),
                }),
                graph_def: Some(graph),
                saver_def: saver,
                collection_def: BTreeMap::new(),
                signature_def: self.signatures,
                asset_file_def: self.asset_files,
            }],
        };
        let mut files = BTreeMap::from([("saved_model.pb".to_owned(), model.encode_to_vec())]);
        if !self.variables.is_empty() {
            let (index, shard) = bundle::write(&self.variables);
            files.insert("variables/variables.index".to_owned(), index);
            files.insert("variables/variables.data-00000-of-00001".to_owned(), shard);
        }
        for (name, content) in self.assets {
            files.insert(format!("assets/{name}"), content);
        }
        files
    }

    /// The nodes by which the graph restores its variables.
    fn saver(&mut self) -> Option<SaverDef> {
        if self.variables.is_empty() {
            return None;
        }
        let text = |texts: Vec<String>| Tensor::list(texts.into_iter().map(Bytes::from).collect());
        let names: Vec<String> = self.variables.keys().cloned().collect();
        let types: Vec<i32> = self
            .variables
            .values()
            .map(|tensor| tensor.dtype().number())
            .collect();
        let prefix = self.constant("save/Const", &Tensor::scalar(Bytes::from_static(b"model")));
        let slices = self.constant("save/Slices", &text(vec![String::new(); names.len()]));
        let listed = self.constant("save/Names", &text(names.clone()));
        let dtypes = Value::List(crate::proto::ListValue {
            r#type: types.clone(),
            ..crate::proto::ListValue::default()
        });
        let restored = self.op(
            "save/RestoreV2",
            "RestoreV2",
            &[&prefix, &listed, &slices],
            &[("dtypes", dtypes)],
        );
        let mut assigned = Vec::new();
        for (index, (name, number)) in names.iter().zip(types).enumerate() {
            let handle = Output { name: name.clone() };
            let value = if index == 0 {
                restored.clone()
            } else {
                Self::output(&restored, index)
            };
            let node = self.op(
                &format!("save/Assign_{index}"),
                "AssignVariableOp",
                &[&handle, &value],
                &[("dtype", Value::Type(number))],
            );
            assigned.push(format!("^{}", node.name));
        }
        self.nodes.push(NodeDef {
            name: "save/restore_all".to_owned(),
            op: "NoOp".to_owned(),
            input: assigned,
            attr: BTreeMap::new(),
        });
        // TensorFlow wants a name for saving, though nobody saves a served model.
        let path = self.op(
            "save/Identity",
            "Identity",
            &[&prefix],
            &[("T", of_type(DType::Text))],
        );
        Some(SaverDef {
            filename_tensor_name: "save/Const:0".to_owned(),
            save_tensor_name: format!("{}:0", path.name),
            restore_op_name: "save/restore_all".to_owned(),
            version: 2,
        })
    }

    fn initialiser(&mut self) -> SignatureDef {
        self.nodes.push(NodeDef {
            name: "init".to_owned(),
            op: "NoOp".to_owned(),
            input: std::mem::take(&mut self.initialisers),
            attr: BTreeMap::new(),
        });
        let op = TensorInfo {
            encoding: Some(Encoding::Name("init".to_owned())),
            ..TensorInfo::default()
        };
        SignatureDef {
            outputs: BTreeMap::from([("__saved_model_init_op".to_owned(), op)]),
            ..SignatureDef::default()
        }
    }
}

/// A type as an attribute.
pub fn of_type(dtype: DType) -> Value {
    Value::Type(dtype.number())
}

fn info(shown: &Shown<'_>) -> (String, TensorInfo) {
    let name = &shown.tensor.name;
    let info = TensorInfo {
        encoding: Some(Encoding::Name(if name.contains(':') {
            name.clone()
        } else {
            format!("{name}:0")
        })),
        dtype: shown.dtype.number(),
        tensor_shape: Some(TensorShapeProto::of(shown.shape)),
    };
    (shown.name.to_owned(), info)
}
