//! `trainyard pkg edit fix`: fields of before become those of now.

use setters::KustomizationEdit;

/// Turn deprecated fields into those that took their place
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Also turn vars into replacements, which is refused: it cannot be done without building the package
    #[arg(long, hide = true)]
    vars: bool,
}

impl Arguments {
    pub(super) fn edit(&self) -> KustomizationEdit {
        KustomizationEdit::Fix { vars: self.vars }
    }
}
