//! What nodes do: from an op and its attributes to a kernel. One file a family of ops.

mod broadcast;
mod casting;
mod comparing;
mod convolution;
mod einsum;
mod elementwise;
mod examples;
mod filling;
mod gathering;
mod images;
mod joining;
mod lists;
mod matmul;
mod network;
mod numbers;
mod ordering;
mod reduction;
mod shapes;
mod slicing;
mod sparse;
mod texts;

use smallvec::smallvec;

use crate::{
    graph::Attributes as _,
    plan::{Inputs, Kernel, Outputs},
    proto::NodeDef,
    tensor::{DType, Element, Tensor},
};

pub(crate) use gathering::resource_gather;

/// A kernel, or why these attributes are not supported.
type Made = Result<Kernel, String>;

/// The kernel of a node; none where its op is not known.
pub(crate) fn kernel(node: &NodeDef) -> Option<Made> {
    const FAMILIES: &[fn(&NodeDef) -> Option<Made>] = &[
        elementwise::kernel,
        comparing::kernel,
        casting::kernel,
        shapes::kernel,
        joining::kernel,
        filling::kernel,
        ordering::kernel,
        slicing::kernel,
        gathering::kernel,
        reduction::kernel,
        matmul::kernel,
        einsum::kernel,
        network::kernel,
        convolution::kernel,
        images::kernel,
        sparse::kernel,
        texts::kernel,
        examples::kernel,
        lists::kernel,
    ];
    FAMILIES.iter().find_map(|family| family(node))
}

/// The outputs of ops that have several, by name, with how many have it.
fn outputs(node: &NodeDef) -> Option<Vec<(&'static str, usize)>> {
    Some(match node.op.as_str() {
        "NoOp" | "Assert" | "AssignVariableOp" => Vec::new(),
        "Split" | "SplitV" => vec![("output", node.size("num_split"))],
        "Unpack" => vec![("output", node.size("num"))],
        "ShapeN" => vec![("output", node.size("N"))],
        "RestoreV2" => vec![("tensors", node.type_numbers("dtypes").len())],
        "If" | "StatelessIf" | "PartitionedCall" | "StatefulPartitionedCall" => {
            vec![("output", node.type_numbers("Tout").len())]
        }
        "IdentityN" | "While" | "StatelessWhile" => vec![("output", node.type_numbers("T").len())],
        "Unique" | "UniqueV2" => vec![("y", 1), ("idx", 1)],
        "UniqueWithCounts" => vec![("y", 1), ("idx", 1), ("count", 1)],
        "TopKV2" => vec![("values", 1), ("indices", 1)],
        "SparseReshape" => vec![("output_indices", 1), ("output_shape", 1)],
        "SparseReorder" => vec![("output_indices", 1), ("output_values", 1)],
        "SparseFillEmptyRows" => vec![
            ("output_indices", 1),
            ("output_values", 1),
            ("empty_row_indicator", 1),
            ("reverse_index_map", 1),
        ],
        "FusedBatchNorm" | "FusedBatchNormV2" => vec![
            ("y", 1),
            ("batch_mean", 1),
            ("batch_variance", 1),
            ("reserve_space_1", 1),
            ("reserve_space_2", 1),
        ],
        "FusedBatchNormV3" => vec![
            ("y", 1),
            ("batch_mean", 1),
            ("batch_variance", 1),
            ("reserve_space_1", 1),
            ("reserve_space_2", 1),
            ("reserve_space_3", 1),
        ],
        "ParseExample" | "ParseExampleV2" => examples::outputs(node),
        _ => return None,
    })
}

/// How many outputs a node has.
pub(crate) fn output_count(node: &NodeDef) -> usize {
    outputs(node).map_or(1, |outputs| outputs.iter().map(|(_, count)| count).sum())
}

/// The number of the first output with a name. What has one output has it under any name.
pub(crate) fn first_output(node: &NodeDef, name: &str) -> usize {
    let outputs = outputs(node).unwrap_or_default();
    let before = outputs.iter().take_while(|(other, _)| *other != name);
    let first = before.map(|(_, count)| count).sum();
    if outputs.iter().any(|(other, _)| *other == name) {
        first
    } else {
        0
    }
}

/// The one truth a condition is.
pub(crate) fn truth(tensor: &Tensor) -> Result<bool, String> {
    match tensor.values::<bool>() {
        Some([value]) => Ok(*value),
        _ => Err(format!("a condition is one DT_BOOL, not {tensor:?}")),
    }
}

fn inputs<const COUNT: usize>(given: Inputs) -> Result<[Tensor; COUNT], String> {
    if given.len() != COUNT {
        return Err(format!("it has {} inputs, not {COUNT}", given.len()));
    }
    let mut given = given.into_iter();
    Ok(std::array::from_fn(|_| {
        // There are as many.
        given.next().unwrap_or_else(|| Tensor::scalar(false))
    }))
}

/// A kernel from so many tensors to one.
fn from<const COUNT: usize>(
    compute: impl Fn([Tensor; COUNT]) -> Result<Tensor, String> + Send + Sync + 'static,
) -> Kernel {
    Box::new(move |given| Ok(smallvec![compute(inputs(given)?)?]))
}

/// A kernel from any number of tensors to one.
fn from_all(compute: impl Fn(Inputs) -> Result<Tensor, String> + Send + Sync + 'static) -> Kernel {
    Box::new(move |given| Ok(smallvec![compute(given)?]))
}

/// A kernel from so many tensors to several.
fn to_several<const COUNT: usize>(
    compute: impl Fn([Tensor; COUNT]) -> Result<Outputs, String> + Send + Sync + 'static,
) -> Kernel {
    Box::new(move |given| compute(inputs(given)?))
}

fn not_for(dtype: DType) -> String {
    format!("values of type {dtype} are not supported by this op")
}

/// The values, which must be of this type.
fn values<T: Element>(tensor: &Tensor) -> Result<&[T], String> {
    tensor
        .values()
        .ok_or_else(|| format!("{} is wanted, not {}", T::DTYPE, tensor.dtype()))
}

fn scalar<T: Element>(tensor: &Tensor) -> Result<T, String> {
    match values::<T>(tensor)? {
        [value] => Ok(value.clone()),
        values => Err(format!("one value is wanted, not {}", values.len())),
    }
}

/// A tensor of values that were counted to fit the shape.
fn made<T: Element>(shape: &[usize], values: Vec<T>) -> Result<Tensor, String> {
    let given = values.len();
    Tensor::new(shape, values).ok_or_else(|| format!("{given} values do not have the shape {shape:?}"))
}

/// Integers of either width, as sizes, axes and indices are given.
fn integers(tensor: &Tensor) -> Result<Vec<i64>, String> {
    if let Some(values) = tensor.values::<i32>() {
        return Ok(values.iter().map(|value| i64::from(*value)).collect());
    }
    values::<i64>(tensor).map(<[i64]>::to_vec)
}

fn integer(tensor: &Tensor) -> Result<i64, String> {
    match integers(tensor)?.as_slice() {
        [value] => Ok(*value),
        values => Err(format!("one integer is wanted, not {}", values.len())),
    }
}

/// Integers of the wanted width.
fn integer_list(dtype: DType, values: impl Iterator<Item = i64>) -> Result<Tensor, String> {
    Ok(match dtype {
        DType::I32 => Tensor::list(values.map(|value| value as i32).collect()),
        DType::I64 => Tensor::list(values.collect()),
        other => return Err(not_for(other)),
    })
}

/// An axis, which counts from the end when it is negative.
fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|counted| *counted < rank)
        .ok_or_else(|| format!("there is no axis {axis} among {rank}"))
}

fn size(value: i64) -> Result<usize, String> {
    usize::try_from(value).map_err(|_| format!("{value} is no size"))
}

/// How many values a shape has, unless that is out of all bounds.
fn counted(shape: &[usize]) -> Result<usize, String> {
    crate::tensor::count(shape).ok_or_else(|| format!("a tensor of shape {shape:?} is too large"))
}

/// The sizes before an axis, of it, and after it, multiplied.
fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (
        shape[..axis].iter().product(),
        shape[axis],
        shape[axis + 1..].iter().product(),
    )
}

fn made_of(shape: crate::tensor::Shape, data: crate::tensor::Data) -> Result<Tensor, String> {
    let given = data.len();
    let shown = shape.clone();
    Tensor::from_parts(shape, data).ok_or_else(|| format!("{given} values do not have the shape {shown:?}"))
}
