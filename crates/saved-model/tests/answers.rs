//! Models that are written, read and asked; and what is said of those that are damaged or not supported.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;

use saved_model::{
    DType, LoadError, Model, Tensor, Wanted,
    proto::attr_value::Value,
    write::{PREDICT, Shown, Writer, of_type},
};

type Files = BTreeMap<String, Vec<u8>>;

/// `y = relu(x · w + b)`.
fn layer() -> Files {
    let mut writer = Writer::new();
    let float = || of_type(DType::F32);
    let x = writer.input("x", DType::F32, &[-1, 2]);
    let weights = Tensor::new([2_usize, 3].as_slice(), vec![1.0_f32, 0.0, -1.0, 0.0, 1.0, -1.0]).unwrap();
    let w = writer.variable("dense/kernel", weights);
    let b = writer.variable("dense/bias", Tensor::list(vec![0.5_f32, 0.0, 0.0]));
    let product = writer.op("dense/MatMul", "MatMul", &[&x, &w], &[("T", float())]);
    let sum = writer.op("dense/BiasAdd", "BiasAdd", &[&product, &b], &[("T", float())]);
    let y = writer.op("dense/Relu", "Relu", &[&sum], &[("T", float())]);
    let input = [Shown {
        name: "x",
        tensor: &x,
        dtype: DType::F32,
        shape: &[-1, 2],
    }];
    let output = [Shown {
        name: "y",
        tensor: &y,
        dtype: DType::F32,
        shape: &[-1, 3],
    }];
    writer.signature("serving_default", PREDICT, &input, &output);
    writer.files()
}

fn load(files: &Files) -> Result<Model, LoadError> {
    Model::load(files, &Wanted::All)
}

/// An error and everything behind it.
fn told(error: &LoadError) -> String {
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        told += &format!(": {error}");
        cause = error.source();
    }
    told
}

#[track_caller]
fn refused(files: &Files) -> String {
    match load(files) {
        Ok(_) => panic!("it was taken"),
        Err(error) => told(&error),
    }
}

#[test]
fn a_written_model_answers() {
    let model = load(&layer()).unwrap();
    let x = Tensor::new([2_usize, 2].as_slice(), vec![1.0_f32, 2.0, -3.0, 4.0]).unwrap();
    let signature = model.signature("serving_default").unwrap();
    let answer = signature.ask(BTreeMap::from([("x".to_owned(), x)])).unwrap();
    let wanted = Tensor::new([2_usize, 3].as_slice(), vec![1.5_f32, 2.0, 0.0, 0.0, 4.0, 0.0]).unwrap();
    assert_eq!(answer, BTreeMap::from([("y".to_owned(), wanted)]));
    // Variables and all that is known are not looked up again.
    assert_eq!(signature.steps(), 3);
}

#[test]
fn a_changed_byte_of_a_variable_is_noticed() {
    let whole = layer();
    for (path, bytes) in &whole {
        if !path.starts_with("variables/variables.data") {
            continue;
        }
        for place in 0..bytes.len() {
            let mut files = whole.clone();
            files.get_mut(path).unwrap()[place] ^= 1;
            let told = refused(&files);
            assert!(told.contains("do not match their checksum"), "{told}");
            assert!(load(&files).err().unwrap().may_pass());
        }
    }
}

#[test]
fn files_that_are_cut_off_or_missing_are_named() {
    let whole = layer();
    for path in whole.keys() {
        let mut files = whole.clone();
        files.remove(path);
        let said = refused(&files);
        assert!(said.contains(path.as_str()), "{said}");
        let mut files = whole.clone();
        let bytes = files.get_mut(path).unwrap();
        bytes.truncate(bytes.len() / 2);
        let said = refused(&files);
        assert!(said.contains(path.as_str()), "{said}");
    }
}

#[test]
fn unsupported_ops_are_named_with_their_nodes() {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1]);
    let noise = writer.op("layer/noise", "RandomNoise", &[&x], &[("T", of_type(DType::F32))]);
    let y = writer.op("layer/fft", "Spectrum", &[&noise], &[("T", of_type(DType::F32))]);
    let input = [Shown {
        name: "x",
        tensor: &x,
        dtype: DType::F32,
        shape: &[-1],
    }];
    let output = [Shown {
        name: "y",
        tensor: &y,
        dtype: DType::F32,
        shape: &[-1],
    }];
    writer.signature("serving_default", PREDICT, &input, &output);
    assert_eq!(
        refused(&writer.files()),
        "the model needs the op RandomNoise (node `layer/noise`, signature `serving_default`), \
         the op Spectrum (node `layer/fft`, signature `serving_default`), not supported here"
    );
}

#[test]
fn attributes_that_are_not_supported_are_named_at_load() {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::Bool, &[-1]);
    let y = writer.op("sum", "AddV2", &[&x, &x], &[("T", of_type(DType::Bool))]);
    let input = [Shown {
        name: "x",
        tensor: &x,
        dtype: DType::Bool,
        shape: &[-1],
    }];
    let output = [Shown {
        name: "y",
        tensor: &y,
        dtype: DType::Bool,
        shape: &[-1],
    }];
    writer.signature("serving_default", PREDICT, &input, &output);
    let said = refused(&writer.files());
    assert!(
        said.ends_with("the node `sum` (AddV2): values of type DT_BOOL are not supported by this op"),
        "{said}"
    );
}

#[test]
fn a_model_for_training_only_is_refused() {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1]);
    writer.op("unused", "Relu", &[&x], &[("T", of_type(DType::F32))]);
    assert_eq!(refused(&writer.files()), "the model has no signature to serve");
}

#[test]
fn inputs_that_are_missing_or_do_not_fit_are_told() {
    let model = load(&layer()).unwrap();
    let signature = model.signature("serving_default").unwrap();
    let error = signature.ask(BTreeMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "the input `x` is missing");
    let wide = Tensor::new([1_usize, 3].as_slice(), vec![0.0_f32; 3]).unwrap();
    let error = signature
        .ask(BTreeMap::from([("x".to_owned(), wide)]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the input `x` is DT_FLOAT of shape [?, 2], not DT_FLOAT[1, 3] [0.0, 0.0, 0.0]"
    );
}

#[test]
fn tables_are_filled_from_assets() {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::Text, &[-1]);
    let path = writer.asset("vocabulary", "words.txt", b"apple\npear\nplum\n".to_vec());
    let kinds = [
        ("key_dtype", of_type(DType::Text)),
        ("value_dtype", of_type(DType::I64)),
        ("shared_name", Value::S("words".into())),
    ];
    let table = writer.op("table", "HashTableV2", &[], &kinds);
    let columns = [("key_index", Value::I(-2)), ("value_index", Value::I(-1))];
    let fill = writer.op(
        "fill",
        "InitializeTableFromTextFileV2",
        &[&table, &path],
        &columns,
    );
    writer.at_start(&fill);
    let default = writer.constant("default", &Tensor::scalar(-1_i64));
    let types = [("Tin", of_type(DType::Text)), ("Tout", of_type(DType::I64))];
    let y = writer.op("find", "LookupTableFindV2", &[&table, &x, &default], &types);
    let input = [Shown {
        name: "x",
        tensor: &x,
        dtype: DType::Text,
        shape: &[-1],
    }];
    let output = [Shown {
        name: "y",
        tensor: &y,
        dtype: DType::I64,
        shape: &[-1],
    }];
    writer.signature("serving_default", PREDICT, &input, &output);
    let files = writer.files();
    let model = load(&files).unwrap();
    let words = Tensor::list::<bytes::Bytes>(vec!["plum".into(), "kiwi".into(), "apple".into()]);
    let answer = model.signatures()["serving_default"]
        .ask(BTreeMap::from([("x".to_owned(), words)]))
        .unwrap();
    assert_eq!(answer["y"], Tensor::list(vec![2_i64, -1, 0]));
    let mut without = files.clone();
    without.remove("assets/words.txt");
    assert!(refused(&without).contains("assets/words.txt"));
}
