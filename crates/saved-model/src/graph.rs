//! Graphs as they are looked up while compiling: nodes by name, functions by name, and what an input refers to.

use std::collections::HashMap;

use crate::{
    proto::{AttrValue, FunctionDef, GraphDef, NodeDef, attr_value::Value},
    tensor::{DType, Tensor},
};

/// Nodes that refer to each other: the graph itself, or the body of a function.
pub(crate) struct Body<'a> {
    pub(crate) nodes: HashMap<&'a str, &'a NodeDef>,
    /// The arguments of a function, by name.
    pub(crate) arguments: HashMap<&'a str, usize>,
}

impl<'a> Body<'a> {
    pub(crate) fn of_graph(graph: &'a GraphDef) -> Self {
        Self {
            nodes: by_name(&graph.node),
            arguments: HashMap::new(),
        }
    }

    fn of_function(function: &'a FunctionDef) -> Self {
        let arguments = function
            .signature
            .iter()
            .flat_map(|signature| &signature.input_arg);
        Self {
            nodes: by_name(&function.node_def),
            arguments: arguments
                .enumerate()
                .map(|(index, argument)| (argument.name.as_str(), index))
                .collect(),
        }
    }
}

fn by_name(nodes: &[NodeDef]) -> HashMap<&str, &NodeDef> {
    nodes.iter().map(|node| (node.name.as_str(), node)).collect()
}

pub(crate) struct Function<'a> {
    pub(crate) definition: &'a FunctionDef,
    pub(crate) body: Body<'a>,
}

/// The functions of a graph.
pub(crate) type Library<'a> = HashMap<&'a str, Function<'a>>;

pub(crate) fn library(graph: &GraphDef) -> Library<'_> {
    let functions = graph.library.iter().flat_map(|library| &library.function);
    functions
        .filter_map(|definition| {
            let name = definition.signature.as_ref()?.name.as_str();
            let body = Body::of_function(definition);
            Some((name, Function { definition, body }))
        })
        .collect()
}

/// What an input of a node means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    /// Run before, give nothing.
    Control(&'a str),
    /// One of the outputs of a node, counted over all of them.
    Output(&'a str, usize),
    /// One of the outputs that have a name together, as functions write it.
    Named(&'a str, &'a str, usize),
}

impl<'a> Reference<'a> {
    /// `node`, `node:1`, `node:output:1` or `^node`.
    pub(crate) fn parse(text: &'a str) -> Self {
        if let Some(node) = text.strip_prefix('^') {
            return Self::Control(node);
        }
        let mut parts = text.split(':');
        let node = parts.next().unwrap_or_default();
        match (parts.next(), parts.next()) {
            (None, _) => Self::Output(node, 0),
            (Some(second), None) => match second.parse() {
                Ok(index) => Self::Output(node, index),
                Err(_) => Self::Named(node, second, 0),
            },
            (Some(name), Some(index)) => Self::Named(node, name, index.parse().unwrap_or_default()),
        }
    }

    pub(crate) fn node(self) -> &'a str {
        match self {
            Self::Control(node) | Self::Output(node, _) | Self::Named(node, ..) => node,
        }
    }
}

/// The attributes of a node. What is left out has the value TensorFlow gives it: zero, false, empty.
pub(crate) trait Attributes {
    fn value(&self, name: &str) -> Option<&Value>;

    fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::B(true)))
    }

    fn int(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            Value::I(value) => Some(*value),
            _ => None,
        }
    }

    fn size(&self, name: &str) -> usize {
        self.int(name)
            .and_then(|value| usize::try_from(value).ok())
            .unwrap_or_default()
    }

    fn float(&self, name: &str) -> Option<f32> {
        match self.value(name)? {
            Value::F(value) => Some(*value),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::S(value)) => std::str::from_utf8(value).unwrap_or_default(),
            _ => "",
        }
    }

    fn type_number(&self, name: &str) -> i32 {
        match self.value(name) {
            Some(Value::Type(number)) => *number,
            _ => 0,
        }
    }

    fn dtype(&self, name: &str) -> Result<DType, String> {
        let number = self.type_number(name);
        DType::from_number(number)
            .ok_or_else(|| format!("values of type {} are not supported", DType::name_of(number)))
    }

    fn ints(&self, name: &str) -> Vec<i64> {
        match self.value(name) {
            Some(Value::List(list)) => list.i.clone(),
            _ => Vec::new(),
        }
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        match self.value(name) {
            Some(Value::List(list)) => list.f.clone(),
            _ => Vec::new(),
        }
    }

    fn type_numbers(&self, name: &str) -> &[i32] {
        match self.value(name) {
            Some(Value::List(list)) => &list.r#type,
            _ => &[],
        }
    }

    fn function(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Func(function)) => &function.name,
            _ => "",
        }
    }

    fn constant(&self, name: &str) -> Result<Tensor, String> {
        match self.value(name) {
            Some(Value::Tensor(wire)) => Tensor::try_from(wire).map_err(|error| error.to_string()),
            _ => Err(format!("it has no `{name}`")),
        }
    }
}

impl Attributes for NodeDef {
    fn value(&self, name: &str) -> Option<&Value> {
        let given = self.attr.get(name);
        let given = given.and_then(|AttrValue { value }| value.as_ref());
        given.or_else(|| default_type(&self.op, name))
    }
}

/// Types that are left out of graphs because they are TensorFlow's defaults.
fn default_type(op: &str, name: &str) -> Option<&'static Value> {
    const FLOAT: &Value = &Value::Type(1);
    const INT32: &Value = &Value::Type(3);
    match (op, name) {
        ("MaxPool" | "LeakyRelu", "T") | ("StringToNumber", "out_type") => Some(FLOAT),
        ("Range", "Tidx") => Some(INT32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_refer_to_outputs_by_number_or_by_name() {
        let wanted = [
            ("a/b", Reference::Output("a/b", 0)),
            ("a:2", Reference::Output("a", 2)),
            ("a:values:1", Reference::Named("a", "values", 1)),
            ("a:values", Reference::Named("a", "values", 0)),
            ("^a", Reference::Control("a")),
        ];
        for (text, reference) in wanted {
            assert_eq!(Reference::parse(text), reference);
        }
    }
}
