//! YAML is read or refused; what is read can be written and read again.

use manifests::yaml::{parse, parse_documents, to_string};

use super::json::depth;
use crate::cost;

pub(super) fn run(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = cost::within(input.len(), 20_000, || parse_documents(text));
    }
    let Ok(parsed) = cost::within(input.len(), 20_000, || parse(input)) else {
        return;
    };
    assert!(depth(&parsed.value) <= manifests::json::MAX_DEPTH);
    let written = to_string(&parsed.value);
    match parse(written.as_bytes()) {
        Ok(again) => assert_eq!(again.value, parsed.value, "written as\n{written}"),
        // A flow of 512 levels may be read as JSON, and not as YAML.
        Err(error) => assert!(
            depth(&parsed.value) > manifests::yaml::MAX_DEPTH / 2,
            "{error}\nwritten as\n{written}"
        ),
    }
}
