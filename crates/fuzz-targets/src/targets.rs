//! The targets: one for each sort of input that comes from outside.

mod apply;
mod cel;
mod custom;
mod json;
mod json_path;
mod kinds;
mod patches;
mod protobuf;
mod quantities;
mod selectors;
mod setters;
mod templates;
mod yaml;

use serde_json::Value;

use crate::corpus;

/// A property of all inputs.
pub struct Target {
    pub name: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Words that mean something to the code behind it.
    pub(crate) words: &'static [&'static str],
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "json",
        run: json::run,
        corpus: || corpus::objects_and(include_str!("../corpus/json.txt")),
        words: &[
            "\\ud800",
            "\\u00e9",
            "1e400",
            "-0",
            "0.1",
            "9223372036854775808",
            "{\"a\":1,\"a\":2}",
            "null",
        ],
    },
    Target {
        name: "yaml",
        run: yaml::run,
        corpus: || corpus::objects_and(include_str!("../corpus/yaml.txt")),
        words: &[
            "&a ", "*a", "<<: ", "- ", ": ", "? ", "|\n ", ">-\n ", "!!str ", "0o17", "0777", "yes", "~",
            "---\n", "1:30", ".inf", "# ",
        ],
    },
    Target {
        name: "protobuf",
        run: protobuf::run,
        corpus: corpus::protobuf,
        words: &[
            "k8s\0", "\x0a", "\x12", "\x1a", "\x22", "\x08\x01", "\u{7f}", "\x0b", "\x0c",
        ],
    },
    Target {
        name: "kinds",
        run: kinds::run,
        corpus: || corpus::objects_and(include_str!("../corpus/kinds.txt")),
        words: kinds::WORDS,
    },
    Target {
        name: "json_patch",
        run: patches::json_patch,
        corpus: || corpus::examples(include_str!("../corpus/json_patch.txt")),
        words: &[
            "op", "path", "from", "value", "add", "remove", "replace", "move", "copy", "test", "/a", "/a/0",
            "/a/-", "/b/-1", "", "/", "~0", "~1",
        ],
    },
    Target {
        name: "merge_patch",
        run: patches::merge_patch,
        corpus: || corpus::examples(include_str!("../corpus/merge_patch.txt")),
        words: &["a", "b", "c", ""],
    },
    Target {
        name: "strategic_merge",
        run: patches::strategic_merge,
        corpus: || corpus::examples(include_str!("../corpus/strategic_merge.txt")),
        words: &[
            "$patch",
            "delete",
            "replace",
            "merge",
            "$retainKeys",
            "$setElementOrder/containers",
            "$deleteFromPrimitiveList/finalizers",
            "name",
            "containers",
            "finalizers",
            "spec",
            "metadata",
            "ports",
            "containerPort",
            "env",
        ],
    },
    Target {
        name: "apply",
        run: apply::run,
        corpus: || corpus::examples(include_str!("../corpus/apply.txt")),
        words: &[
            "name",
            "containers",
            "spec",
            "metadata",
            "labels",
            "ports",
            "containerPort",
            "protocol",
            "TCP",
            "UDP",
            "managedFields",
            "template",
            "finalizers",
        ],
    },
    Target {
        name: "selectors",
        run: selectors::run,
        corpus: || corpus::examples(include_str!("../corpus/selectors.txt")),
        words: &[
            " in ",
            " notin ",
            "(",
            ")",
            "!=",
            "==",
            "!",
            ",",
            ">",
            "<",
            "\\,",
            "\\=",
            "\\\\",
            "metadata.name",
            "a.b/c",
        ],
    },
    Target {
        name: "cel",
        run: cel::run,
        corpus: || corpus::examples(include_str!("../corpus/cel.txt")),
        words: &[
            ".all(x, ",
            ".map(x, ",
            ".exists(x, ",
            ".filter(x, ",
            "object",
            "has(",
            "?.",
            "[?",
            " + ",
            " == ",
            " && ",
            " ? 1 : 2",
            "duration('1h')",
            "timestamp(",
            "quantity('1Gi')",
            "matches('",
            "9223372036854775807",
            "b'\\xff'",
            "optional.of(",
            ".orValue(",
            "format([",
            "int(",
            "string(",
        ],
    },
    Target {
        name: "json_path",
        run: json_path::run,
        corpus: || corpus::examples(include_str!("../corpus/json_path.txt")),
        words: &[
            "..",
            "[*]",
            ".*",
            "[?(@.",
            "==",
            "&&",
            "[0:2:1]",
            "[-1]",
            "['a','b']",
            "{",
            "}",
            "$",
            "@",
            "\\.",
        ],
    },
    Target {
        name: "quantities",
        run: quantities::run,
        corpus: || corpus::examples(include_str!("../corpus/quantities.txt")),
        words: &[
            "Ki",
            "Mi",
            "Gi",
            "Ti",
            "Pi",
            "Ei",
            "n",
            "u",
            "m",
            "k",
            "M",
            "G",
            "T",
            "P",
            "E",
            "e3",
            "E-9",
            ".",
            "-",
            "+",
            "0",
            "9223372036854775807",
        ],
    },
    Target {
        name: "setters",
        run: setters::run,
        corpus: || corpus::objects_and(include_str!("../corpus/setters.txt")),
        words: &[
            "# {\"$openapi\":\"a\"}",
            "# kpt-set: ${a}",
            "- ",
            ": ",
            "? ",
            "|\n ",
            ">-\n ",
            "&a ",
            "*a",
            "!!str ",
            "[a, b]",
            "{a: b}",
            "---\n",
            "\r\n",
            "# ",
            "''",
            "\"\"",
        ],
    },
    Target {
        name: "kustomizations",
        run: setters::edit,
        corpus: || corpus::examples(include_str!("../corpus/kustomizations.txt")),
        words: &[
            "namespace: ",
            "Namespace: ",
            "namePrefix: ",
            "resources:\n- ",
            "bases: [a]\n",
            "labels:\n",
            "kind: Component\n",
            "- ",
            ": ",
            "? ",
            "|\n ",
            ">-\n ",
            "&a ",
            "*a",
            "!!str ",
            "[a, b]",
            "{a: b}",
            "---\n",
            "\r\n",
            "# ",
            "''",
        ],
    },
    Target {
        name: "templates",
        run: templates::run,
        corpus: || corpus::examples(include_str!("../corpus/templates.txt")),
        words: &[
            "{{ a }}",
            "{{ b.c }}",
            "{{ n }}",
            "{{ z }}",
            "{{- a -}}",
            "{% if t %}",
            "{% endif %}",
            "{% else %}",
            "{% for x in b.d %}",
            "{% endfor %}",
            "{{ b | tojson }}",
            "{# ",
            " #}",
            "{% raw %}",
            "{% endraw %}",
            "'",
            "\"",
            ": ",
            "- ",
            "|\n ",
            "&a ",
            "*a",
            "<<: ",
            "!!str ",
            "---\n",
            "(Required) ",
            "(Optional) ",
            "default is 5",
        ],
    },
    Target {
        name: "custom",
        run: custom::run,
        corpus: || corpus::examples(include_str!("../corpus/custom.txt")),
        words: &[
            "type",
            "object",
            "array",
            "string",
            "integer",
            "number",
            "boolean",
            "properties",
            "additionalProperties",
            "items",
            "default",
            "nullable",
            "enum",
            "pattern",
            "format",
            "date-time",
            "minimum",
            "x-kubernetes-validations",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-embedded-resource",
            "anyOf",
            "allOf",
            "not",
            "rule",
            "self",
            "oldSelf == self",
            "self.a == 1",
        ],
    },
];

/// Tries one input, for fuzzers that bring their own.
pub fn run(name: &str, input: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    (target.run)(input);
}

pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Two documents in one input, a line each.
fn pair(input: &[u8]) -> Option<(Value, Value)> {
    let line_end = input.iter().position(|byte| *byte == b'\n')?;
    let read = |bytes: &[u8]| Some(manifests::json::parse(bytes).ok()?.value);
    Some((read(&input[..line_end])?, read(&input[line_end + 1..])?))
}
