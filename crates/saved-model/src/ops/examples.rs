//! Examples as they come in requests: named features become tensors, dense or sparse.

use bytes::Bytes;
use prost::Message as _;

use super::{Made, counted, made, not_for, values};
use crate::{
    graph::Attributes as _,
    plan::{Inputs, Outputs},
    proto::{Example, Feature, NodeDef, attr_value::Value, feature::Kind},
    tensor::{DType, Element, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    match node.op.as_str() {
        "ParseExample" | "ParseExampleV2" => Some(parse(node)),
        _ => None,
    }
}

pub(super) fn outputs(node: &NodeDef) -> Vec<(&'static str, usize)> {
    let sparse = node.type_numbers("sparse_types").len();
    let dense = node.type_numbers("Tdense").len();
    let ragged = node.type_numbers("ragged_value_types").len();
    vec![
        ("sparse_indices", sparse),
        ("sparse_values", sparse),
        ("sparse_shapes", sparse),
        ("dense_values", dense),
        ("ragged_values", ragged),
        ("ragged_row_splits", ragged),
    ]
}

struct Parser {
    sparse_types: Vec<DType>,
    dense_types: Vec<DType>,
    /// Where the first size is open, each example has as many as it likes, and short ones are filled up.
    dense_shapes: Vec<Vec<i64>>,
    /// Names come as one list each, or one by one.
    has_lists: bool,
}

fn parse(node: &NodeDef) -> Made {
    if !node.type_numbers("ragged_value_types").is_empty() {
        return Err("ragged features are not supported".to_owned());
    }
    let types = |name: &str| -> Result<Vec<DType>, String> {
        let supported = |number: &i32| {
            DType::from_number(*number)
                .filter(|dtype| matches!(dtype, DType::F32 | DType::I64 | DType::Text))
                .ok_or_else(|| format!("features of type {} are not supported", DType::name_of(*number)))
        };
        node.type_numbers(name).iter().map(supported).collect()
    };
    let dense_shapes = match node.value("dense_shapes") {
        Some(Value::List(list)) => list
            .shape
            .iter()
            .map(|shape| shape.dim.iter().map(|dim| dim.size).collect())
            .collect(),
        _ => Vec::new(),
    };
    let parser = Parser {
        sparse_types: types("sparse_types")?,
        dense_types: types("Tdense")?,
        dense_shapes,
        has_lists: node.op == "ParseExampleV2",
    };
    if parser.dense_shapes.len() != parser.dense_types.len() {
        return Err("dense features do not have a shape each".to_owned());
    }
    Ok(Box::new(move |inputs| parser.run(inputs)))
}

fn texts(tensor: &Tensor) -> Result<Vec<String>, String> {
    Ok(values::<Bytes>(tensor)?
        .iter()
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect())
}

impl Parser {
    fn run(&self, inputs: Inputs) -> Result<Outputs, String> {
        let missing = || "it has too few inputs".to_owned();
        let serialized = inputs.first().ok_or_else(missing)?;
        let mut rest = inputs.iter().skip(2);
        let (sparse, dense) = if self.has_lists {
            let mut next = || texts(rest.next().ok_or_else(missing)?);
            let keys = (next()?, next()?);
            next()?;
            keys
        } else {
            let mut names = |count: usize| -> Result<Vec<String>, String> {
                let mut names = Vec::new();
                for _ in 0..count {
                    names.extend(texts(rest.next().ok_or_else(missing)?)?);
                }
                Ok(names)
            };
            (names(self.sparse_types.len())?, names(self.dense_types.len())?)
        };
        let defaults: Vec<&Tensor> = rest.collect();
        if sparse.len() != self.sparse_types.len()
            || dense.len() != self.dense_types.len()
            || defaults.len() != dense.len()
        {
            return Err("there is not one type a feature".to_owned());
        }
        let mut examples = Vec::new();
        for (index, bytes) in values::<Bytes>(serialized)?.iter().enumerate() {
            let example = Example::decode(bytes.clone())
                .map_err(|error| format!("example {index} cannot be read: {error}"))?;
            examples.push(example.features.unwrap_or_default().feature);
        }
        let column = |name: &str| -> Vec<Option<&Feature>> {
            let given = |feature: &Feature| feature.kind.is_some();
            examples
                .iter()
                .map(|example| example.get(name).filter(|feature| given(feature)))
                .collect()
        };
        let (mut places, mut found, mut shapes) = (Outputs::new(), Outputs::new(), Outputs::new());
        for (name, dtype) in sparse.iter().zip(&self.sparse_types) {
            let [place, values, shape] = sparse_column(name, &column(name), *dtype)?;
            places.push(place);
            found.push(values);
            shapes.push(shape);
        }
        let mut outputs = places;
        outputs.extend(found);
        outputs.extend(shapes);
        for (index, name) in dense.iter().enumerate() {
            let (dtype, shape) = (self.dense_types[index], &self.dense_shapes[index]);
            // A single row may be given without its dimension of the batch.
            let is_alone = serialized.rank() == 0;
            let made = dense_column(name, &column(name), dtype, shape, defaults[index])?;
            outputs.push(if is_alone {
                made.reshaped(sizes(shape)?).ok_or_else(String::new)?
            } else {
                made
            });
        }
        Ok(outputs)
    }
}

fn sizes(shape: &[i64]) -> Result<Shape, String> {
    shape.iter().map(|value| super::size(*value)).collect()
}

/// The values of a feature, which must be of the model's type.
trait Listed: Element {
    fn listed(feature: &Feature) -> Option<&[Self]>;
}

impl Listed for f32 {
    fn listed(feature: &Feature) -> Option<&[Self]> {
        match feature.kind.as_ref()? {
            Kind::Float(list) => Some(&list.value),
            _ => None,
        }
    }
}

impl Listed for i64 {
    fn listed(feature: &Feature) -> Option<&[Self]> {
        match feature.kind.as_ref()? {
            Kind::Int64(list) => Some(&list.value),
            _ => None,
        }
    }
}

impl Listed for Bytes {
    fn listed(feature: &Feature) -> Option<&[Self]> {
        match feature.kind.as_ref()? {
            Kind::Bytes(list) => Some(&list.value),
            _ => None,
        }
    }
}

fn of_type<'a, T: Listed>(name: &str, feature: &'a Feature) -> Result<&'a [T], String> {
    T::listed(feature).ok_or_else(|| format!("the feature `{name}` is not of type {}", T::DTYPE))
}

fn sparse_column(name: &str, column: &[Option<&Feature>], dtype: DType) -> Result<[Tensor; 3], String> {
    fn collect<T: Listed>(name: &str, column: &[Option<&Feature>]) -> Result<[Tensor; 3], String> {
        let (mut places, mut found, mut longest) = (Vec::new(), Vec::new(), 0);
        for (row, feature) in column.iter().enumerate() {
            let values = feature.map_or(Ok([].as_slice()), |feature| of_type::<T>(name, feature))?;
            for (index, value) in values.iter().enumerate() {
                places.extend([row as i64, index as i64]);
                found.push(value.clone());
            }
            longest = longest.max(values.len());
        }
        Ok([
            made(&[found.len(), 2], places)?,
            Tensor::list(found),
            Tensor::list(vec![column.len() as i64, longest as i64]),
        ])
    }
    match dtype {
        DType::F32 => collect::<f32>(name, column),
        DType::I64 => collect::<i64>(name, column),
        DType::Text => collect::<Bytes>(name, column),
        other => Err(not_for(other)),
    }
}

fn dense_column(
    name: &str,
    column: &[Option<&Feature>],
    dtype: DType,
    shape: &[i64],
    default: &Tensor,
) -> Result<Tensor, String> {
    match dtype {
        DType::F32 => fill::<f32>(name, column, shape, default),
        DType::I64 => fill::<i64>(name, column, shape, default),
        DType::Text => fill::<Bytes>(name, column, shape, default),
        other => Err(not_for(other)),
    }
}

fn fill<T: Listed>(
    name: &str,
    column: &[Option<&Feature>],
    shape: &[i64],
    default: &Tensor,
) -> Result<Tensor, String> {
    let defaults = values::<T>(default)?;
    let rows: Vec<Option<&[T]>> = column
        .iter()
        .map(|feature| feature.map(|feature| of_type::<T>(name, feature)).transpose())
        .collect::<Result<_, _>>()?;
    let is_open = shape.first() == Some(&-1);
    let inner = sizes(if is_open { &shape[1..] } else { shape })?;
    let element = counted(&inner)?;
    let width = if is_open {
        let longest = rows
            .iter()
            .flatten()
            .map(|row| row.len())
            .max()
            .unwrap_or_default();
        longest.div_ceil(element.max(1)) * element
    } else {
        element
    };
    let mut result = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match row {
            Some(row) if is_open && element > 0 && row.len() % element == 0 => {
                result.extend_from_slice(row);
                let filler = defaults.first().cloned().unwrap_or_default();
                result.extend(std::iter::repeat_n(filler, width - row.len()));
            }
            Some(row) if row.len() == width => result.extend_from_slice(row),
            Some(row) => {
                return Err(format!(
                    "example {index}: the feature `{name}` has {} values, not {width}",
                    row.len()
                ));
            }
            None if is_open => {
                let filler = defaults.first().cloned().unwrap_or_default();
                result.extend(std::iter::repeat_n(filler, width));
            }
            None if defaults.len() == width => result.extend_from_slice(defaults),
            None if defaults.len() == 1 => result.extend(std::iter::repeat_n(&defaults[0], width).cloned()),
            None => return Err(format!("example {index}: the feature `{name}` is required")),
        }
    }
    let mut all = Shape::from_slice(&[column.len()]);
    if is_open {
        all.push(width / element.max(1));
    }
    all.extend(inner);
    made(&all, result)
}
