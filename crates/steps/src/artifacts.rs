//! Artifacts: brought in before the command begins, taken out when it has ended. They lie in a volume.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, json};
use workflows::report::{Transfer, key_in_store};

use crate::{Broken, archive};

/// Puts an artifact where the step expects it.
pub(crate) fn bring_in(input: &Transfer, store: Option<&str>) -> Result<(), Broken> {
    let failed = |error: io::Error| Broken(format!("input artifact '{}': {error}", input.name));
    let target = Path::new(&input.path);
    if input.path.is_empty() {
        return Err(Broken(format!("input artifact '{}' has no path", input.name)));
    }
    let artifact = &input.artifact;
    if let Some(data) = artifact["raw"]["data"].as_str() {
        make_room(target)
            .and_then(|()| fs::write(target, data))
            .map_err(failed)?;
        return set_mode(target, artifact).map_err(failed);
    }
    let source = stored(&input.name, artifact, store)?;
    if !source.exists() {
        if input.optional {
            return Ok(());
        }
        return Err(Broken(format!(
            "input artifact '{}' is not there: nothing is stored at {}",
            input.name,
            key_in_store(artifact).unwrap_or_default()
        )));
    }
    make_room(target).map_err(failed)?;
    let is_packed = source.is_file()
        && artifact["archive"]["none"].is_null()
        && archive::is_packed(&source).map_err(failed)?;
    if is_packed {
        unpacked(&source, target, artifact).map_err(failed)?;
    } else {
        let below = sub_path(artifact);
        let from = if below.as_os_str().is_empty() {
            source
        } else {
            source.join(below)
        };
        archive::copy(&from, target).map_err(failed)?;
    }
    set_mode(target, artifact).map_err(failed)
}

/// Stores what the step has left; where it is now, or nothing where it left nothing and need not.
pub(crate) fn take_out(output: &Transfer, store: Option<&str>) -> Result<Option<Value>, Broken> {
    let failed = |error: io::Error| Broken(format!("output artifact '{}': {error}", output.name));
    let source = Path::new(&output.path);
    if !source.exists() {
        if output.optional {
            return Ok(None);
        }
        return Err(Broken(format!(
            "output artifact '{}': the step has left nothing at {}",
            output.name, output.path
        )));
    }
    let artifact = &output.artifact;
    let target = stored(&output.name, artifact, store)?;
    make_room(&target).map_err(failed)?;
    // Whoever sees it sees all of it.
    let part = target.with_extension(format!("part-{}", std::process::id()));
    let packed = if artifact["archive"]["none"].is_null() {
        let level = artifact["archive"]["tar"]["compressionLevel"].as_u64();
        archive::pack(source, &part, level.and_then(|level| u32::try_from(level).ok()))
    } else {
        archive::copy(source, &part)
    };
    packed.and_then(|()| replace(&part, &target)).map_err(failed)?;
    let mut told = artifact.clone();
    if let Some(fields) = told.as_object_mut() {
        fields.remove("optional");
        fields.insert("name".to_owned(), json!(output.name));
    }
    Ok(Some(told))
}

fn replace(part: &Path, target: &Path) -> io::Result<()> {
    if target.is_dir() {
        fs::remove_dir_all(target)?;
    }
    fs::rename(part, target)
}

/// Where an artifact lies in the volume. A key never leads out of it.
fn stored(name: &str, artifact: &Value, store: Option<&str>) -> Result<PathBuf, Broken> {
    let (Some(key), Some(store)) = (key_in_store(artifact), store) else {
        return Err(Broken(format!(
            "artifact '{name}' lies in a store that is not known here: there are `raw` and the cluster's own"
        )));
    };
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(key).components().all(is_below) {
        return Err(Broken(format!("artifact '{name}': `{key}` is no key")));
    }
    Ok(Path::new(store).join(key))
}

fn sub_path(artifact: &Value) -> PathBuf {
    let below = artifact["subPath"].as_str().unwrap_or_default();
    let parts = Path::new(below).components();
    parts
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect()
}

fn make_room(target: &Path) -> io::Result<()> {
    match target.parent() {
        Some(folder) => fs::create_dir_all(folder),
        None => Ok(()),
    }
}

/// What was packed under any name becomes the target.
fn unpacked(source: &Path, target: &Path, artifact: &Value) -> io::Result<()> {
    let beside = target.parent().unwrap_or(Path::new("/"));
    let folder = beside.join(format!(".trainyard-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let outcome = archive::unpack(source, &folder).and_then(|()| {
        let mut entries = fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
        let top = match (entries.pop(), entries.is_empty()) {
            (Some(only), true) => only.path(),
            _ => folder.clone(),
        };
        let below = sub_path(artifact);
        // A path that ends in a slash would be that of a folder.
        let found = if below.as_os_str().is_empty() {
            top
        } else {
            top.join(below)
        };
        archive::place(&found, target)
    });
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn set_mode(target: &Path, artifact: &Value) -> io::Result<()> {
    let Some(mode) = artifact["mode"]
        .as_u64()
        .and_then(|mode| u32::try_from(mode).ok())
    else {
        return Ok(());
    };
    let set = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(target)?;
    if artifact["recurseMode"] == true && target.is_dir() {
        let mut folders = vec![target.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                set(&path)?;
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(path: &Path, artifact: Value) -> Transfer {
        Transfer {
            name: "a".to_owned(),
            path: path.display().to_string(),
            artifact,
            optional: false,
        }
    }

    #[test]
    fn what_one_step_leaves_another_finds() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store").display().to_string();
        for (archive, end) in [(json!(null), ".tgz"), (json!({"none": {}}), "")] {
            let source = folder.path().join("left");
            let _ = fs::remove_dir_all(&source);
            fs::create_dir(&source).unwrap();
            fs::write(source.join("x"), "content").unwrap();
            let artifact =
                json!({"archive": archive, "s3": {"key": format!("pod/a{end}")}, "optional": true});
            let told = take_out(&transfer(&source, artifact), Some(&store))
                .unwrap()
                .unwrap();
            assert_eq!(told["name"], "a");
            let target = folder.path().join(format!("found{end}"));
            bring_in(&transfer(&target, told.clone()), Some(&store)).unwrap();
            assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "content");
            let file = folder.path().join(format!("file{end}"));
            let mut below = told;
            below["subPath"] = json!("x");
            bring_in(&transfer(&file, below), Some(&store)).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "content");
        }
    }

    #[test]
    fn a_packed_file_is_a_file_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store").display().to_string();
        let source = folder.path().join("left");
        fs::write(&source, "content").unwrap();
        let artifact = json!({"s3": {"key": "pod/a.tgz"}});
        let told = take_out(&transfer(&source, artifact), Some(&store))
            .unwrap()
            .unwrap();
        let target = folder.path().join("found");
        bring_in(&transfer(&target, told), Some(&store)).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "content");
    }

    #[test]
    fn raw_data_becomes_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("deep/file");
        let artifact = json!({"raw": {"data": "text"}, "mode": 0o755});
        bring_in(&transfer(&target, artifact), None).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "text");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn a_key_does_not_lead_out_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().display().to_string();
        for key in ["../x", "/etc/passwd", "a/../../x"] {
            let artifact = json!({"s3": {"key": key}});
            let error = bring_in(&transfer(&folder.path().join("t"), artifact), Some(&store)).unwrap_err();
            assert!(error.to_string().contains("is no key"), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_said_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = transfer(&folder.path().join("none"), json!({"s3": {"key": "k"}}));
        let error = take_out(&output, Some("/nowhere")).unwrap_err();
        assert!(error.to_string().contains("left nothing at"), "{error}");
        output.optional = true;
        assert!(take_out(&output, Some("/nowhere")).unwrap().is_none());
    }
}
