//! Models, written to folders.

use std::{collections::BTreeMap, fs, path::Path};

use bytes::Bytes;
use saved_model::{
    DType, Tensor,
    proto::attr_value::Value,
    write::{CLASSIFY, Output, PREDICT, REGRESS, Shown, Writer, of_type},
};

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

fn shown<'a>(name: &'a str, tensor: &'a Output, dtype: DType, shape: &'a [i64]) -> Shown<'a> {
    Shown {
        name,
        tensor,
        dtype,
        shape,
    }
}

/// `y = x + bias`, of rows of two.
pub(crate) fn adding(bias: f32) -> Files {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1, 2]);
    let b = writer.variable("bias", Tensor::list(vec![bias, bias]));
    let y = writer.op("y", "BiasAdd", &[&x, &b], &[("T", of_type(DType::F32))]);
    let inputs = [shown("x", &x, DType::F32, &[-1, 2])];
    let outputs = [shown("y", &y, DType::F32, &[-1, 2])];
    writer.signature("serving_default", PREDICT, &inputs, &outputs);
    writer.files()
}

/// Numbers and texts in, both out, and signatures of examples whose score is a hash of the example.
pub(crate) fn mixed() -> Files {
    let mut writer = Writer::new();
    let number = writer.input("number", DType::I64, &[-1]);
    let text = writer.input("text", DType::Text, &[-1]);
    let same = writer.op("same", "Identity", &[&text], &[("T", of_type(DType::Text))]);
    let twice = writer.op(
        "twice",
        "AddV2",
        &[&number, &number],
        &[("T", of_type(DType::I64))],
    );
    let buckets = [("num_buckets", Value::I(10))];
    let hash = writer.op("hash", "StringToHashBucketFast", &[&text], &buckets);
    let types = [("SrcT", of_type(DType::I64)), ("DstT", of_type(DType::F32))];
    let score = writer.op("score", "Cast", &[&hash], &types);
    let inputs = [
        shown("number", &number, DType::I64, &[-1]),
        shown("text", &text, DType::Text, &[-1]),
    ];
    let outputs = [
        shown("twice", &twice, DType::I64, &[-1]),
        shown("text_bytes", &same, DType::Text, &[-1]),
    ];
    writer.signature("serving_default", PREDICT, &inputs, &outputs);
    let examples = [shown("inputs", &text, DType::Text, &[-1])];
    writer.signature(
        "classes",
        CLASSIFY,
        &examples,
        &[shown("scores", &score, DType::F32, &[-1])],
    );
    writer.signature(
        "values",
        REGRESS,
        &examples,
        &[shown("outputs", &score, DType::F32, &[-1])],
    );
    writer.files()
}

/// Classes of two numbers, for tables: the larger one wins.
pub(crate) fn larger() -> Files {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1, 2]);
    let y = writer.op("probabilities", "Softmax", &[&x], &[("T", of_type(DType::F32))]);
    let inputs = [shown("x", &x, DType::F32, &[-1, 2])];
    let outputs = [shown("probabilities", &y, DType::F32, &[-1, 2])];
    writer.signature("predict", PREDICT, &inputs, &outputs);
    writer.files()
}

/// Something that is not supported.
pub(crate) fn strange() -> Files {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1]);
    let y = writer.op("y", "QuantumFourier", &[&x], &[("T", of_type(DType::F32))]);
    let inputs = [shown("x", &x, DType::F32, &[-1])];
    writer.signature(
        "serving_default",
        PREDICT,
        &inputs,
        &[shown("y", &y, DType::F32, &[-1])],
    );
    writer.files()
}

/// Writes a version as exporters do: it is there whole or not at all.
pub(crate) fn export(base: &Path, version: u64, files: &Files) {
    let draft = base.join(format!("draft-{version}"));
    for (name, content) in files {
        let path = draft.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::rename(draft, base.join(version.to_string())).unwrap();
}

/// The same with a byte of the variables changed.
pub(crate) fn damaged(mut files: Files) -> Files {
    let values = files.get_mut("variables/variables.data-00000-of-00001").unwrap();
    values[0] ^= 1;
    files
}

pub(crate) fn text(words: &str) -> Bytes {
    Bytes::from(words.to_owned())
}
