//! Templates that come with the program, each with words and an example for a definition to begin with.

/// A template that needs nobody to apply it.
#[derive(Debug, PartialEq, Eq)]
pub struct BuiltIn {
    pub name: &'static str,
    /// In one sentence.
    pub summary: &'static str,
    pub text: &'static str,
    /// For `user_values_description`.
    pub values_description: &'static str,
    /// For `user_values_example`.
    pub values_example: &'static str,
    /// For `system_values`.
    pub system_values: &'static str,
}

macro_rules! built_in {
    ($name:literal, $summary:literal) => {
        BuiltIn {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../built-in/", $name, ".yaml.j2")),
            values_description: include_str!(concat!("../built-in/", $name, ".description.yaml")),
            values_example: include_str!(concat!("../built-in/", $name, ".example.yaml")),
            system_values: include_str!("../built-in/system-values.yaml"),
        }
    };
}

static BUILT_IN: [BuiltIn; 7] = [
    built_in!("countdown-task", "counts down and ends: the first task to try"),
    built_in!("mpi", "a program under mpirun on several nodes"),
    built_in!("mxnet", "MXNet with a parameter server"),
    built_in!(
        "non-distributed-task",
        "one program on one node, with storage and its configuration"
    ),
    built_in!(
        "pipeline",
        "steps that run one after the other, or as they depend on each other"
    ),
    built_in!("pytorch", "PyTorch on several nodes"),
    built_in!(
        "single-gpu-task",
        "one program on one node with a GPU, with storage and its configuration"
    ),
];

/// All of them, by name.
pub fn built_in() -> &'static [BuiltIn] {
    &BUILT_IN
}

impl BuiltIn {
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|built_in| built_in.name == name)
    }
}

#[cfg(test)]
mod tests;
