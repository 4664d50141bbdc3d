//! What has been learnt, for others to ask: a SavedModel, as model servers load it, and the exam as a table.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use saved_model::{
    DEFAULT_SIGNATURE, DType, Tensor,
    write::{PREDICT, Shown, Writer, of_type},
};

use crate::{
    digits::{CLASSES, PIXELS, Set, draw},
    model::{HIDDEN, HIDDEN_BIASES, HIDDEN_WEIGHTS, Model, SCORE_BIASES, SCORE_WEIGHTS, SIZE},
};

#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be written")]
pub struct ExportError {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Writes the model as the next version below a directory. It is there whole or not at all.
pub(crate) fn export(directory: &Path, model: &Model) -> Result<PathBuf, ExportError> {
    let failed = |cause| ExportError {
        path: directory.to_owned(),
        cause,
    };
    fs::create_dir_all(directory).map_err(failed)?;
    // Servers look at folders whose names are numbers.
    let draft = tempfile::Builder::new()
        .prefix("draft-")
        .tempdir_in(directory)
        .map_err(failed)?;
    for (name, content) in files(model) {
        write(&draft.path().join(name), &content).map_err(failed)?;
    }
    let mut version = last_version(directory).map_err(failed)? + 1;
    loop {
        let path = directory.join(version.to_string());
        match fs::rename(draft.path(), &path) {
            Ok(()) => {
                // It is not a draft any more, and must not be removed as one.
                let _ = draft.keep();
                readable(&path).map_err(failed)?;
                File::open(directory)
                    .and_then(|folder| folder.sync_all())
                    .map_err(failed)?;
                return Ok(path);
            }
            // Somebody else was faster.
            Err(error) if path.exists() && error.kind() != io::ErrorKind::PermissionDenied => version += 1,
            Err(cause) => return Err(failed(cause)),
        }
    }
}

/// Drafts are for their maker alone; models are for servers, who may be somebody else.
fn readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn last_version(directory: &Path) -> io::Result<u64> {
    let mut last = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        last = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .unwrap_or(0)
            .max(last);
    }
    Ok(last)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// `pixels [?, 256]` → `probabilities [?, 10]` and `class_ids [?]`.
fn files(model: &Model) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut writer = Writer::new();
    let float = || [("T", of_type(DType::F32))];
    let matrix = |range: std::ops::Range<usize>, rows: usize, columns: usize| {
        Tensor::new([rows, columns].as_slice(), model.weights[range].to_vec())
    };
    let list = |range: std::ops::Range<usize>| Tensor::list(model.weights[range].to_vec());
    let pixels = writer.input("pixels", DType::F32, &[-1, PIXELS as i64]);
    let layers = [
        (
            "hidden",
            matrix(HIDDEN_WEIGHTS..HIDDEN_BIASES, PIXELS, HIDDEN),
            list(HIDDEN_BIASES..SCORE_WEIGHTS),
        ),
        (
            "scores",
            matrix(SCORE_WEIGHTS..SCORE_BIASES, HIDDEN, CLASSES),
            list(SCORE_BIASES..SIZE),
        ),
    ];
    let mut signal = pixels.clone();
    for (name, weights, biases) in layers {
        let Some(weights) = weights else { continue };
        let weights = writer.variable(&format!("{name}/weights"), weights);
        let biases = writer.variable(&format!("{name}/biases"), biases);
        signal = writer.op(
            &format!("{name}/MatMul"),
            "MatMul",
            &[&signal, &weights],
            &float(),
        );
        signal = writer.op(
            &format!("{name}/BiasAdd"),
            "BiasAdd",
            &[&signal, &biases],
            &float(),
        );
        let (last, op) = if name == "hidden" {
            ("Relu", "Relu")
        } else {
            ("Softmax", "Softmax")
        };
        signal = writer.op(&format!("{name}/{last}"), op, &[&signal], &float());
    }
    let last_axis = writer.constant("last_axis", &Tensor::scalar(-1_i32));
    let types = [
        ("T", of_type(DType::F32)),
        ("Tidx", of_type(DType::I32)),
        ("output_type", of_type(DType::I64)),
    ];
    let best = writer.op("class_ids", "ArgMax", &[&signal, &last_axis], &types);
    let inputs = [Shown {
        name: "pixels",
        tensor: &pixels,
        dtype: DType::F32,
        shape: &[-1, PIXELS as i64],
    }];
    let outputs = [
        Shown {
            name: "probabilities",
            tensor: &signal,
            dtype: DType::F32,
            shape: &[-1, CLASSES as i64],
        },
        Shown {
            name: "class_ids",
            tensor: &best,
            dtype: DType::I64,
            shape: &[-1],
        },
    ];
    for name in [DEFAULT_SIGNATURE, "predict"] {
        writer.signature(name, PREDICT, &inputs, &outputs);
    }
    writer.files()
}

/// Writes pictures of the exam, one a line: the digit, then the pixels.
pub fn write_exam(path: &Path, pictures: u64) -> Result<(), ExportError> {
    let lines = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut pixels = vec![0.0; PIXELS];
        for number in 0..pictures {
            let digit = draw(Set::Exam, number, &mut pixels);
            write!(file, "{digit}")?;
            for pixel in &pixels {
                write!(file, ",{pixel}")?;
            }
            writeln!(file)?;
        }
        file.flush()
    };
    lines().map_err(|cause| ExportError {
        path: path.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use saved_model::Wanted;

    use super::*;

    #[test]
    fn an_exported_model_reads_as_the_trained_one() {
        let model = Model::untaught();
        let loaded = saved_model::Model::load(&files(&model), &Wanted::All).unwrap();
        let signature = loaded.signature(DEFAULT_SIGNATURE).unwrap();
        let mut pixels = vec![0.0; PIXELS];
        for number in 0..5 {
            let digit = draw(Set::Exam, number, &mut pixels);
            let input = Tensor::new([1, PIXELS].as_slice(), pixels.clone()).unwrap();
            let answer = signature
                .ask(BTreeMap::from([("pixels".to_owned(), input)]))
                .unwrap();
            let likely = answer["probabilities"].values::<f32>().unwrap()[digit];
            let reading = model.read(&pixels, digit);
            assert!((-likely.ln() - reading.loss).abs() < 1e-5);
            let best = answer["class_ids"].values::<i64>().unwrap();
            assert_eq!(best[0] as usize == digit, reading.is_right);
        }
    }

    #[test]
    fn versions_are_counted_up_and_drafts_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("7")).unwrap();
        let model = Model::untaught();
        assert_eq!(
            export(directory.path(), &model).unwrap(),
            directory.path().join("8")
        );
        assert_eq!(
            export(directory.path(), &model).unwrap(),
            directory.path().join("9")
        );
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["7", "8", "9"]);
        assert!(directory.path().join("9/variables/variables.index").is_file());
    }

    #[test]
    fn the_exam_is_one_line_a_picture() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("exam.csv");
        write_exam(&path, 3).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| line.split(',').count() == 1 + PIXELS));
    }
}
