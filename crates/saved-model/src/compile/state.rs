//! Ops that have to do with variables, tables and files: what they need is known while compiling.

use bytes::Bytes;

use super::{Bundle, CompileError, Compiler, Frame, Purpose, Wire, failed};
use crate::{
    graph::Attributes as _,
    ops,
    plan::{Inputs, Kernel, Source},
    proto::NodeDef,
    resources::{Resource, Table, TableState},
    tensor::{DType, Tensor},
};

const RESOURCE: i32 = 20;

impl<'a> Compiler<'a> {
    /// The outputs of a node that is decided here and now; none where it is an ordinary op.
    pub(super) fn stateful(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        inputs: &[Wire],
    ) -> Result<Option<Vec<Wire>>, CompileError> {
        let say = |what: &str| failed(frame, node, what.to_owned());
        let outputs = match node.op.as_str() {
            "NoOp" | "DisableCopyOnRead" => Vec::new(),
            "Const" => vec![Wire::Constant(
                node.constant("value").map_err(|what| failed(frame, node, what))?,
            )],
            "Placeholder" => return Err(say("it is an input that the signature does not name")),
            "PlaceholderWithDefault" | "StopGradient" | "PreventGradient" | "Snapshot" | "IdentityN" => {
                self.values(frame, node, inputs)?
            }
            "Identity" if node.type_number("T") == RESOURCE => inputs.to_vec(),
            "Identity" => self.values(frame, node, inputs)?,
            "VarHandleOp" | "VariableV2" | "Variable" => {
                let name = Self::resource_name(frame, node);
                vec![Wire::Resource(
                    self.resources.number(&name, || Resource::Variable(None)),
                )]
            }
            "HashTableV2" | "HashTable" | "MutableHashTableV2" | "MutableHashTable" => {
                self.table(frame, node)?
            }
            "ReadVariableOp" => {
                let number = resource(frame, node, inputs)?;
                vec![Wire::Constant(self.read(frame, node, number)?)]
            }
            "VarIsInitializedOp" | "IsVariableInitialized" => {
                let number = resource(frame, node, inputs)?;
                let has_value = self.resources.variable(number).is_some();
                vec![Wire::Constant(Tensor::scalar(has_value))]
            }
            "AssignVariableOp" | "Assign" => self.assign(frame, node, inputs)?,
            "RestoreV2" => self.restore(frame, node, inputs)?,
            "ResourceGather" | "ResourceGatherNd" => {
                let number = resource(frame, node, inputs)?;
                let value = self.read(frame, node, number)?;
                let gather = ops::resource_gather(node).map_err(|what| failed(frame, node, what))?;
                let mut inputs = inputs.to_vec();
                inputs[0] = Wire::Constant(value);
                self.step(frame, node, gather, inputs)?
            }
            "LookupTableFindV2" | "LookupTableFind" => self.find(frame, node, inputs)?,
            "LookupTableSizeV2" | "LookupTableSize" => {
                let number = resource(frame, node, inputs)?;
                let content = self
                    .resources
                    .table(number)
                    .and_then(|table| table.content.as_ref());
                let content = content.ok_or_else(|| say("its table was never filled"))?;
                vec![Wire::Constant(Tensor::scalar(content.rows.len() as i64))]
            }
            "LookupTableImportV2" | "LookupTableImport" | "InitializeTableV2" | "InitializeTable" => {
                self.change(frame, node)?;
                let [_, keys, values] = Self::known(frame, node, inputs)?;
                let number = resource(frame, node, inputs)?;
                self.fill(frame, node, number, Table::new(&keys, values))?
            }
            "InitializeTableFromTextFileV2" | "InitializeTableFromTextFile" => {
                self.change(frame, node)?;
                let [_, path] = Self::known(frame, node, inputs)?;
                let number = resource(frame, node, inputs)?;
                let table = self.read_table(node, number, &path);
                self.fill(frame, node, number, table)?
            }
            _ => return Ok(None),
        };
        Ok(Some(outputs))
    }

    /// What a variable has. Where one is never given a value, the model cannot be served.
    pub(super) fn read(
        &self,
        frame: &Frame<'a>,
        node: &NodeDef,
        number: usize,
    ) -> Result<Tensor, CompileError> {
        let value = self.resources.variable(number).cloned();
        value.ok_or_else(|| failed(frame, node, "the variable it reads has no value".to_owned()))
    }

    /// Inputs as they are, but for references to variables, which are read.
    fn values(&self, frame: &Frame<'a>, node: &NodeDef, inputs: &[Wire]) -> Result<Vec<Wire>, CompileError> {
        let value = |input: &Wire| match input {
            Wire::Resource(number) if self.resources.variable(*number).is_some() => {
                self.read(frame, node, *number).map(Wire::Constant)
            }
            other => Ok(other.clone()),
        };
        inputs.iter().map(value).collect()
    }

    /// Where the value of an output comes from; none where it is not known for want of an op.
    pub(super) fn source(
        &self,
        frame: &Frame<'a>,
        node: &NodeDef,
        wire: Wire,
    ) -> Result<Option<Source>, CompileError> {
        Ok(match wire {
            Wire::Slot(slot) => Some(Source::Slot { slot, is_last: false }),
            Wire::Constant(tensor) => Some(Source::Constant(tensor)),
            // Loops hand resources through; nobody looks at what comes out.
            Wire::Resource(number) => match self.resources.variable(number) {
                Some(value) => Some(Source::Constant(value.clone())),
                None if self.resources.table(number).is_some() => {
                    Some(Source::Constant(Tensor::scalar(false)))
                }
                None => return self.read(frame, node, number).map(|_| None),
            },
            Wire::Unknown => None,
        })
    }

    /// Inputs that must be known by now. Resources stand for nothing.
    fn known<const COUNT: usize>(
        frame: &Frame<'a>,
        node: &NodeDef,
        inputs: &[Wire],
    ) -> Result<[Tensor; COUNT], CompileError> {
        let known: Option<Vec<Tensor>> = inputs
            .iter()
            .map(|input| match input {
                Wire::Constant(tensor) => Some(tensor.clone()),
                Wire::Resource(_) => Some(Tensor::scalar(false)),
                Wire::Slot(_) | Wire::Unknown => None,
            })
            .collect();
        let known = known.and_then(|known| known.try_into().ok());
        known.ok_or_else(|| {
            failed(
                frame,
                node,
                "what it needs is not known when the model is loaded".to_owned(),
            )
        })
    }

    /// Refuses changes in what clients call.
    fn change(&self, frame: &Frame<'a>, node: &NodeDef) -> Result<(), CompileError> {
        match self.purpose {
            Purpose::Initialise => Ok(()),
            Purpose::Serve => Err(failed(
                frame,
                node,
                "it changes the model, which a request must not".to_owned(),
            )),
        }
    }

    fn resource_name(frame: &Frame<'a>, node: &NodeDef) -> String {
        let name = match node.text("shared_name") {
            "" => frame.name(&node.name),
            shared => shared.to_owned(),
        };
        format!("{}/{}/{name}", node.op, node.text("container"))
    }

    fn table(&mut self, frame: &Frame<'a>, node: &NodeDef) -> Result<Vec<Wire>, CompileError> {
        let dtype = |name| node.dtype(name).map_err(|what| failed(frame, node, what));
        let state = TableState {
            key_type: dtype("key_dtype")?,
            value_type: dtype("value_dtype")?,
            content: None,
        };
        let name = Self::resource_name(frame, node);
        Ok(vec![Wire::Resource(
            self.resources.number(&name, || Resource::Table(state)),
        )])
    }

    fn assign(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        inputs: &[Wire],
    ) -> Result<Vec<Wire>, CompileError> {
        self.change(frame, node)?;
        let [_, value] = Self::known(frame, node, inputs)?;
        let number = resource(frame, node, inputs)?;
        self.resources
            .assign(number, value)
            .map_err(|what| failed(frame, node, what))?;
        Ok(if node.op == "Assign" {
            inputs[..1].to_vec()
        } else {
            Vec::new()
        })
    }

    fn fill(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        number: usize,
        table: Result<Table, String>,
    ) -> Result<Vec<Wire>, CompileError> {
        let filled = table.and_then(|table| self.resources.fill(number, table));
        filled
            .map(|()| Vec::new())
            .map_err(|what| failed(frame, node, what))
    }

    fn find(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        inputs: &[Wire],
    ) -> Result<Vec<Wire>, CompileError> {
        let number = resource(frame, node, inputs)?;
        let content = self
            .resources
            .table(number)
            .and_then(|table| table.content.clone());
        let content = content.ok_or_else(|| failed(frame, node, "its table was never filled".to_owned()))?;
        let kernel: Kernel = Box::new(move |inputs: Inputs| match inputs.as_slice() {
            [keys, default] => Ok(smallvec::smallvec![content.find(keys, default)?]),
            _ => Err("keys and a default are wanted".to_owned()),
        });
        self.step(frame, node, kernel, inputs[1..].to_vec())
    }

    /// A file with a key or a value a line; whole lines and line numbers may be either.
    fn read_table(&self, node: &NodeDef, number: usize, path: &Tensor) -> Result<Table, String> {
        const WHOLE_LINE: i64 = -2;
        const LINE_NUMBER: i64 = -1;
        let path = match path.values::<Bytes>() {
            Some([path]) => String::from_utf8_lossy(path).into_owned(),
            _ => return Err("the name of its file is not text".to_owned()),
        };
        let text = self
            .files
            .read(&path)
            .map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        let delimiter = node.text("delimiter").chars().next().unwrap_or('\t');
        let offset = node.size("offset");
        let types = self
            .resources
            .table(number)
            .map(|table| (table.key_type, table.value_type));
        let (key_type, value_type) = types.ok_or("this is no table")?;
        let text = String::from_utf8(text).map_err(|_| format!("`{path}` is not text"))?;
        let column = |name: &str, dtype: DType| -> Result<Tensor, String> {
            let index = node.int(name).unwrap_or(WHOLE_LINE);
            let mut cells = Vec::new();
            for (line, content) in text.lines().skip(offset).enumerate() {
                cells.push(match index {
                    LINE_NUMBER => line.to_string(),
                    WHOLE_LINE => content.to_owned(),
                    index => {
                        let cell = usize::try_from(index)
                            .ok()
                            .and_then(|index| content.split(delimiter).nth(index));
                        let missing =
                            || format!("`{path}`, line {}: there is no column {index}", line + offset + 1);
                        cell.ok_or_else(missing)?.to_owned()
                    }
                });
            }
            let parse = || format!("`{path}` has values that are not of type {dtype}");
            Ok(match dtype {
                DType::Text => Tensor::list(cells.into_iter().map(Bytes::from).collect()),
                DType::I64 => Tensor::list(numbers::<i64>(&cells).ok_or_else(parse)?),
                DType::I32 => Tensor::list(numbers::<i32>(&cells).ok_or_else(parse)?),
                DType::F32 => Tensor::list(numbers::<f32>(&cells).ok_or_else(parse)?),
                _ => return Err(format!("tables of type {dtype} are not read from files")),
            })
        };
        Table::new(
            &column("key_index", key_type)?,
            column("value_index", value_type)?,
        )
    }

    fn restore(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        inputs: &[Wire],
    ) -> Result<Vec<Wire>, CompileError> {
        let [prefix, names, slices] = Self::known(frame, node, inputs)?;
        let say = |what: String| failed(frame, node, what);
        let text = |tensor: &Tensor| -> Result<Vec<String>, CompileError> {
            let texts = tensor
                .values::<Bytes>()
                .ok_or_else(|| say("names must be text".to_owned()))?;
            Ok(texts
                .iter()
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .collect())
        };
        let prefix = text(&prefix)?.into_iter().next().unwrap_or_default();
        if text(&slices)?.iter().any(|slice| !slice.is_empty()) {
            return Err(say(
                "variables that were saved in pieces are not supported".to_owned()
            ));
        }
        if self.bundle.as_ref().is_none_or(|(opened, _)| *opened != prefix) {
            self.bundle = Some((prefix.clone(), Bundle::open(self.files, &prefix)?));
        }
        let Some((_, bundle)) = &self.bundle else {
            return Ok(Vec::new());
        };
        let mut outputs = Vec::new();
        for name in text(&names)? {
            outputs.push(Wire::Constant(bundle.tensor(&name)?));
        }
        Ok(outputs)
    }
}

fn numbers<T: std::str::FromStr>(cells: &[String]) -> Option<Vec<T>> {
    cells.iter().map(|cell| cell.trim().parse().ok()).collect()
}

/// The resource a node is about, which is its first input.
fn resource(frame: &Frame<'_>, node: &NodeDef, inputs: &[Wire]) -> Result<usize, CompileError> {
    match inputs.first() {
        Some(Wire::Resource(number)) => Ok(*number),
        _ => Err(failed(frame, node, "its first input is no resource".to_owned())),
    }
}
