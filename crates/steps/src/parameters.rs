//! Output parameters that a step leaves in files.

use std::fs;

use workflows::report::OutputParameter;

use crate::Broken;

/// More would not fit into any object.
const LARGEST: u64 = 1024 * 1024;

/// The text of the file without its last newline; the default where there is no file.
pub(crate) fn read(parameter: &OutputParameter) -> Result<String, Broken> {
    let OutputParameter {
        name, path, default, ..
    } = parameter;
    let size = match fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) => {
            return default
                .clone()
                .ok_or_else(|| Broken(format!("output parameter '{name}': cannot read {path}: {error}")));
        }
    };
    if size > LARGEST {
        return Err(Broken(format!(
            "output parameter '{name}': {path} has {size} bytes, and at most {LARGEST} can be a parameter; make it an artifact"
        )));
    }
    let bytes = fs::read(path)
        .map_err(|error| Broken(format!("output parameter '{name}': cannot read {path}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Broken(format!(
            "output parameter '{name}': {path} is no text; make it an artifact"
        ))
    })?;
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_or_its_default_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut parameter = OutputParameter {
            name: "p".to_owned(),
            path: path.display().to_string(),
            ..OutputParameter::default()
        };
        assert!(read(&parameter).unwrap_err().to_string().contains("'p'"));
        parameter.default = Some("none".to_owned());
        assert_eq!(read(&parameter).unwrap(), "none");
        fs::write(&path, "a\nb\n").unwrap();
        assert_eq!(read(&parameter).unwrap(), "a\nb");
    }
}
