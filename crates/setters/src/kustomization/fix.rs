//! `edit fix`: deprecated fields become those that took their place.

use super::file::File;
use crate::{Problem, document::Fragment};

pub(super) const MESSAGE: &str = "
Fixed fields:
  patchesJson6902 -> patches
  patchesStrategicMerge -> patches
  commonLabels -> labels
";

pub(super) fn run(file: &mut File, vars: bool) -> Result<bool, Problem> {
    if vars && !file.items("vars").is_empty() {
        let problem = Problem::new("vars cannot be made replacements").in_file(file.path());
        return Err(problem.hint("write the replacements by hand; vars go on working"));
    }
    // What a patch is about was said in other words only in strategic merge patches.
    file.move_items("patchesJson6902", "patches")?;
    for patch in file.texts("patchesStrategicMerge") {
        let key = if patch.contains('\n') { "patch" } else { "path" };
        file.append("patches", Fragment::map([(key, Some(Fragment::text(patch)))]))?;
    }
    if file.find("patchesStrategicMerge").is_some() {
        file.remove(&["patchesStrategicMerge"])?;
    }
    move_labels(file)?;
    Ok(true)
}

fn move_labels(file: &mut File) -> Result<(), Problem> {
    let Some(common) = file.find("commonLabels") else {
        return Ok(());
    };
    let document = file.document();
    for entry in document.entries(common) {
        let key = document.value(entry.key).unwrap_or_default();
        let is_twice = |item: &usize| document.find(*item, &["pairs", key]).is_some();
        if file.items("labels").iter().any(is_twice) {
            let message = format!("label name '{key}' exists in both commonLabels and labels");
            return Err(document.problem(file.path(), entry.key, message));
        }
    }
    let pairs = document.fragment(common);
    let label = Fragment::map([
        ("includeSelectors", Some(Fragment::Plain("true".to_owned()))),
        ("pairs", Some(pairs)),
    ]);
    file.append("labels", label)?;
    file.remove(&["commonLabels"])
}
