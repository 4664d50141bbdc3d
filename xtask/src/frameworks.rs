//! Training jobs, pipelines and served models with the frameworks themselves, where these are too large for every run
//! of the tests.

use anyhow::Result;
use clap::ValueEnum;

use crate::test;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    frameworks: Vec<Framework>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Framework {
    /// tensorflow-cpu from PyPI, 600 MB
    Tensorflow,
    /// Debian's python3-torch, which root installs where it is missing, 400 MB
    Pytorch,
    /// Models of tensorflow 2.15 from PyPI behind `trainyard serve`, asked by tensorflow-serving-api, 1 GB
    Serving,
    /// The pipeline of the seed with that TensorFlow: trained, gone on with, exported, deployed, measured
    Pipeline,
    /// Argo's own command line 3.7, built from the Go module registry, against our pipelines
    Argo,
    /// Kueue 0.16, built from the Go module registry, with training jobs of all kinds that it knows
    Kueue,
    /// Models in ONNX behind `trainyard serve`, beside onnxruntime from PyPI, 100 MB
    Onnx,
}

impl Framework {
    /// The tests, and the module of them.
    fn tests(self) -> (&'static str, &'static str) {
        match self {
            Self::Tensorflow => ("training", "tensorflow::"),
            Self::Pytorch => ("training", "pytorch::"),
            Self::Serving => ("serving", "tensorflow::"),
            Self::Pipeline => ("pipelines", "tensorflow::"),
            Self::Argo => ("pipelines", "argo::"),
            Self::Kueue => ("operator", "kueue::"),
            Self::Onnx => ("serving", "onnx::"),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let frameworks = match arguments.frameworks.as_slice() {
        [] => Framework::value_variants(),
        some => some,
    };
    for framework in frameworks {
        let (program, module) = framework.tests();
        test::ignored_of(program, module)?;
    }
    Ok(())
}
