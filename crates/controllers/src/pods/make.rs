//! A pod from a template, and the way to make many of them without flooding a server that refuses.

use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

/// The pod an owner makes from its template; the server completes the name.
pub(crate) fn from_template(template: &PodTemplateSpec, owner: OwnerReference) -> Pod {
    let meta = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", owner.name)),
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// Sizes of the rounds in which `count` pods are made: 1, 2, 4 … Whatever makes the server refuse one
/// usually makes it refuse all, so the first rounds are small and a failed round is the last.
pub(crate) fn rounds(count: usize) -> impl Iterator<Item = usize> {
    let mut left = count;
    let mut size = 1;
    std::iter::from_fn(move || {
        let round = size.min(left);
        left -= round;
        size *= 2;
        (round > 0).then_some(round)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_double_and_add_up() {
        assert_eq!(rounds(10).collect::<Vec<_>>(), [1, 2, 4, 3]);
        assert_eq!(rounds(0).count(), 0);
    }
}
