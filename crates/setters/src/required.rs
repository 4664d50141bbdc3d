//! Setters that must be set before a package is used, and are not.

use crate::{
    Package, Problem,
    definitions::{Definitions, EXTENSION, SETTER_PREFIX},
};

/// A complaint about each setter of a package, and not of those below it, that is required and not set.
pub fn unset_setters(package: &Package) -> Result<Vec<Problem>, Problem> {
    let scope = package.scope("");
    let Some(file) = &scope.definitions else {
        return Ok(Vec::new());
    };
    let definitions = Definitions::read(file, package.text(file).unwrap_or_default())?;
    let setters = definitions.with_prefix(SETTER_PREFIX);
    let unset = setters.filter(|(_, definition)| {
        let setter = &definition[EXTENSION]["setter"];
        setter["required"] == true && setter["isSet"] != true
    });
    let complaint = |(name, definition): (&str, &serde_json::Value)| {
        let key = format!("{SETTER_PREFIX}{name}");
        let path = ["openAPI", "definitions", &key, EXTENSION, "setter"];
        let message = format!("the setter {name:?} is required, and not set");
        let about = definition["description"].as_str();
        let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let folder = package.shown("");
        let hint = format!("`trainyard pkg set {folder} {name} VALUE` sets it{about}");
        definitions.problem(&path, message).hint(hint)
    };
    Ok(unset.map(complaint).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn krmfile(setter: &str) -> Package {
        let text = format!(
            "openAPI:\n  definitions:\n    io.k8s.cli.setters.team:\n      description: who pays\n      x-k8s-cli:\n        setter:\n          name: team\n          value: nobody\n{setter}"
        );
        let files = BTreeMap::from([("Krmfile".to_owned(), text.into_bytes())]);
        Package::new("pkg", files).unwrap()
    }

    #[test]
    fn a_required_setter_is_complained_of_until_it_is_set() {
        let [problem] = &unset_setters(&krmfile("          required: true\n")).unwrap()[..] else {
            panic!("one setter is not set");
        };
        assert_eq!(
            problem.to_string(),
            "Krmfile:7:11: the setter \"team\" is required, and not set"
        );
        assert_eq!(
            problem.hint.as_deref(),
            Some("`trainyard pkg set pkg team VALUE` sets it (who pays)")
        );
        let set = krmfile("          required: true\n          isSet: true\n");
        assert_eq!(unset_setters(&set).unwrap(), []);
        assert_eq!(unset_setters(&krmfile("")).unwrap(), []);
    }
}
