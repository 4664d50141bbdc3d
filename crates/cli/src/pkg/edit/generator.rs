//! ConfigMaps and Secrets that are generated, on the command line.

use setters::{Generator, KustomizationEdit};

/// What one is generated from.
#[derive(Debug, clap::Args)]
pub(super) struct Sources {
    names: Vec<String>,

    /// PATH or KEY=PATH; patterns too
    #[arg(long = "from-file", value_name = "PATH", value_delimiter = ',')]
    from_files: Vec<String>,

    /// KEY=VALUE
    #[arg(long = "from-literal", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    from_literals: Vec<String>,

    /// A file of lines KEY=VALUE
    #[arg(long, value_name = "PATH")]
    from_env_file: Option<String>,

    /// What becomes of one that a base generates: create, merge, replace
    #[arg(long, value_name = "WHAT")]
    behavior: Option<String>,

    /// The namespace it is in
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// Its name has no hash of what is in it
    #[arg(long = "disableNameSuffixHash", alias = "disable-name-suffix-hash")]
    disable_name_suffix_hash: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Kind {
    /// The type of the Secret [default: Opaque]
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

impl Sources {
    /// That of a Secret, where it can have a type.
    pub(super) fn generator(&self, secret: Option<&Kind>) -> Generator {
        Generator {
            is_secret: secret.is_some(),
            names: self.names.clone(),
            namespace: self.namespace.clone(),
            from_files: self.from_files.clone(),
            from_literals: self.from_literals.clone(),
            from_env_file: self.from_env_file.clone(),
            behavior: self.behavior.clone(),
            kind: secret.and_then(|secret| secret.kind.clone()),
            disable_name_suffix_hash: self.disable_name_suffix_hash,
            ..Generator::default()
        }
    }
}

/// Other values for what one has.
#[derive(Debug, clap::Args)]
pub(super) struct Literals {
    names: Vec<String>,

    /// KEY=VALUE, of a key there is
    #[arg(long = "from-literal", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    from_literals: Vec<String>,

    /// The namespace it is in
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// The namespace it is to be in
    #[arg(long, value_name = "NAME")]
    new_namespace: Option<String>,
}

impl Literals {
    pub(super) fn generator(&self, is_secret: bool) -> Generator {
        Generator {
            is_secret,
            names: self.names.clone(),
            namespace: self.namespace.clone(),
            new_namespace: self.new_namespace.clone(),
            from_literals: self.from_literals.clone(),
            ..Generator::default()
        }
    }
}

/// Which ones.
#[derive(Debug, clap::Args)]
pub(super) struct Names {
    names: Vec<String>,

    /// The namespace they are in
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
}

impl Names {
    pub(super) fn removal(&self, is_secret: bool) -> KustomizationEdit {
        KustomizationEdit::RemoveGenerator {
            is_secret,
            names: self.names.clone(),
            namespace: self.namespace.clone(),
        }
    }
}
