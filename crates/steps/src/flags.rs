//! The flags of a step that acts on an object, as far as kubectl's meaning of them is of use here: which object it
//! is, where it is, and whether it may be missing. Pure.

/// What follows upon these is their value.
const WITH_VALUES: [&str; 12] = [
    "-l",
    "--selector",
    "-o",
    "--output",
    "-f",
    "--filename",
    "--type",
    "--field-manager",
    "--field-selector",
    "--grace-period",
    "--cascade",
    "--timeout",
];

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The word for its kind, and its name: `pod x` or `pod/x`.
    pub object: Option<(String, String)>,
    pub namespace: Option<String>,
    pub may_be_missing: bool,
}

impl Flags {
    pub(crate) fn read(flags: &[String]) -> Self {
        let mut read = Self::default();
        let mut words: Vec<&str> = Vec::new();
        let mut rest = flags.iter().map(String::as_str);
        while let Some(flag) = rest.next() {
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            match name {
                "-n" | "--namespace" => {
                    read.namespace = value.or_else(|| rest.next()).map(str::to_owned);
                }
                "--ignore-not-found" => read.may_be_missing = value != Some("false"),
                name if WITH_VALUES.contains(&name) && value.is_none() => {
                    rest.next();
                }
                name if name.starts_with('-') => {}
                _ => words.push(flag),
            }
        }
        read.object = match words.as_slice() {
            [kind, name, ..] => Some(((*kind).to_owned(), (*name).to_owned())),
            [both] => both
                .split_once('/')
                .map(|(kind, name)| (kind.to_owned(), name.to_owned())),
            [] => None,
        };
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: &str) -> Flags {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        Flags::read(&flags)
    }

    #[test]
    fn an_object_is_named_as_kubectl_has_it() {
        let object = |kind: &str, name: &str| Some((kind.to_owned(), name.to_owned()));
        assert_eq!(read("pod x").object, object("pod", "x"));
        assert_eq!(read("--type merge deploy/x").object, object("deploy", "x"));
        assert_eq!(read("--validate=false").object, None);
        let elsewhere = read("-n there po x --ignore-not-found");
        assert_eq!(elsewhere.namespace.as_deref(), Some("there"));
        assert!(elsewhere.may_be_missing && !read("--ignore-not-found=false").may_be_missing);
        assert_eq!(read("--namespace=there").namespace.as_deref(), Some("there"));
    }
}
