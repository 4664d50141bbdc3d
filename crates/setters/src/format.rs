//! `fmt`: fields in the order Kubernetes people know, lists of containers by name.

use std::{cmp::Ordering, collections::BTreeMap, ops::Range};

use crate::{
    Outcome, Package, Problem,
    document::{Content, Document, Entry, Id, Item, Target, apply, is_non_string},
    fields::{FieldType, fields},
    outcome::{Change, Reach, on_packages},
    package::Scope,
    resources::{Read, Resource, read_scope},
};

#[derive(Clone, Copy, Debug, Default)]
pub struct Format {
    /// Also gives values the quotes their types ask for.
    pub use_schema: bool,
    /// Also in the packages below.
    pub recurse: bool,
}

/// Fields that come before others, in this order. Those that are not here come behind, by name.
const ORDER: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "clusterName",
    "apiVersion",
    "kind",
    "metadata",
    "type",
    "labels",
    "annotations",
    "spec",
    "status",
    "stringData",
    "data",
    "binaryData",
    "parallelism",
    "completions",
    "backoffLimit",
    "replicas",
    "selector",
    "manualSelector",
    "template",
    "ttlSecondsAfterFinished",
    "volumeClaimTemplates",
    "service",
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "strategy",
    "minReadySeconds",
    "revision",
    "revisionHistoryLimit",
    "paused",
    "progressDeadlineSeconds",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "serviceAccountName",
    "serviceAccount",
    "automountServiceAccountToken",
    "nodeName",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostname",
    "subdomain",
    "schedulerName",
    "priorityClassName",
    "priority",
    "runtimeClassName",
    "enableServiceLinks",
    "nodeSelector",
    "hostAliases",
    "initContainers",
    "containers",
    "volumes",
    "imagePullSecrets",
    "affinity",
    "tolerations",
    "dnsConfig",
    "readinessGates",
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "envFrom",
    "env",
    "resources",
    "volumeMounts",
    "volumeDevices",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "clusterIP",
    "externalIPs",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "externalName",
    "externalTrafficPolicy",
    "sessionAffinity",
    "protocol",
    "port",
    "targetPort",
    "hostPort",
    "containerPort",
    "hostIP",
    "readOnly",
    "mountPath",
    "subPath",
    "subPathExpr",
    "mountPropagation",
    "value",
    "valueFrom",
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "prefix",
    "configMapRef",
    "secretRef",
];

/// Kinds whose containers may be in any order, and their versions.
const SORTED_KINDS: &[&str] = &[
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "StatefulSet",
    "ValidatingWebhookConfiguration",
];
const SORTED_VERSIONS: &[&str] = &[
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "batch/v1",
    "batch/v1beta1",
    "extensions/v1beta1",
    "v1",
    "admissionregistration.k8s.io/v1beta1",
];
/// Lists that are sorted, and the field they are sorted by.
const SORTED_LISTS: &[(&str, &str)] = &[
    (".spec.template.spec.containers", "name"),
    (".webhooks.rules.operations", ""),
];

const STRATEGY: &str = "config.kubernetes.io/formatting";

impl Format {
    pub fn run(self, package: &Package) -> Outcome {
        on_packages(package, Reach::Any, self.recurse, |scope| {
            self.format(package, scope)
        })
    }

    fn format(self, package: &Package, scope: &Scope) -> Result<Change, Problem> {
        let mut edits = BTreeMap::new();
        for file in read_scope(package, scope)? {
            let mut text = file.document.text().to_owned();
            for index in 0..file.roots.len() {
                let parsed = Document::parse(&file.path, &text)?;
                text = self.format_one(&Read::new(&file.path, parsed, file.is_stream), index)?;
            }
            if text != file.document.text() {
                edits.insert(file.path, text);
            }
        }
        Ok(Change::to_files(
            package,
            edits,
            "formatted resource files in the package\n",
        ))
    }

    fn format_one(self, file: &Read, index: usize) -> Result<String, Problem> {
        let resource = Resource { file, index };
        let (path, text) = (&file.path, file.document.text());
        match resource.annotation(STRATEGY) {
            None | Some("standard") => {}
            Some("none") => return Ok(text.to_owned()),
            Some(other) => {
                let message = format!("formatting annotation has illegal value {other}");
                return Err(resource.document().problem(path, resource.root(), message));
            }
        }
        if resource.kind().is_empty() || resource.api_version().is_empty() {
            return Ok(text.to_owned());
        }
        let document = resource.document();
        let mut edits = Vec::new();
        if self.use_schema {
            edits = quotes(document, resource.root());
        }
        if edits.is_empty() {
            let start = document.node(resource.root()).span.start;
            let (sorted, end) = Sorter::new(resource).render(resource.root(), "");
            return Ok(format!("{}{sorted}{}", &text[..start], &text[end..]));
        }
        let quoted = Document::parse(path, &apply(text, edits))?;
        Format::default().format_one(&Read::new(path, quoted, file.is_stream), index)
    }
}

/// Quotes around what must be a text, and none around what must not be one.
fn quotes(document: &Document, root: Id) -> Vec<crate::document::Edit> {
    let wrong = fields(document, root).into_iter().filter_map(|field| {
        let scalar = document
            .scalar(field.id)
            .filter(|scalar| is_non_string(&scalar.value))?;
        let target = match (field.kind?, scalar.style.is_quoted()) {
            (FieldType::String, false) => Target::Text,
            (FieldType::NonString, true) => Target::Plain,
            _ => return None,
        };
        document.replace_scalar(field.id, &scalar.value, target)
    });
    wrong.collect()
}

struct Sorter<'a> {
    document: &'a Document,
    has_sorted_lists: bool,
}

impl<'a> Sorter<'a> {
    fn new(resource: Resource<'a>) -> Self {
        Self {
            document: resource.document(),
            has_sorted_lists: SORTED_KINDS.contains(&resource.kind())
                && SORTED_VERSIONS.contains(&resource.api_version()),
        }
    }

    /// The text of a node with everything in it in order, and where what it is made of ends: the last line of a
    /// block is whole.
    fn render(&self, id: Id, path: &str) -> (String, usize) {
        let document = self.document;
        let node = document.node(id);
        let text = document.text();
        match &node.content {
            Content::Mapping {
                entries,
                is_flow: false,
            } if entries.iter().all(|entry| !entry.is_explicit) => {
                let path = |entry: &Entry| format!("{path}.{}", self.key(entry));
                let bounds = |entry: &Entry| document.entry_start(entry)..document.entry_end(entry);
                let parts = entries
                    .iter()
                    .map(|entry| (bounds(entry), entry.value, path(entry)));
                let parts = self.parts(parts);
                let mut order: Vec<usize> = (0..parts.len()).collect();
                order.sort_by(|a, b| by_precedence(self.key(&entries[*a]), self.key(&entries[*b])));
                (
                    join(document, node.span.start, &parts, &order),
                    document.line_end(node.span.end),
                )
            }
            Content::Sequence {
                items,
                is_flow: false,
            } => {
                let bounds = |item: &Item| {
                    let start = item.dash.unwrap_or(document.node(item.value).start);
                    start..document.node(item.value).span.end.max(start + 1)
                };
                let parts = items
                    .iter()
                    .map(|item| (bounds(item), item.value, path.to_owned()));
                let parts = self.parts(parts);
                let mut order: Vec<usize> = (0..parts.len()).collect();
                if let Some((_, field)) = SORTED_LISTS
                    .iter()
                    .find(|(list, _)| self.has_sorted_lists && *list == path)
                {
                    order.sort_by_key(|index| self.sort_key(items[*index].value, field));
                }
                (
                    join(document, node.span.start, &parts, &order),
                    document.line_end(node.span.end),
                )
            }
            _ => (text[node.span.clone()].to_owned(), node.span.end),
        }
    }

    fn key(&self, entry: &Entry) -> &str {
        self.document.value(entry.key).unwrap_or_default()
    }

    fn sort_key(&self, item: Id, field: &str) -> &str {
        let value = if field.is_empty() {
            self.document.value(item)
        } else {
            Some(self.document.text_at(item, &[field]))
        };
        value.unwrap_or_default()
    }

    fn parts(&self, parts: impl Iterator<Item = (Range<usize>, Id, String)>) -> Vec<Part> {
        let text = self.document.text();
        let mut behind = None;
        parts
            .map(|(bounds, value, path)| {
                let start = self.document.node(value).span.start.max(bounds.start);
                let (body, rendered) = self.render(value, &path);
                let end = self.document.line_end(bounds.end);
                let lead = &text[behind.unwrap_or(bounds.start).min(bounds.start)..bounds.start];
                behind = Some(end);
                Part {
                    lead: lead.to_owned(),
                    body: format!(
                        "{}{body}{}",
                        &text[bounds.start..start],
                        &text[rendered.max(start)..end.max(rendered)]
                    ),
                }
            })
            .collect()
    }
}

/// A field or an element: what is between the one before it and it (line breaks, comments, indentation), and its
/// text to the end of its last line.
struct Part {
    lead: String,
    body: String,
}

/// Parts in another order. What is above the first is not part of the text, and stays where it is.
fn join(document: &Document, start: usize, parts: &[Part], order: &[usize]) -> String {
    let margin = document.line_break().to_owned() + &" ".repeat(document.column(start));
    let mut text = String::new();
    for (place, index) in order.iter().enumerate() {
        let Part { lead, body } = &parts[*index];
        match (place, index) {
            (0, _) => text += lead.trim_start(),
            (_, 0) => text += &margin,
            _ => text += lead,
        }
        text += body;
    }
    text
}

pub(crate) fn by_precedence(a: &str, b: &str) -> Ordering {
    let rank = |key: &str| ORDER.iter().position(|one| *one == key).unwrap_or(usize::MAX);
    rank(a).cmp(&rank(b)).then_with(|| {
        if rank(a) == usize::MAX {
            a.cmp(b)
        } else {
            Ordering::Equal
        }
    })
}
