//! Sums over products, written with a letter a dimension: `abc,cd->abd`.

use super::{Made, from_all, matmul::multiply, not_for, shapes::transpose, values};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    (node.op == "Einsum").then(|| einsum(node))
}

fn einsum(node: &NodeDef) -> Made {
    let equation = node.text("equation").replace(' ', "");
    let dtype = node.dtype("T")?;
    if dtype != DType::F32 {
        return Err(not_for(dtype));
    }
    let (inputs, output) = equation
        .split_once("->")
        .ok_or_else(|| format!("the equation `{equation}` has no result"))?;
    let inputs: Vec<String> = inputs.split(',').map(str::to_owned).collect();
    if inputs.len() > 2 {
        return Err(format!("the equation `{equation}` has more than two factors"));
    }
    for labels in &inputs {
        let letters = labels.replace("...", "");
        if letters
            .chars()
            .enumerate()
            .any(|(at, label)| letters[..at].contains(label))
        {
            return Err(format!("the equation `{equation}` takes a diagonal"));
        }
    }
    let output = output.to_owned();
    Ok(from_all(move |given| {
        match (inputs.as_slice(), given.as_slice()) {
            ([labels], [tensor]) => {
                let (labels, output, _) = spelled_out(labels, tensor, "", None, &output)?;
                let reduced = summed(tensor.clone(), &labels, &output)?;
                arranged(reduced.0, &reduced.1, &output)
            }
            ([first, second], [left, right]) => {
                let (first, output, second) = spelled_out(first, left, second, Some(right), &output)?;
                product(left.clone(), &first, right.clone(), &second, &output)
            }
            _ => Err("it has another number of factors".to_owned()),
        }
    }))
}

type Labels = Vec<char>;

/// Letters for what `...` stands for, counted from the end; digits, which no equation has.
fn spelled_out(
    first: &str,
    left: &Tensor,
    second: &str,
    right: Option<&Tensor>,
    output: &str,
) -> Result<(Labels, Labels, Labels), String> {
    let hidden = |labels: &str, rank: usize| {
        let letters = labels.replace("...", "").chars().count();
        let hidden = rank
            .checked_sub(letters)
            .ok_or("a factor has too few dimensions")?;
        if !labels.contains("...") && hidden > 0 {
            return Err("a factor has too many dimensions");
        }
        Ok(hidden)
    };
    let spell = |labels: &str, hidden: usize| -> Labels {
        let stands_for: String = (0..hidden as u32)
            .rev()
            .filter_map(|at| char::from_digit(at, 10))
            .collect();
        labels.replace("...", &stands_for).chars().collect()
    };
    let of_left = hidden(first, left.rank())?;
    let of_right = right
        .map(|right| hidden(second, right.rank()))
        .transpose()?
        .unwrap_or_default();
    Ok((
        spell(first, of_left),
        spell(output, of_left.max(of_right)),
        spell(second, of_right),
    ))
}

/// Adds up the dimensions that nobody else names.
fn summed(tensor: Tensor, labels: &[char], wanted: &[char]) -> Result<(Tensor, Labels), String> {
    let (kept, gone): (Labels, Labels) = labels.iter().partition(|label| wanted.contains(label));
    if gone.is_empty() {
        return Ok((tensor, labels.to_vec()));
    }
    let order: Labels = kept.iter().chain(&gone).copied().collect();
    let tensor = arranged(tensor, labels, &order)?;
    let shape = Shape::from_slice(&tensor.shape()[..kept.len()]);
    let width: usize = tensor.shape()[kept.len()..].iter().product();
    let sums = values::<f32>(&tensor)?
        .chunks(width.max(1))
        .map(|row| row.iter().sum::<f32>());
    Ok((super::made(&shape, sums.collect())?, kept))
}

/// Dimensions in the order of their letters.
fn arranged(tensor: Tensor, labels: &[char], wanted: &[char]) -> Result<Tensor, String> {
    let place = |label: &char| labels.iter().position(|other| other == label);
    let order: Option<Vec<usize>> = wanted.iter().map(place).collect();
    transpose(
        tensor,
        &order.ok_or("the result has a letter that no factor has")?,
    )
}

fn product(
    left: Tensor,
    first: &[char],
    right: Tensor,
    second: &[char],
    output: &[char],
) -> Result<Tensor, String> {
    let wanted_of_left: Labels = second.iter().chain(output).copied().collect();
    let wanted_of_right: Labels = first.iter().chain(output).copied().collect();
    let (left, first) = summed(left, first, &wanted_of_left)?;
    let (right, second) = summed(right, second, &wanted_of_right)?;
    let is_in = |labels: &[char]| {
        let labels = labels.to_vec();
        move |label: &char| labels.contains(label)
    };
    let (in_first, in_second, in_output) = (is_in(&first), is_in(&second), is_in(output));
    // Of both and the result: a batch. Of both alone: summed over. Of one: rows and columns.
    let batch: Labels = first
        .iter()
        .filter(|label| in_second(label) && in_output(label))
        .copied()
        .collect();
    let inner: Labels = first
        .iter()
        .filter(|label| in_second(label) && !in_output(label))
        .copied()
        .collect();
    let rows: Labels = first.iter().filter(|label| !in_second(label)).copied().collect();
    let columns: Labels = second.iter().filter(|label| !in_first(label)).copied().collect();
    let size = |tensor: &Tensor, labels: &[char], label: &char| {
        labels
            .iter()
            .position(|other| other == label)
            .map_or(1, |place| tensor.shape()[place])
    };
    for label in batch.iter().chain(&inner) {
        let (left, right) = (size(&left, &first, label), size(&right, &second, label));
        if left != right {
            return Err(format!(
                "the dimension `{label}` is {left} here and {right} there"
            ));
        }
    }
    let sizes = |tensor: &Tensor, labels: &[char], wanted: &[char]| -> Vec<usize> {
        wanted.iter().map(|label| size(tensor, labels, label)).collect()
    };
    let batch_sizes = sizes(&left, &first, &batch);
    let row_sizes = sizes(&left, &first, &rows);
    let column_sizes = sizes(&right, &second, &columns);
    let inner_size: usize = sizes(&left, &first, &inner).iter().product();
    let flat = |sizes: &[usize]| sizes.iter().product::<usize>();
    let matrix = |tensor: Tensor, labels: &[char], order: [&Labels; 3], shape: [usize; 3]| {
        let order: Labels = order.into_iter().flatten().copied().collect();
        arranged(tensor, labels, &order)?
            .reshaped(shape.as_slice())
            .ok_or_else(String::new)
    };
    let left_shape = [flat(&batch_sizes), flat(&row_sizes), inner_size];
    let left = matrix(left, &first, [&batch, &rows, &inner], left_shape)?;
    let right_shape = [flat(&batch_sizes), inner_size, flat(&column_sizes)];
    let right = matrix(right, &second, [&batch, &inner, &columns], right_shape)?;
    let result = multiply::<f32>(&left, &right, [false, false])?;
    let labels: Labels = batch.iter().chain(&rows).chain(&columns).copied().collect();
    let shape: Shape = batch_sizes
        .into_iter()
        .chain(row_sizes)
        .chain(column_sizes)
        .collect();
    arranged(result.reshaped(shape).ok_or_else(String::new)?, &labels, output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{AttrValue, attr_value::Value};

    fn run(equation: &'static str, inputs: &[Tensor]) -> Result<Tensor, String> {
        let attribute = |value| AttrValue { value: Some(value) };
        let node = NodeDef {
            op: "Einsum".to_owned(),
            attr: [
                ("equation".to_owned(), attribute(Value::S(equation.into()))),
                ("T".to_owned(), attribute(Value::Type(1))),
            ]
            .into(),
            ..NodeDef::default()
        };
        let outputs = einsum(&node)?(inputs.iter().cloned().collect())?;
        Ok(outputs[0].clone())
    }

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count).map(|value| value as f32).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn letters_are_summed_over_kept_and_turned() {
        let (left, right) = (tensor(&[2, 3]), tensor(&[3, 2]));
        let product = run("ab,bc->ca", &[left.clone(), right.clone()]).unwrap();
        assert_eq!(
            product,
            Tensor::new([2_usize, 2].as_slice(), vec![10.0_f32, 28.0, 13.0, 40.0]).unwrap()
        );
        let outer = run("ab,c->abc", &[left.clone(), Tensor::list(vec![1.0_f32, 2.0])]).unwrap();
        assert_eq!(outer.shape(), [2, 3, 2]);
        assert_eq!(
            run("ab->b", std::slice::from_ref(&left)).unwrap(),
            Tensor::list(vec![3.0_f32, 5.0, 7.0])
        );
        assert_eq!(
            run("ab,ab->", &[left.clone(), left]).unwrap(),
            Tensor::scalar(55.0_f32)
        );
        let stretched = run("...ab,bc->...ac", &[tensor(&[4, 5, 2, 3]), right]).unwrap();
        assert_eq!(stretched.shape(), [4, 5, 2, 2]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(run("ab,bc->ac", &[tensor(&[2, 3]), tensor(&[2, 2])]).is_err());
        assert!(run("aa->a", &[tensor(&[2, 2])]).is_err());
        assert!(run("ab->ac", &[tensor(&[2, 2])]).is_err());
        assert!(run("abc->a", &[tensor(&[2, 2])]).is_err());
    }
}
