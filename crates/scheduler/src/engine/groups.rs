//! How many members the groups need whose size stands in an object of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use tokio::time::Instant;

use crate::{
    demand::Demand,
    unit::{Group, own_size},
};

/// Sizes hardly ever change; they are asked for again after this time.
const KEPT: Duration = Duration::from_secs(5);

/// So often is looked for an object that is not there. It is not watched for: a cluster need not have its
/// kind, or may get it later.
const RETRY: Duration = Duration::from_secs(1);

/// The kinds of objects that say how large a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    SchedulerPlugins,
    Volcano,
}

impl Kind {
    fn of(group: &Group) -> Option<Self> {
        match group {
            Group::Own { .. } => None,
            Group::SchedulerPlugins { .. } => Some(Self::SchedulerPlugins),
            Group::Volcano { .. } => Some(Self::Volcano),
        }
    }

    fn resource(self) -> ApiResource {
        ApiResource::from_gvk(&match self {
            Self::SchedulerPlugins => GroupVersionKind::gvk("scheduling.x-k8s.io", "v1alpha1", "PodGroup"),
            Self::Volcano => GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "PodGroup"),
        })
    }
}

/// A namespace and a name.
type Place = (String, String);

/// What was last heard of the objects of a kind.
struct Heard {
    at: Instant,
    /// Groups that were looked for then.
    asked: BTreeSet<Place>,
    sizes: BTreeMap<Place, usize>,
    /// Why nothing newer is known.
    problem: Option<String>,
}

#[derive(Default)]
pub(super) struct Sizes {
    heard: BTreeMap<Kind, Heard>,
    next_look: Option<Instant>,
}

impl Sizes {
    /// The size of a group of which these wait, or why it is not known.
    pub(super) fn of(&self, key: &(String, Group), members: &[Arc<Demand>]) -> Result<usize, String> {
        let (namespace, group) = key;
        let Some(kind) = Kind::of(group) else {
            return Ok(newest_size(members).unwrap_or(1));
        };
        let place = (namespace.clone(), group.name().to_owned());
        let heard = self.heard.get(&kind);
        if let Some(size) = heard.and_then(|heard| heard.sizes.get(&place)) {
            return Ok(*size);
        }
        let name = format!("PodGroup {namespace}/{}", group.name());
        match heard.and_then(|heard| heard.problem.as_ref()) {
            Some(problem) => Err(format!("{name} cannot be read: {problem}")),
            None => Err(format!("{name} not found")),
        }
    }

    /// When to look again although nothing has happened: somebody waits for an object.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Asks for the sizes of these groups where they are not known. Whether there is news.
    pub(super) async fn learn(&mut self, client: &Client, wanted: &BTreeSet<(String, Group)>) -> bool {
        let mut by_kind: BTreeMap<Kind, BTreeSet<Place>> = BTreeMap::new();
        for (namespace, group) in wanted {
            if let Some(kind) = Kind::of(group) {
                let place = (namespace.clone(), group.name().to_owned());
                by_kind.entry(kind).or_default().insert(place);
            }
        }
        self.heard.retain(|kind, _| by_kind.contains_key(kind));
        let mut is_news = false;
        for (kind, asked) in by_kind {
            let now = Instant::now();
            if self
                .heard
                .get(&kind)
                .is_some_and(|heard| heard.will_do(&asked, now))
            {
                continue;
            }
            let answer = ask(client, kind).await;
            is_news |= self.hear(kind, asked, answer, now);
        }
        let waits = self.heard.values().filter(|heard| heard.is_missing_some());
        self.next_look = waits.map(|heard| heard.at + RETRY).min();
        is_news
    }

    fn hear(
        &mut self,
        kind: Kind,
        asked: BTreeSet<Place>,
        answer: Result<BTreeMap<Place, usize>, String>,
        at: Instant,
    ) -> bool {
        let before = self.heard.remove(&kind);
        let known = before.as_ref().map(|heard| &heard.sizes);
        let (sizes, problem) = match answer {
            Ok(sizes) => (sizes, None),
            // What was known is still the best there is.
            Err(problem) => (known.cloned().unwrap_or_default(), Some(problem)),
        };
        let is_news = known != Some(&sizes) || before.is_none_or(|before| before.problem != problem);
        let heard = Heard {
            at,
            asked,
            sizes,
            problem,
        };
        self.heard.insert(kind, heard);
        is_news
    }
}

impl Heard {
    fn is_missing_some(&self) -> bool {
        self.problem.is_some() || self.asked.iter().any(|place| !self.sizes.contains_key(place))
    }

    /// Whether there is no need to ask again for the sizes of these.
    fn will_do(&self, wanted: &BTreeSet<Place>, now: Instant) -> bool {
        let mut missing = wanted.iter().filter(|place| !self.sizes.contains_key(*place));
        let is_looked_for = missing.clone().all(|place| self.asked.contains(place));
        let is_complete = self.problem.is_none() && missing.next().is_none();
        let kept = if is_complete { KEPT } else { RETRY };
        is_looked_for && now.duration_since(self.at) < kept
    }
}

/// The size that stands on the pods themselves. Of those that differ, the newest know best.
fn newest_size(members: &[Arc<Demand>]) -> Option<usize> {
    let age = |member: &Arc<Demand>| member.pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let newest = members.iter().map(age).max();
    let newest = members.iter().filter(|member| Some(age(member)) == newest);
    newest.filter_map(|member| own_size(&member.pod)).max()
}

/// The sizes of all groups of a kind.
async fn ask(client: &Client, kind: Kind) -> Result<BTreeMap<Place, usize>, String> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
    match api.list(&ListParams::default()).await {
        Ok(groups) => Ok(groups
            .items
            .iter()
            .map(|group| (place(group), size(group)))
            .collect()),
        // The cluster does not have the kind, so it has none of its objects.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => {
            tracing::warn!(%error, "the sizes of groups of pods cannot be read");
            Err(error.to_string())
        }
    }
}

fn place(group: &DynamicObject) -> Place {
    (group.namespace().unwrap_or_default(), group.name_any())
}

fn size(group: &DynamicObject) -> usize {
    let size = group.data["spec"]["minMember"].as_u64().unwrap_or(1);
    usize::try_from(size).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> (String, Group) {
        let name = name.to_owned();
        ("n".to_owned(), Group::SchedulerPlugins { name })
    }

    fn places<const N: usize>(names: [&str; N]) -> BTreeSet<Place> {
        names.map(|name| ("n".to_owned(), name.to_owned())).into()
    }

    #[test]
    fn a_group_without_its_object_has_no_size_until_the_object_is_there() {
        let mut sizes = Sizes::default();
        let kind = Kind::SchedulerPlugins;
        let now = Instant::now();
        assert!(sizes.hear(kind, places(["g"]), Ok(BTreeMap::new()), now));
        assert_eq!(sizes.of(&key("g"), &[]), Err("PodGroup n/g not found".to_owned()));
        let found = BTreeMap::from([(("n".to_owned(), "g".to_owned()), 3)]);
        assert!(sizes.hear(kind, places(["g"]), Ok(found.clone()), now));
        assert_eq!(sizes.of(&key("g"), &[]), Ok(3));
        assert!(!sizes.hear(kind, places(["g"]), Ok(found), now));
    }

    #[test]
    fn a_size_that_cannot_be_read_is_not_made_up_and_one_that_is_known_stays() {
        let mut sizes = Sizes::default();
        let kind = Kind::SchedulerPlugins;
        let now = Instant::now();
        let found = BTreeMap::from([(("n".to_owned(), "g".to_owned()), 3)]);
        sizes.hear(kind, places(["g"]), Ok(found), now);
        sizes.hear(kind, places(["g", "h"]), Err("no answer".to_owned()), now);
        assert_eq!(sizes.of(&key("g"), &[]), Ok(3));
        let told = "PodGroup n/h cannot be read: no answer".to_owned();
        assert_eq!(sizes.of(&key("h"), &[]), Err(told));
    }

    #[test]
    fn a_group_that_was_not_looked_for_is_looked_for_at_once_and_a_missing_one_every_second() {
        let mut sizes = Sizes::default();
        let now = Instant::now();
        sizes.hear(Kind::Volcano, places(["g"]), Ok(BTreeMap::new()), now);
        let heard = &sizes.heard[&Kind::Volcano];
        assert!(heard.will_do(&places(["g"]), now));
        assert!(!heard.will_do(&places(["h"]), now));
        assert!(!heard.will_do(&places(["g"]), now + RETRY));
        assert!(heard.is_missing_some());
    }
}
