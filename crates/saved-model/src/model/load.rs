//! From files to a model.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

use super::{Model, Port, Signature};
use crate::{
    compile::{CompileError, Compiler, Frame, Purpose, UnsupportedOp, Wire},
    files::Files,
    graph::{Body, Library, Reference, library},
    proto::{
        MetaGraphDef, SavedModel, SignatureDef, TensorInfo, collection_def::Kind, tensor_info::Encoding,
    },
    resources::Resources,
    tensor::{DType, Tensor},
};

const FILE: &str = "saved_model.pb";
const VARIABLES: &str = "variables/variables";
/// The graph that is made for serving, among those for training and other machines.
const TAG: &str = "serve";
const INIT: &str = "__saved_model_init_op";
const TRAIN: &str = "__saved_model_train_op";
const MAIN_OP: &str = "saved_model_main_op";
const LEGACY_INIT: &str = "legacy_init_op";
/// So many unsupported ops are named.
const TOLD: usize = 8;

/// Why a model cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{path}` cannot be read")]
    Unreadable {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("`{path}` is damaged or no SavedModel")]
    Damaged {
        path: String,
        #[source]
        cause: prost::DecodeError,
    },
    #[error("`{FILE}` has no graph for serving, but for: {}", tags.join(", "))]
    NoGraph { tags: Vec<String> },
    #[error("the model has no signature to serve")]
    NoSignatures,
    #[error("the model has no signature `{name}`; it has: {}", known.join(", "))]
    NoSignature { name: String, known: Vec<String> },
    #[error("the values of the model's variables cannot be restored")]
    Restore(#[source] CompileError),
    #[error("the model cannot be initialised")]
    Initialise(#[source] CompileError),
    #[error("the signature `{name}` cannot be compiled")]
    Compile {
        name: String,
        #[source]
        cause: CompileError,
    },
    #[error("the signature `{signature}`: `{port}` {what}")]
    Port {
        signature: String,
        port: String,
        what: String,
    },
    #[error("the model needs {}", needed(ops))]
    Unsupported { ops: Vec<(String, UnsupportedOp)> },
}

impl LoadError {
    /// Whether the files may be right when they are looked at again: somebody may still be writing them.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::Damaged { .. } => true,
            Self::Restore(cause) => matches!(cause, CompileError::Bundle(_)),
            Self::Initialise(_)
            | Self::NoGraph { .. }
            | Self::NoSignatures
            | Self::NoSignature { .. }
            | Self::Compile { .. }
            | Self::Port { .. }
            | Self::Unsupported { .. } => false,
        }
    }
}

fn needed(ops: &[(String, UnsupportedOp)]) -> String {
    let mut kinds: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for (signature, UnsupportedOp { op, node }) in ops {
        kinds.entry(op).or_insert((node, signature));
    }
    let told: Vec<String> = kinds
        .iter()
        .take(TOLD)
        .map(|(op, (node, signature))| format!("the op {op} (node `{node}`, signature `{signature}`)"))
        .collect();
    let more = match kinds.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}, not supported here", told.join(", "))
}

/// Which signatures are to be served.
#[derive(Clone, Debug, Default)]
pub enum Wanted {
    #[default]
    All,
    Named(Vec<String>),
}

impl Model {
    /// Loads a model as TensorFlow does: the graph restores and initialises itself. Every signature that is wanted
    /// must compile.
    pub fn load(files: &dyn Files, wanted: &Wanted) -> Result<Self, LoadError> {
        let graph = read(files)?;
        let definition = graph.graph_def.clone().unwrap_or_default();
        let library = library(&definition);
        let body = Body::of_graph(&definition);
        let mut resources = Resources::default();
        let loading = Loading {
            files,
            graph: &graph,
            library: &library,
            body: &body,
        };
        loading.restore(&mut resources)?;
        loading.initialise(&mut resources)?;
        let signatures = loading.signatures(&mut resources, wanted)?;
        Ok(Self {
            signatures,
            bytes: resources.bytes(),
        })
    }
}

fn read(files: &dyn Files) -> Result<MetaGraphDef, LoadError> {
    let path = || FILE.to_owned();
    let bytes = files
        .read(FILE)
        .map_err(|cause| LoadError::Unreadable { path: path(), cause })?;
    let model =
        SavedModel::decode(Bytes::from(bytes)).map_err(|cause| LoadError::Damaged { path: path(), cause })?;
    let tags = |graph: &MetaGraphDef| graph.meta_info_def.clone().unwrap_or_default().tags;
    let all: Vec<String> = model
        .meta_graphs
        .iter()
        .map(|graph| tags(graph).join("+"))
        .collect();
    // A graph for serving on other machines has further tags.
    let found = model
        .meta_graphs
        .into_iter()
        .filter(|graph| tags(graph).iter().any(|tag| tag == TAG));
    found
        .min_by_key(|graph| tags(graph).len())
        .ok_or(LoadError::NoGraph { tags: all })
}

struct Loading<'a> {
    files: &'a dyn Files,
    graph: &'a MetaGraphDef,
    library: &'a Library<'a>,
    body: &'a Body<'a>,
}

impl Loading<'_> {
    fn compiler<'b>(&'b self, purpose: Purpose, resources: &'b mut Resources) -> Compiler<'b> {
        Compiler::new(purpose, self.library, resources, self.files)
    }

    /// The frame of the graph, in which the names of assets are known.
    fn frame(&self) -> Frame<'_> {
        let mut frame = Frame::new(self.body, Vec::new(), String::new());
        for asset in &self.graph.asset_file_def {
            if let Some(name) = asset.tensor_info.as_ref().and_then(tensor_name) {
                let path = Bytes::from(format!("assets/{}", asset.filename));
                frame.feed(
                    Reference::parse(name).node(),
                    Wire::Constant(Tensor::scalar(path)),
                );
            }
        }
        frame
    }

    /// Runs the graph's own op that restores its variables.
    fn restore(&self, resources: &mut Resources) -> Result<(), LoadError> {
        let Some(saver) = self
            .graph
            .saver_def
            .as_ref()
            .filter(|saver| !saver.restore_op_name.is_empty())
        else {
            return Ok(());
        };
        let mut frame = self.frame();
        let prefix = Wire::Constant(Tensor::scalar(Bytes::from_static(VARIABLES.as_bytes())));
        frame.feed(Reference::parse(&saver.filename_tensor_name).node(), prefix);
        let mut compiler = self.compiler(Purpose::Initialise, resources);
        let run = compiler.node(
            &mut frame,
            Reference::parse(&saver.restore_op_name).node(),
            "the restore op",
        );
        run.map_err(LoadError::Restore)?;
        known("restore", compiler.unsupported)
    }

    /// Runs the graph's own op that fills tables.
    fn initialise(&self, resources: &mut Resources) -> Result<(), LoadError> {
        let named = self
            .graph
            .signature_def
            .get(INIT)
            .and_then(|signature| signature.outputs.get(INIT));
        let named = named.and_then(tensor_name).map(str::to_owned);
        let listed = [MAIN_OP, LEGACY_INIT].into_iter().find_map(|name| {
            match self.graph.collection_def.get(name)?.kind.as_ref()? {
                Kind::NodeList(list) => list.value.first().cloned(),
            }
        });
        let Some(op) = named.or(listed) else { return Ok(()) };
        let mut frame = self.frame();
        let mut compiler = self.compiler(Purpose::Initialise, resources);
        let op = Reference::parse(&op).node().to_owned();
        // The name must live as long as the graph; the graph has it too.
        let Some((&name, _)) = self.body.nodes.get_key_value(op.as_str()) else {
            return Ok(());
        };
        compiler
            .node(&mut frame, name, "the init op")
            .map_err(LoadError::Initialise)?;
        known("init", compiler.unsupported)
    }

    fn signatures(
        &self,
        resources: &mut Resources,
        wanted: &Wanted,
    ) -> Result<BTreeMap<String, Signature>, LoadError> {
        let all = self
            .graph
            .signature_def
            .iter()
            .filter(|(name, _)| ![INIT, TRAIN].contains(&name.as_str()));
        let all: BTreeMap<&String, &SignatureDef> = all.collect();
        let names: Vec<String> = all.keys().map(|name| (*name).clone()).collect();
        let chosen = match wanted {
            Wanted::All => names.clone(),
            Wanted::Named(chosen) => chosen.clone(),
        };
        let (mut signatures, mut unsupported) = (BTreeMap::new(), Vec::new());
        for name in chosen {
            let definition = all.get(&name).ok_or_else(|| LoadError::NoSignature {
                name: name.clone(),
                known: names.clone(),
            })?;
            match self.signature(resources, &name, definition)? {
                Ok(signature) => {
                    signatures.insert(name, signature);
                }
                Err(ops) => unsupported.extend(ops.into_iter().map(|op| (name.clone(), op))),
            }
        }
        if !unsupported.is_empty() {
            return Err(LoadError::Unsupported { ops: unsupported });
        }
        if signatures.is_empty() {
            return Err(LoadError::NoSignatures);
        }
        Ok(signatures)
    }

    fn signature(
        &self,
        resources: &mut Resources,
        name: &str,
        definition: &SignatureDef,
    ) -> Result<Result<Signature, Vec<UnsupportedOp>>, LoadError> {
        let failed = |cause| LoadError::Compile {
            name: name.to_owned(),
            cause,
        };
        let inputs = ports(name, &definition.inputs, definition)?;
        let outputs = ports(name, &definition.outputs, definition)?;
        let mut frame = self.frame();
        let mut compiler = self.compiler(Purpose::Serve, resources);
        for info in definition.inputs.values() {
            let wire = compiler.input();
            let reference = Reference::parse(tensor_name(info).unwrap_or_default());
            // The name must live as long as the graph; the graph has it too.
            if let Some((&node, _)) = self.body.nodes.get_key_value(reference.node()) {
                frame.feed(node, wire);
            }
        }
        let mut wires = Vec::with_capacity(outputs.len());
        for info in definition.outputs.values() {
            let name = tensor_name(info).unwrap_or_default();
            let (node, index) = match Reference::parse(name) {
                Reference::Output(node, index) => (node, index),
                other => (other.node(), 0),
            };
            let missing = || {
                failed(CompileError::NoNode {
                    name: name.to_owned(),
                    wanted_by: "an output".to_owned(),
                })
            };
            let (&node, _) = self.body.nodes.get_key_value(node).ok_or_else(missing)?;
            wires.push(
                compiler
                    .output(&mut frame, Reference::Output(node, index))
                    .map_err(failed)?,
            );
        }
        if !compiler.unsupported.is_empty() {
            return Ok(Err(compiler.unsupported));
        }
        let plan = compiler
            .finish(inputs.len(), wires)
            .ok_or_else(|| LoadError::Port {
                signature: name.to_owned(),
                port: "an output".to_owned(),
                what: "is no tensor".to_owned(),
            })?;
        Ok(Ok(Signature {
            definition: definition.clone(),
            inputs,
            outputs,
            plan,
        }))
    }
}

fn known(name: &str, unsupported: Vec<UnsupportedOp>) -> Result<(), LoadError> {
    if unsupported.is_empty() {
        return Ok(());
    }
    let ops = unsupported.into_iter().map(|op| (name.to_owned(), op)).collect();
    Err(LoadError::Unsupported { ops })
}

fn tensor_name(info: &TensorInfo) -> Option<&str> {
    match info.encoding.as_ref()? {
        Encoding::Name(name) => Some(name),
        Encoding::CooSparse(_) | Encoding::Composite(_) => None,
    }
}

fn ports(
    signature: &str,
    infos: &BTreeMap<String, TensorInfo>,
    definition: &SignatureDef,
) -> Result<Vec<Port>, LoadError> {
    let port = |(name, info): (&String, &TensorInfo)| {
        let refuse = |what: String| LoadError::Port {
            signature: signature.to_owned(),
            port: name.clone(),
            what,
        };
        if tensor_name(info).is_none() {
            return Err(refuse(
                "is a sparse or composite tensor, which is not supported".to_owned(),
            ));
        }
        let dtype = DType::from_number(info.dtype)
            .filter(|dtype| *dtype != DType::List)
            .ok_or_else(|| {
                refuse(format!(
                    "is of type {}, which is not supported",
                    DType::name_of(info.dtype)
                ))
            })?;
        let shape = info.tensor_shape.as_ref().filter(|shape| !shape.unknown_rank);
        let shape = shape.map(|shape| {
            shape
                .dim
                .iter()
                .map(|dim| usize::try_from(dim.size).ok())
                .collect()
        });
        let default = definition.defaults.get(name).map(Tensor::try_from).transpose();
        let default =
            default.map_err(|error| refuse(format!("has a default that cannot be read: {error}")))?;
        Ok(Port {
            name: name.clone(),
            dtype,
            shape,
            default,
        })
    };
    infos.iter().map(port).collect()
}
