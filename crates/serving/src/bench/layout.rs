//! Which cell of a row goes into which input of a model, and what its answers mean.

use std::collections::BTreeMap;

use bytes::Bytes;
use saved_model::{
    DType, Data, Tensor,
    proto::{SignatureDef, TensorInfo, TensorProto},
};

use super::table::{Row, TableError};

/// How many columns of numbers and of texts the data of the wide and deep model has.
pub const SEED_COLUMNS: (usize, usize) = (13, 26);

/// The output that a model of classes has its probabilities in.
const PROBABILITIES: &str = "probabilities";

/// Why a table is not for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "the model takes {takes}; the data has {columns} columns beside the label, and none is called `{missing}`"
    )]
    Unnamed {
        takes: String,
        columns: usize,
        missing: String,
    },
    #[error("the model takes {takes}; the data has {columns} columns beside the label")]
    Width { takes: String, columns: usize },
    #[error("{named} names are given for the {columns} columns beside the label")]
    Names { named: usize, columns: usize },
    #[error("the data has no column for the label and one more")]
    TooNarrow,
    #[error("the input `{name}` takes values of type {dtype}, which a table does not have")]
    Type { name: String, dtype: &'static str },
    #[error("the model has no output `{wanted}`; it has {known}")]
    Output { wanted: String, known: String },
    #[error("the model has several outputs ({known}), and none is called `{PROBABILITIES}`")]
    Outputs { known: String },
}

/// What a row becomes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// Cells of a row.
    width: usize,
    inputs: Vec<Input>,
    pub(crate) output: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Input {
    name: String,
    dtype: DType,
    /// The sizes after the first.
    shape: Vec<usize>,
    /// The cells, in their order, and what the first is called.
    from: usize,
    cells: usize,
}

/// Batches as a model takes them.
pub(crate) struct Batch {
    pub(crate) inputs: BTreeMap<String, TensorProto>,
    pub(crate) labels: Vec<i64>,
}

/// What the columns of the wide and deep model are called.
fn seed_names() -> Vec<String> {
    let (numbers, texts) = SEED_COLUMNS;
    let numbers = (1..=numbers).map(|index| format!("I{index}"));
    numbers
        .chain((1..=texts).map(|index| format!("C{index}")))
        .collect()
}

/// The signature of the wide and deep model, for servers that do not say.
pub(crate) fn seed_signature() -> SignatureDef {
    let info = |name: &String| TensorInfo {
        dtype: if name.starts_with('I') {
            DType::F32
        } else {
            DType::Text
        }
        .number(),
        tensor_shape: Some(saved_model::proto::TensorShapeProto::of(&[-1])),
        ..TensorInfo::default()
    };
    SignatureDef {
        inputs: seed_names()
            .iter()
            .map(|name| (name.clone(), info(name)))
            .collect(),
        outputs: BTreeMap::from([(PROBABILITIES.to_owned(), TensorInfo::default())]),
        ..SignatureDef::default()
    }
}

impl Layout {
    /// From what a model takes and the number of cells in a row. Columns may have names; those of the wide and deep
    /// model have them anyway.
    pub(crate) fn new(
        signature: &SignatureDef,
        width: usize,
        names: Option<&[String]>,
        output: Option<&str>,
    ) -> Result<Self, LayoutError> {
        let columns = width
            .checked_sub(1)
            .filter(|columns| *columns > 0)
            .ok_or(LayoutError::TooNarrow)?;
        if let Some(named) = names.map(<[String]>::len)
            && named != columns
        {
            return Err(LayoutError::Names { named, columns });
        }
        let seed = seed_names();
        let names = names.or_else(|| (columns == seed.len()).then_some(&*seed));
        Ok(Self {
            width,
            inputs: inputs(signature, columns, names)?,
            output: output_of(signature, output)?,
        })
    }

    /// A batch of rows.
    pub(crate) fn batch(&self, rows: &[Row]) -> Result<Batch, TableError> {
        let mut labels = Vec::with_capacity(rows.len());
        let mut columns: Vec<Values> = self.inputs.iter().map(|input| Values::new(input.dtype)).collect();
        for row in rows {
            let cells = row.cells()?;
            if cells.len() != self.width {
                return Err(TableError::Width {
                    line: row.line,
                    found: cells.len(),
                    wanted: self.width,
                });
            }
            labels.push(row.label(&cells[0])?);
            for (input, values) in self.inputs.iter().zip(&mut columns) {
                for cell in &cells[input.from..input.from + input.cells] {
                    values.push(cell).ok_or_else(|| TableError::Number {
                        line: row.line,
                        column: input.name.clone(),
                        found: cell.clone(),
                    })?;
                }
            }
        }
        let inputs = self.inputs.iter().zip(columns).filter_map(|(input, values)| {
            let mut shape = vec![rows.len()];
            shape.extend_from_slice(&input.shape);
            let tensor = values.tensor(&shape)?;
            Some((input.name.clone(), TensorProto::from(&tensor)))
        });
        Ok(Batch {
            inputs: inputs.collect(),
            labels,
        })
    }
}

fn inputs(
    signature: &SignatureDef,
    columns: usize,
    names: Option<&[String]>,
) -> Result<Vec<Input>, LayoutError> {
    let place = |name: &String| names.and_then(|names| names.iter().position(|column| column == name));
    let missing = signature.inputs.keys().find(|name| place(name).is_none());
    if let Some(missing) = missing {
        // One input may take the whole row.
        let mut all = signature.inputs.iter();
        return match (all.next(), all.next()) {
            (Some((name, info)), None) => Ok(vec![whole_row(name, info, columns).ok_or_else(|| {
                LayoutError::Width {
                    takes: shown(signature),
                    columns,
                }
            })??]),
            _ => Err(LayoutError::Unnamed {
                takes: shown(signature),
                columns,
                missing: missing.clone(),
            }),
        };
    }
    let named = signature.inputs.iter().map(|(name, info)| {
        let shape = row_shape(info).unwrap_or_default();
        if shape.iter().product::<usize>() != 1 {
            return Err(LayoutError::Width {
                takes: shown(signature),
                columns,
            });
        }
        Ok(Input {
            name: name.clone(),
            dtype: dtype(name, info)?,
            shape,
            from: 1 + place(name).unwrap_or_default(),
            cells: 1,
        })
    });
    named.collect()
}

fn whole_row(name: &str, info: &TensorInfo, columns: usize) -> Option<Result<Input, LayoutError>> {
    let shape = row_shape(info)?;
    if shape.iter().product::<usize>() != columns {
        return None;
    }
    Some(dtype(name, info).map(|dtype| Input {
        name: name.to_owned(),
        dtype,
        shape,
        from: 1,
        cells: columns,
    }))
}

/// The sizes after the first; none where they are not known.
fn row_shape(info: &TensorInfo) -> Option<Vec<usize>> {
    let shape = info.tensor_shape.as_ref().filter(|shape| !shape.unknown_rank)?;
    let (_, rest) = shape.dim.split_first()?;
    rest.iter().map(|dim| usize::try_from(dim.size).ok()).collect()
}

fn dtype(name: &str, info: &TensorInfo) -> Result<DType, LayoutError> {
    DType::from_number(info.dtype)
        .filter(|dtype| {
            matches!(
                dtype,
                DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::Text
            )
        })
        .ok_or_else(|| LayoutError::Type {
            name: name.to_owned(),
            dtype: DType::name_of(info.dtype),
        })
}

fn output_of(signature: &SignatureDef, wanted: Option<&str>) -> Result<String, LayoutError> {
    let known = || {
        let names: Vec<String> = signature.outputs.keys().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    match wanted {
        Some(wanted) if signature.outputs.contains_key(wanted) => Ok(wanted.to_owned()),
        Some(wanted) => Err(LayoutError::Output {
            wanted: wanted.to_owned(),
            known: known(),
        }),
        None if signature.outputs.contains_key(PROBABILITIES) => Ok(PROBABILITIES.to_owned()),
        None => match signature.outputs.keys().collect::<Vec<_>>()[..] {
            [only] => Ok(only.clone()),
            _ => Err(LayoutError::Outputs { known: known() }),
        },
    }
}

/// What a model takes, for people: so many names that they can be read.
fn shown(signature: &SignatureDef) -> String {
    const SHOWN: usize = 5;
    let names = signature.inputs.iter().take(SHOWN).map(|(name, info)| {
        let sizes = info.tensor_shape.iter().flat_map(|shape| &shape.dim);
        let sizes = sizes.map(|dim| match dim.size {
            -1 => "?".to_owned(),
            size => size.to_string(),
        });
        let sizes: Vec<String> = sizes.collect();
        format!("`{name}` {}[{}]", DType::name_of(info.dtype), sizes.join(", "))
    });
    let names = names.collect::<Vec<_>>().join(", ");
    match signature.inputs.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// The values of one input while its rows are read.
enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Text(Vec<Bytes>),
}

impl Values {
    fn new(dtype: DType) -> Self {
        match dtype {
            DType::F64 => Self::F64(Vec::new()),
            DType::I32 => Self::I32(Vec::new()),
            DType::I64 => Self::I64(Vec::new()),
            DType::Text => Self::Text(Vec::new()),
            _ => Self::F32(Vec::new()),
        }
    }

    /// What is missing is 0, or a space.
    fn push(&mut self, cell: &str) -> Option<()> {
        let number = match cell.trim() {
            "" => "0",
            number => number,
        };
        match self {
            Self::F32(values) => values.push(number.parse().ok()?),
            Self::F64(values) => values.push(number.parse().ok()?),
            Self::I32(values) => values.push(number.parse().ok()?),
            Self::I64(values) => values.push(number.parse().ok()?),
            Self::Text(values) => {
                values.push(Bytes::from(if cell.is_empty() { " " } else { cell }.to_owned()));
            }
        }
        Some(())
    }

    fn tensor(self, shape: &[usize]) -> Option<Tensor> {
        match self {
            Self::F32(values) => Tensor::new(shape, values),
            Self::F64(values) => Tensor::new(shape, values),
            Self::I32(values) => Tensor::new(shape, values),
            Self::I64(values) => Tensor::new(shape, values),
            Self::Text(values) => Tensor::new(shape, values),
        }
    }
}

/// How many rows are answered as their labels say: by the most likely class, by the class itself, or, where there is
/// one probability, by whether it is at least a half. None where the answer has not one for each row.
pub(crate) fn correct(answer: &Tensor, labels: &[i64]) -> Option<usize> {
    if answer.shape().first() != Some(&labels.len()) || labels.is_empty() {
        return None;
    }
    let width = answer.len() / labels.len();
    let scores: Vec<f64> = match answer.data() {
        Data::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::F64(values) => values.to_vec(),
        Data::I64(values) if width == 1 => return Some(count(values.iter().copied(), labels)),
        Data::I32(values) if width == 1 => {
            return Some(count(values.iter().map(|value| i64::from(*value)), labels));
        }
        _ => return None,
    };
    match width {
        0 => None,
        1 => Some(count(scores.iter().map(|score| i64::from(*score >= 0.5)), labels)),
        _ => Some(count(scores.chunks(width).map(most_likely), labels)),
    }
}

fn count(found: impl Iterator<Item = i64>, labels: &[i64]) -> usize {
    found.zip(labels).filter(|(found, label)| found == *label).count()
}

/// The first of the highest, as everybody else counts.
fn most_likely(scores: &[f64]) -> i64 {
    let mut best = 0;
    for (place, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = place;
        }
    }
    best as i64
}

#[cfg(test)]
mod tests {
    use saved_model::proto::TensorShapeProto;

    use super::*;

    fn signature(inputs: &[(&str, DType, &[i64])], outputs: &[&str]) -> SignatureDef {
        let info = |dtype: DType, sizes: &[i64]| TensorInfo {
            dtype: dtype.number(),
            tensor_shape: Some(TensorShapeProto::of(sizes)),
            ..TensorInfo::default()
        };
        SignatureDef {
            inputs: inputs
                .iter()
                .map(|(name, dtype, sizes)| ((*name).to_owned(), info(*dtype, sizes)))
                .collect(),
            outputs: outputs
                .iter()
                .map(|name| ((*name).to_owned(), TensorInfo::default()))
                .collect(),
            ..SignatureDef::default()
        }
    }

    fn row(text: &str) -> Row {
        Row {
            line: 4,
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_wide_and_deep_data_has_one_input_a_column() {
        let layout = Layout::new(&seed_signature(), 40, None, None).unwrap();
        let mut cells = vec!["1".to_owned(), "0.5".to_owned()];
        cells.resize(40, String::new());
        cells[14] = "68fd1e64".to_owned();
        let batch = layout
            .batch(&[row(&cells.join(",")), row(&",".repeat(39).replacen(',', "0,", 1))])
            .unwrap();
        assert_eq!(batch.labels, [1, 0]);
        assert_eq!(batch.inputs.len(), 39);
        assert_eq!(batch.inputs["I1"].float_val, [0.5, 0.0]);
        assert_eq!(batch.inputs["C1"].string_val, ["68fd1e64", " "].map(Bytes::from));
        assert_eq!(batch.inputs["C26"].string_val, [" ", " "].map(Bytes::from));
        assert_eq!(batch.inputs["C26"].tensor_shape, Some(TensorShapeProto::of(&[2])));
    }

    #[test]
    fn one_input_may_take_the_whole_row() {
        let model = signature(
            &[("pixels", DType::F32, &[-1, 2, 2])],
            &["probabilities", "class_ids"],
        );
        let layout = Layout::new(&model, 5, None, None).unwrap();
        let batch = layout.batch(&[row("7,1,2,3,4")]).unwrap();
        assert_eq!(
            batch.inputs["pixels"].tensor_shape,
            Some(TensorShapeProto::of(&[1, 2, 2]))
        );
        assert_eq!((batch.labels, layout.output.as_str()), (vec![7], "probabilities"));
    }

    #[test]
    fn columns_with_names_go_where_their_names_say() {
        let model = signature(
            &[("age", DType::I64, &[-1, 1]), ("name", DType::Text, &[-1])],
            &["y"],
        );
        let names = ["name", "unused", "age"].map(str::to_owned);
        let layout = Layout::new(&model, 4, Some(&names), None).unwrap();
        let batch = layout.batch(&[row("0,Ann,x,31")]).unwrap();
        assert_eq!(batch.inputs["age"].int64_val, [31]);
        assert_eq!(batch.inputs["name"].string_val, ["Ann"].map(Bytes::from));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let pixels = signature(&[("pixels", DType::F32, &[-1, 256])], &["a", "b"]);
        let told = |layout: Result<Layout, LayoutError>| layout.unwrap_err().to_string();
        assert_eq!(
            told(Layout::new(&pixels, 40, None, None)),
            "the model takes `pixels` DT_FLOAT[?, 256]; the data has 39 columns beside the label"
        );
        assert_eq!(
            told(Layout::new(&pixels, 257, None, Some("c"))),
            "the model has no output `c`; it has `a`, `b`"
        );
        assert!(told(Layout::new(&pixels, 257, None, None)).contains("several outputs"));
        assert_eq!(
            told(Layout::new(&pixels, 1, None, None)),
            "the data has no column for the label and one more"
        );
        assert!(told(Layout::new(&seed_signature(), 20, None, None)).contains("none is called `C1`"));
        let layout = Layout::new(&pixels, 257, None, Some("a")).unwrap();
        let narrow = layout.batch(&[row("1,2")]).err().unwrap().to_string();
        assert_eq!(narrow, "line 4 of the data has 2 cells, not 257 as the first");
        let words = format!("1{}", ",x".repeat(256));
        let words = layout.batch(&[row(&words)]).err().unwrap().to_string();
        assert_eq!(words, "line 4 of the data: `pixels` is \"x\", not a number");
    }

    #[test]
    fn answers_are_compared_with_labels() {
        let pairs = Tensor::new([3_usize, 2].as_slice(), vec![0.9_f32, 0.1, 0.2, 0.8, 0.5, 0.5]).unwrap();
        assert_eq!(correct(&pairs, &[0, 0, 0]), Some(2));
        assert_eq!(correct(&Tensor::list(vec![0.7_f32, 0.2]), &[1, 1]), Some(1));
        assert_eq!(correct(&Tensor::list(vec![3_i64, 4]), &[3, 5]), Some(1));
        assert_eq!(correct(&pairs, &[0, 0]), None);
    }
}
