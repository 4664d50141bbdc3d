//! Options that several commands share, spelled as in kustomize.

use std::path::PathBuf;

/// The folder a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Dir {
    /// The folder of the package
    #[arg(value_name = "DIR", default_value = ".")]
    pub(super) dir: PathBuf,
}

/// What a command that only reads manifests, or gives them out again, is about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Input {
    /// The folder of the package, or a single file [default: standard input; the working directory in a terminal]
    #[arg(value_name = "DIR")]
    pub(super) path: Option<PathBuf>,
}

/// Whether packages below are meant too. What is meant without it differs from command to command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Recurse {
    /// Also the packages in the folders below
    #[arg(
        short = 'R',
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    recurse_subpackages: Option<bool>,
}

impl Recurse {
    pub(super) fn or(self, default: bool) -> bool {
        self.recurse_subpackages.unwrap_or(default)
    }
}
