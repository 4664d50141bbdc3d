//! Fields that still work but have a successor.

use super::Kustomization;

const BASES: &str = "# Warning: 'bases' is deprecated. Please use 'resources' instead. Run 'kustomize edit fix' to update your Kustomization automatically.";
const COMMON_LABELS: &str = "# Warning: 'commonLabels' is deprecated. Please use 'labels' instead. Run 'kustomize edit fix' to update your Kustomization automatically.";
const IMAGE_TAGS: &str = "# Warning: 'imageTags' is deprecated. Please use 'images' instead. Run 'kustomize edit fix' to update your Kustomization automatically.";
const JSON_PATCHES: &str = "# Warning: 'patchesJson6902' is deprecated. Please use 'patches' instead. Run 'kustomize edit fix' to update your Kustomization automatically.";
const MERGE_PATCHES: &str = "# Warning: 'patchesStrategicMerge' is deprecated. Please use 'patches' instead. Run 'kustomize edit fix' to update your Kustomization automatically.";
const VARS: &str = "# Warning: 'vars' is deprecated. Please use 'replacements' instead. [EXPERIMENTAL] Run 'kustomize edit fix' to update your Kustomization automatically.";

pub(super) fn of(own: &Kustomization, has_bases: bool, has_image_tags: bool) -> Vec<&'static str> {
    let all = [
        (has_bases, BASES),
        (own.common_labels.is_some(), COMMON_LABELS),
        (has_image_tags, IMAGE_TAGS),
        (own.patches_json_6902.is_some(), JSON_PATCHES),
        (own.patches_strategic_merge.is_some(), MERGE_PATCHES),
        (own.vars.is_some(), VARS),
    ];
    let used = all.into_iter().filter(|(is_used, _)| *is_used);
    used.map(|(_, warning)| warning).collect()
}
