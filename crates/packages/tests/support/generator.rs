//! Packages nobody would write: bases, overlays and components that use every feature in random ways, with
//! few names so that they meet. The same seed gives the same package.

use std::collections::BTreeMap;

use fastrand::Rng;

/// Files by their paths below the package; `top` is what is built.
pub(crate) type Package = BTreeMap<String, String>;

const NAMES: &[&str] = &["web", "db", "cache", "web-2", "job.x"];
const NAMESPACES: &[&str] = &["team", "default", "other"];
const KEYS: &[&str] = &[
    "app", "tier", "a.b/c", "n", "on", "x1", "x10", "x2", "yes", "Key", "_k",
];
const IMAGES: &[&str] = &[
    "nginx",
    "nginx:1.2",
    "host:5000/nginx:v1",
    "redis@sha256:abc",
    "redis:6@sha256:abc",
    "ghcr.io/x/app",
];
const TEXTS: &[&str] = &[
    "word",
    "two words",
    "\"quoted\"",
    "'single'",
    "\"yes\"",
    "\"1\"",
    "\"1.0\"",
    "\"2020-01-01\"",
    "\"12:30:45\"",
    "\"\"",
    "\"a: b\"",
    "\"tab\\there\"",
    "\"caf\u{e9}\"",
    "\"\u{1F600}\"",
    "\" lead\"",
    "\"trail \"",
    "\"- x\"",
    "\"#no\"",
    "\"null\"",
    "\"0x1F\"",
    "\"line\\nbreak\"",
    "\"line \\nbreak\\n\"",
    "a-long-text-without-spaces-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789",
    "a long text with spaces that is so long that it has to be folded somewhere behind column eighty for sure",
    "\"a 'long' text with: spaces that is so long that it has to be folded somewhere behind column eighty\"",
    "$(NAME)",
    "pre-$(NAME)-post",
    "\"$$(NAME) $(NONE)\"",
];
const VALUES: &[&str] = &[
    "1",
    "-7",
    "1.5",
    "1.0",
    "1e3",
    "0x1F",
    "017",
    "0o17",
    "true",
    "False",
    "yes",
    "null",
    "~",
    "{}",
    "[]",
    "12345678901234567890",
    "2020-01-01",
    "1_000",
    "+5",
    ".5",
    "[a, b]",
    "{k: v, j: 2}",
    "08",
    "1234567.5",
];

pub(crate) fn package(seed: u64) -> Package {
    let mut generator = Generator {
        random: Rng::with_seed(seed),
        files: BTreeMap::new(),
        objects: Vec::new(),
    };
    generator.folder("base", &[], Role::Base);
    let mut children = vec!["base"];
    if generator.one_in(3) {
        generator.folder("other", &[], Role::Base);
        children.push("other");
    }
    if generator.one_in(2) {
        generator.folder("middle", &children, Role::Overlay);
        children = vec!["middle"];
        if generator.one_in(4) {
            generator.folder("side", &["base"], Role::Overlay);
            children.push("side");
        }
    }
    if generator.one_in(3) {
        generator.folder("part", &[], Role::Component);
    }
    generator.folder("top", &children, Role::Overlay);
    generator.files
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Base,
    Overlay,
    Component,
}

struct Generator {
    random: Rng,
    files: Package,
    /// apiVersion, kind and name of what was made.
    objects: Vec<(&'static str, &'static str, String)>,
}

impl Generator {
    fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(0..count) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(0..from.len())]
    }

    fn folder(&mut self, folder: &str, children: &[&str], role: Role) {
        let mut out = String::new();
        if role == Role::Component {
            out.push_str("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n");
        }
        self.resources(folder, children, role, &mut out);
        let fields: [fn(&mut Self, &str, &mut String); 20] = [
            Self::namespace,
            Self::affixes,
            Self::labels,
            Self::common_labels,
            Self::common_annotations,
            Self::images,
            Self::replicas,
            Self::config_maps,
            Self::secrets,
            Self::generator_options,
            Self::patches,
            Self::merge_patches,
            Self::json_patches,
            Self::replacements,
            Self::vars,
            Self::configurations,
            Self::transformers,
            Self::generators,
            Self::validators,
            Self::top_fields,
        ];
        for field in fields {
            if self.one_in(6) {
                field(self, folder, &mut out);
            }
        }
        if folder == "top" && self.files.contains_key("part/kustomization.yaml") {
            out.push_str("components:\n- ../part\n");
        }
        self.files.insert(format!("{folder}/kustomization.yaml"), out);
    }

    fn resources(&mut self, folder: &str, children: &[&str], role: Role, out: &mut String) {
        let count = match role {
            Role::Base => self.random.usize(1..6),
            Role::Overlay | Role::Component => self.random.usize(0..2),
        };
        if count == 0 && children.is_empty() {
            out.push_str("resources: []\n");
            return;
        }
        out.push_str("resources:\n");
        for child in children {
            out.push_str(&format!("- ../{child}\n"));
        }
        let documents: Vec<String> = (0..count).map(|_| self.object()).collect();
        if count > 0 {
            out.push_str("- all.yaml\n");
            self.files
                .insert(format!("{folder}/all.yaml"), documents.join("---\n"));
        }
    }

    // Objects.

    fn object(&mut self) -> String {
        let makers: [fn(&mut Self) -> String; 16] = [
            |it| it.workload("apps/v1", "Deployment"),
            |it| it.workload("apps/v1", "Deployment"),
            |it| it.workload("apps/v1", "StatefulSet"),
            |it| it.workload("apps/v1", "DaemonSet"),
            |it| it.workload("batch/v1", "Job"),
            Self::cron_job,
            Self::pod,
            Self::service,
            Self::config_map,
            Self::secret,
            |it| it.plain("v1", "ServiceAccount", "imagePullSecrets:\n- name: web\n"),
            Self::binding,
            Self::ingress,
            Self::claim,
            Self::custom,
            Self::others,
        ];
        let maker = makers[self.random.usize(0..makers.len())];
        maker(self)
    }

    fn head(&mut self, api_version: &'static str, kind: &'static str) -> String {
        let mut name = self.pick(NAMES).to_owned();
        // Most packages should build: two objects with one name do not.
        while self
            .objects
            .iter()
            .any(|(_, other, taken)| (*other, taken) == (kind, &name))
            && !self.one_in(40)
        {
            name.push_str("-x");
        }
        let mut out = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        if self.one_in(4) {
            out.push_str(&format!("  namespace: {}\n", self.pick(NAMESPACES)));
        }
        for field in ["labels", "annotations"] {
            if self.one_in(3) {
                out.push_str(&format!("  {field}:\n{}", self.entries(4)));
            }
        }
        if self.one_in(12) {
            out.push_str("  finalizers: [a, b]\n");
        }
        self.objects.push((api_version, kind, name));
        out
    }

    fn entries(&mut self, indent: usize) -> String {
        let mut entries = BTreeMap::new();
        for _ in 0..self.random.usize(1..4) {
            entries.insert(self.pick(KEYS), self.pick(TEXTS));
        }
        let pad = " ".repeat(indent);
        entries
            .iter()
            .map(|(key, text)| format!("{pad}{key}: {text}\n"))
            .collect()
    }

    fn plain(&mut self, api_version: &'static str, kind: &'static str, body: &str) -> String {
        self.head(api_version, kind) + body
    }

    fn workload(&mut self, api_version: &'static str, kind: &'static str) -> String {
        let mut out = self.head(api_version, kind);
        out.push_str("spec:\n");
        if self.one_in(2) {
            out.push_str(&format!("  replicas: {}\n", self.random.u32(0..4)));
        }
        if self.one_in(2) {
            out.push_str("  selector:\n    matchLabels:\n      app: web\n");
        }
        if kind == "StatefulSet" {
            out.push_str(&format!("  serviceName: {}\n", self.pick(NAMES)));
            if self.one_in(2) {
                out.push_str("  volumeClaimTemplates:\n  - metadata:\n      name: data\n    spec:\n      storageClassName: web\n");
            }
        }
        out.push_str("  template:\n");
        if self.one_in(2) {
            out.push_str("    metadata:\n      labels:\n        app: web\n");
        }
        out.push_str("    spec:\n");
        out.push_str(&self.pod_spec(6));
        out
    }

    fn cron_job(&mut self) -> String {
        let mut out = self.head("batch/v1", "CronJob");
        out.push_str("spec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n");
        out.push_str(&self.pod_spec(10));
        out
    }

    fn pod(&mut self) -> String {
        let mut out = self.head("v1", "Pod");
        out.push_str("spec:\n");
        out.push_str(&self.pod_spec(2));
        out
    }

    fn pod_spec(&mut self, indent: usize) -> String {
        let mut out = String::new();
        if self.one_in(2) {
            out.push_str(&format!("serviceAccountName: {}\n", self.pick(NAMES)));
        }
        if self.one_in(4) {
            out.push_str("initContainers:\n");
            out.push_str(&self.container("init"));
        }
        out.push_str("containers:\n");
        out.push_str(&self.container("main"));
        if self.one_in(3) {
            out.push_str(&self.container("side"));
        }
        if self.one_in(2) {
            let (map, secret, claim) = (self.pick(NAMES), self.pick(NAMES), self.pick(NAMES));
            out.push_str(&format!(
                "volumes:\n- name: a\n  configMap:\n    name: {map}\n- name: b\n  secret:\n    secretName: {secret}\n- name: c\n  persistentVolumeClaim:\n    claimName: {claim}\n"
            ));
        }
        indented(&out, indent)
    }

    fn container(&mut self, name: &str) -> String {
        let mut out = format!("- name: {name}\n  image: {}\n", self.pick(IMAGES));
        if self.one_in(2) {
            out.push_str(
                &format!("  args: [{}, \"$(NAME)\"]\n", self.random.u32(0..9))
                    .replace('[', "[\"")
                    .replacen(", ", "\", ", 1),
            );
        }
        if self.one_in(2) {
            let (text, other) = (self.pick(TEXTS), self.pick(NAMES));
            out.push_str(&format!(
                "  env:\n  - name: A\n    value: {text}\n  - name: B\n    valueFrom:\n      configMapKeyRef:\n        name: {other}\n        key: k\n"
            ));
        }
        if self.one_in(4) {
            out.push_str(&format!(
                "  envFrom:\n  - secretRef:\n      name: {}\n",
                self.pick(NAMES)
            ));
        }
        if self.one_in(3) {
            out.push_str("  ports:\n  - containerPort: 80\n");
            if self.one_in(2) {
                out.push_str("    protocol: TCP\n");
            }
            if self.one_in(2) {
                out.push_str("  - containerPort: 81\n    name: other\n");
            }
        }
        if self.one_in(3) {
            out.push_str("  volumeMounts:\n  - name: a\n    mountPath: /a\n  - name: b\n    mountPath: /b\n");
        }
        if self.one_in(6) {
            out.push_str("  resources:\n  command: null\n");
        }
        out
    }

    fn service(&mut self) -> String {
        let body = "spec:\n  selector:\n    app: web\n  ports:\n  - port: 80\n    targetPort: http\n";
        self.plain("v1", "Service", body)
    }

    fn config_map(&mut self) -> String {
        let entries = self.entries(2);
        self.plain("v1", "ConfigMap", &format!("data:\n{entries}"))
    }

    fn secret(&mut self) -> String {
        self.plain("v1", "Secret", "type: Opaque\nstringData:\n  k: v\n")
    }

    fn binding(&mut self) -> String {
        let (role, account) = (self.pick(NAMES), self.pick(NAMES));
        let kind = self.pick(&["Role", "ClusterRole"]);
        let namespace = match self.random.u32(0..3) {
            0 => String::new(),
            _ => format!("  namespace: {}\n", self.pick(NAMESPACES)),
        };
        let account = if self.one_in(4) { "default" } else { account };
        let body = format!(
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {role}\nsubjects:\n- kind: ServiceAccount\n  name: {account}\n{namespace}"
        );
        let own = if self.one_in(2) {
            "RoleBinding"
        } else {
            "ClusterRoleBinding"
        };
        self.plain("rbac.authorization.k8s.io/v1", own, &body)
    }

    fn ingress(&mut self) -> String {
        let (service, secret) = (self.pick(NAMES), self.pick(NAMES));
        let body = format!(
            "spec:\n  tls:\n  - hosts: [\"$(NAME).example.com\"]\n    secretName: {secret}\n  rules:\n  - host: example.com\n    http:\n      paths:\n      - path: /\n        backend:\n          service:\n            name: {service}\n"
        );
        self.plain("networking.k8s.io/v1", "Ingress", &body)
    }

    fn claim(&mut self) -> String {
        let class = self.pick(NAMES);
        self.plain(
            "v1",
            "PersistentVolumeClaim",
            &format!("spec:\n  storageClassName: {class}\n  accessModes: [ReadWriteOnce]\n"),
        )
    }

    fn custom(&mut self) -> String {
        let mut body = String::from("spec:\n  values:\n");
        for index in 0..self.random.usize(1..6) {
            let value = if self.one_in(2) {
                self.pick(VALUES)
            } else {
                self.pick(TEXTS)
            };
            body.push_str(&format!("    v{index}: {value}\n"));
        }
        if self.one_in(2) {
            body.push_str(&format!(
                "  template:\n    spec:\n      containers:\n{}",
                indented(&self.container("main"), 6)
            ));
        }
        if self.one_in(2) {
            body.push_str("  list:\n  - name: one\n    value: 1\n  - name: two\n    value: \"2\"\n");
        }
        if self.one_in(3) {
            body.push_str("  text: |\n    several\n      lines $(NAME)\n\n    here\n");
        }
        self.plain("example.com/v1", "Widget", &body)
    }

    fn others(&mut self) -> String {
        let kinds: [(&'static str, &'static str, &str); 8] = [
            ("v1", "Namespace", ""),
            (
                "rbac.authorization.k8s.io/v1",
                "Role",
                "rules:\n- apiGroups: [\"\"]\n  resourceNames: [web]\n",
            ),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", "rules: []\n"),
            (
                "storage.k8s.io/v1",
                "StorageClass",
                "parameters:\n  secretName: web\n",
            ),
            (
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                "spec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: web\n",
            ),
            (
                "policy/v1",
                "PodDisruptionBudget",
                "spec:\n  selector:\n    matchLabels:\n      app: web\n",
            ),
            (
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                "webhooks:\n- name: w\n  clientConfig:\n    service:\n      name: web\n      namespace: team\n",
            ),
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "spec:\n  names:\n    kind: Widget\n  containers:\n  - image: nginx\n",
            ),
        ];
        let (api_version, kind, body) = kinds[self.random.usize(0..kinds.len())];
        self.plain(api_version, kind, body)
    }

    /// Something that was made, or was nearly.
    fn target(&mut self) -> (&'static str, &'static str, String) {
        if self.objects.is_empty() || self.one_in(30) {
            return ("apps/v1", "Deployment", "web".to_owned());
        }
        self.objects[self.random.usize(0..self.objects.len())].clone()
    }

    // Fields of a kustomization.

    fn namespace(&mut self, _: &str, out: &mut String) {
        out.push_str(&format!("namespace: {}\n", self.pick(NAMESPACES)));
    }

    fn affixes(&mut self, _: &str, out: &mut String) {
        let folder = self.pick(&["a-", "b-", "team."]);
        if self.one_in(2) {
            out.push_str(&format!("namePrefix: {folder}\n"));
        }
        if self.one_in(2) {
            out.push_str("nameSuffix: -v1\n");
        }
    }

    fn labels(&mut self, _: &str, out: &mut String) {
        let key = self.pick(&["team", "app", "l1"]);
        out.push_str(&format!("labels:\n- pairs:\n    {key}: x\n"));
        match self.random.u32(0..4) {
            0 => out.push_str("  includeSelectors: true\n"),
            1 => out.push_str("  includeTemplates: true\n"),
            2 => out.push_str("  fields:\n  - path: spec/extra\n    create: true\n    kind: Widget\n"),
            _ => {}
        }
    }

    #[expect(clippy::unused_self, reason = "one of a table of features")]
    fn common_labels(&mut self, _: &str, out: &mut String) {
        out.push_str("commonLabels:\n  common: \"1\"\n");
    }

    #[expect(clippy::unused_self, reason = "one of a table of features")]
    fn common_annotations(&mut self, _: &str, out: &mut String) {
        out.push_str("commonAnnotations:\n  note: \"true\"\n");
    }

    fn images(&mut self, _: &str, out: &mut String) {
        let name = self.pick(&["nginx", "redis", "ghcr.io/x/app", "host:5000/nginx", "none"]);
        out.push_str(&format!("images:\n- name: {name}\n"));
        match self.random.u32(0..5) {
            0 => out.push_str("  newTag: \"2.0\"\n"),
            1 => out.push_str("  newName: mirror/x\n  newTag: v3\n"),
            2 => out.push_str("  digest: sha256:fff\n"),
            3 => out.push_str("  tagSuffix: -alpine\n"),
            _ => out.push_str("  newName: \"123\"\n"),
        }
    }

    fn replicas(&mut self, _: &str, out: &mut String) {
        let (_, kind, name) = self.target();
        if matches!(kind, "Deployment" | "StatefulSet") || self.one_in(30) {
            out.push_str(&format!("replicas:\n- name: {name}\n  count: 5\n"));
        }
    }

    fn config_maps(&mut self, folder: &str, out: &mut String) {
        let name = self.pick(NAMES);
        out.push_str(&format!("configMapGenerator:\n- name: {name}\n"));
        let is_there = self.objects.iter().any(|it| it.1 == "ConfigMap" && it.2 == name);
        if is_there || self.one_in(20) {
            out.push_str(&format!("  behavior: {}\n", self.pick(&["merge", "replace"])));
        } else {
            self.objects.push(("v1", "ConfigMap", name.to_owned()));
        }
        if self.one_in(12) {
            out.push_str(&format!("  namespace: {}\n", self.pick(NAMESPACES)));
        }
        out.push_str("  literals:\n  - k=v\n  - quoted=\"x y\"\n");
        if self.one_in(3) {
            out.push_str(&format!("  - {folder}=1\n"));
        }
        if self.one_in(3) {
            out.push_str("  files: [all.txt, key=all.txt]\n");
            let text = self.pick(&[
                "text\n",
                "several\nlines\n",
                "no break",
                "trailing space \nx\n",
                "<&>\u{2028}",
            ]);
            self.files.insert(format!("{folder}/all.txt"), text.to_owned());
        }
        if self.one_in(3) {
            out.push_str("  envs: [vars.env]\n");
            self.files.insert(
                format!("{folder}/vars.env"),
                "# note\nENV=1\n OTHER = x \nBARE\n".to_owned(),
            );
        }
        self.options(out);
    }

    fn options(&mut self, out: &mut String) {
        if self.one_in(3) {
            out.push_str("  options:\n    labels:\n      made: here\n");
            if self.one_in(2) {
                out.push_str("    disableNameSuffixHash: true\n");
            }
            if self.one_in(3) {
                out.push_str("    immutable: true\n");
            }
        }
    }

    fn secrets(&mut self, _: &str, out: &mut String) {
        let name = self.pick(NAMES);
        out.push_str(&format!(
            "secretGenerator:\n- name: {name}\n  literals: [user=me, \"pass=a=b\"]\n"
        ));
        if self.one_in(2) {
            out.push_str("  type: example.com/kind\n");
        }
        if self.one_in(2) {
            out.push_str(&format!("  - long={}\n", "x".repeat(90)).replace("  - ", "  files: []\n  # "));
        }
        self.options(out);
    }

    fn generator_options(&mut self, _: &str, out: &mut String) {
        out.push_str("generatorOptions:\n  annotations:\n    all: \"yes\"\n");
        if self.one_in(2) {
            out.push_str("  disableNameSuffixHash: true\n");
        }
    }

    fn patches(&mut self, folder: &str, out: &mut String) {
        out.push_str("patches:\n");
        for index in 0..self.random.usize(1..3) {
            let target = self.target();
            let is_json = self.one_in(3);
            let patch = if is_json {
                self.json_patch()
            } else {
                self.merge_patch(&target)
            };
            if self.one_in(3) {
                let path = format!("patch-{index}.yaml");
                out.push_str(&format!("- path: {path}\n"));
                self.files.insert(format!("{folder}/{path}"), patch);
            } else {
                out.push_str(&format!("- patch: |-\n{}", indented(&patch, 4)));
            }
            if is_json || self.one_in(3) {
                out.push_str(&self.selector(&target));
            }
            if !is_json && self.one_in(8) {
                out.push_str("  options:\n    allowNameChange: true\n");
            }
        }
    }

    fn selector(&mut self, (_, kind, name): &(&str, &str, String)) -> String {
        let mut out = format!("  target:\n    kind: {kind}\n");
        match self.random.u32(0..5) {
            0 => out.push_str("    name: .*\n"),
            1 => out.push_str("    labelSelector: app=web,tier!=x\n"),
            2 => out.push_str("    annotationSelector: note\n"),
            3 => "  target:\n    kind: Deploy.*|Pod\n".clone_into(&mut out),
            _ => out.push_str(&format!("    name: {name}\n")),
        }
        out
    }

    fn merge_patch(&mut self, (api_version, kind, name): &(&str, &str, String)) -> String {
        let mut out = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        match self.random.u32(0..8) {
            0 => out.push_str(&format!("  labels:\n{}", self.entries(4))),
            1 => out.push_str("  labels:\n    app: null\n"),
            2 => out.push_str("  annotations:\n    note: patched\n"),
            3 => out.push_str("  annotations: null\n"),
            _ => {}
        }
        let body = self.patch_body();
        let is_templated = matches!(*kind, "Deployment" | "StatefulSet" | "DaemonSet" | "Job");
        match *kind {
            _ if self.one_in(15) => out.push_str("$patch: delete\n"),
            "Pod" => out.push_str(&format!("spec:\n{}", indented(&body, 2))),
            _ if is_templated => {
                out.push_str(&format!("spec:\n  template:\n    spec:\n{}", indented(&body, 6)));
            }
            "Service" => out.push_str(&format!("spec:\n{}", indented(&self.service_patch(), 2))),
            "Widget" => out.push_str("spec:\n  list:\n  - name: one\n    extra: true\n  values:\n    v0: null\n    v1: changed\n    added: 1\n"),
            "ConfigMap" => out.push_str(&format!("data:\n{}", self.entries(2))),
            _ => out.push_str("extra:\n  added: here\n"),
        }
        out
    }

    fn service_patch(&mut self) -> String {
        self.pick(&[
            "ports:\n- port: 80\n  nodePort: 30000\n",
            "ports:\n- port: 443\n  protocol: TCP\n",
            "ports:\n- port: 80\n  $patch: delete\n",
            "selector: null\n",
            "selector:\n  $patch: replace\n  only: this\n",
        ])
        .to_owned()
    }

    fn patch_body(&mut self) -> String {
        let choice = self.random.u32(0..13);
        match choice {
            0 => "containers:\n- name: main\n  image: patched:1\n".to_owned(),
            1 => "containers:\n- name: new\n  image: new:1\n- name: main\n  env:\n  - name: B\n    value: \"1\"\n  - name: C\n    value: x\n".to_owned(),
            2 => "containers:\n- name: main\n  $patch: delete\n".to_owned(),
            3 => "containers:\n- $patch: replace\n- name: only\n  image: only\n".to_owned(),
            4 => "containers:\n- name: main\n  ports:\n  - containerPort: 80\n    protocol: TCP\n  - containerPort: 82\n".to_owned(),
            5 => "containers:\n- name: main\n  ports:\n  - containerPort: 81\n    hostPort: 1\n".to_owned(),
            6 => "volumes:\n- name: a\n  emptyDir: {}\n  configMap: null\n".to_owned(),
            7 => "volumes:\n- name: z\n  emptyDir:\n    medium: null\n".to_owned(),
            8 => "containers:\n- name: main\n  env:\n  - name: A\n    $patch: delete\n  volumeMounts:\n  - mountPath: /a\n    readOnly: true\n".to_owned(),
            9 => "initContainers: null\n".to_owned(),
            10 => "imagePullSecrets:\n- name: web\ntolerations:\n- key: x\n".to_owned(),
            11 => "containers:\n- name: main\n  $patch: replace\n  image: replaced\n".to_owned(),
            _ => format!("containers:\n- name: main\n  args: [\"{choice}\"]\n  command:\n"),
        }
    }

    fn json_patch(&mut self) -> String {
        let mut operations = String::new();
        for _ in 0..self.random.usize(1..3) {
            operations.push_str(self.pick(&[
                "- op: add\n  path: /metadata/annotations/added\n  value: \"1\"\n",
                "- op: replace\n  path: /metadata/name\n  value: renamed\n",
                "- op: add\n  path: /metadata/labels\n  value: {app: web}\n",
                "- op: add\n  path: /spec/extra\n  value: {n: 1, f: 1.5, big: 12345678901234567, t: \"yes\", l: [1, a]}\n",
                "- op: add\n  path: /metadata/labels\n  value: {}\n",
                "- op: test\n  path: /metadata/x\n  value: null\n",
                "- op: copy\n  from: /metadata/name\n  path: /metadata/annotations/copy\n",
                "- op: add\n  path: /spec/template/spec/containers/-\n  value: {name: last, image: last}\n",
                "- op: add\n  path: /data\n  value: {k: \"9\"}\n",
            ]));
        }
        operations
    }

    fn merge_patches(&mut self, folder: &str, out: &mut String) {
        let target = self.target();
        let patch = self.merge_patch(&target);
        if self.one_in(2) {
            out.push_str(&format!("patchesStrategicMerge:\n- |-\n{}", indented(&patch, 2)));
        } else {
            out.push_str("patchesStrategicMerge: [merge.yaml]\n");
            self.files.insert(format!("{folder}/merge.yaml"), patch);
        }
    }

    fn json_patches(&mut self, _: &str, out: &mut String) {
        let (_, kind, name) = self.target();
        let patch = indented(&self.json_patch(), 4);
        out.push_str(&format!(
            "patchesJson6902:\n- target:\n    version: v1\n    kind: {kind}\n    name: {name}\n  patch: |-\n{patch}"
        ));
    }

    fn replacements(&mut self, _: &str, out: &mut String) {
        let (_, kind, name) = self.target();
        let (_, target, _) = self.target();
        let source = match self.random.u32(0..8) {
            0 => "metadata.namespace",
            1 => "metadata.labels",
            2 => "spec.template",
            3 | 4 => "kind",
            _ => "metadata.name",
        };
        let path = self.pick(&[
            "metadata.annotations.copied",
            "metadata.labels.app",
            "spec.template.spec.containers.[name=main].image",
            "spec.template.spec.containers.*.env.[name=A].value",
            "spec.template.spec.containers.0.name",
            "metadata.name",
            "spec.values.v0",
            "spec.extra.deep",
        ]);
        out.push_str(&format!(
            "replacements:\n- source:\n    kind: {kind}\n    name: {name}\n    fieldPath: {source}\n"
        ));
        if self.one_in(4) {
            out.push_str("    options:\n      delimiter: \"-\"\n");
        }
        out.push_str(&format!(
            "  targets:\n  - select:\n      kind: {target}\n    fieldPaths: [\"{path}\"]\n"
        ));
        match self.random.u32(0..6) {
            0 | 4 | 5 => out.push_str("    options:\n      create: true\n"),
            1 => out.push_str("    options:\n      delimiter: \":\"\n      index: 1\n"),
            2 => out.push_str("    reject:\n    - name: db\n    options:\n      create: true\n"),
            _ => {}
        }
    }

    fn vars(&mut self, folder: &str, out: &mut String) {
        let (api_version, kind, name) = self.target();
        let var = if self.one_in(2) {
            "NAME".to_owned()
        } else {
            folder.to_uppercase()
        };
        out.push_str(&format!(
            "vars:\n- name: {var}\n  objref:\n    apiVersion: {api_version}\n    kind: {kind}\n    name: {name}\n"
        ));
        if self.one_in(2) {
            let path = self.pick(&["metadata.name", "metadata.namespace", "spec.replicas", "kind"]);
            out.push_str(&format!("  fieldref:\n    fieldpath: {path}\n"));
        }
    }

    fn configurations(&mut self, folder: &str, out: &mut String) {
        out.push_str("configurations: [config.yaml]\n");
        let text = self.pick(&[
            "nameReference:\n- kind: ConfigMap\n  fieldSpecs:\n  - path: spec/values/v0\n    kind: Widget\n",
            "varReference:\n- path: spec/text\n  kind: Widget\n- path: spec/values/v1\n  kind: Widget\n",
            "namePrefix:\n- path: metadata/name\n  kind: Widget\n",
            "commonLabels:\n- path: spec/labels\n  create: true\n  kind: Widget\n",
            "images:\n- path: spec/values/v0\n  kind: Widget\n",
            "namespace:\n- path: spec/values/v0\n  kind: Widget\n  create: true\n",
        ]);
        self.files
            .insert(format!("{folder}/config.yaml"), text.to_owned());
    }

    fn transformers(&mut self, _: &str, out: &mut String) {
        let config = self.pick(&[
            "apiVersion: builtin\nkind: PrefixTransformer\nmetadata:\n  name: p\nprefix: t-\nfieldSpecs:\n- path: metadata/name\n",
            "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: n\n  namespace: team\nunsetOnly: true\n",
            "apiVersion: builtin\nkind: LabelTransformer\nmetadata:\n  name: l\nlabels:\n  from: transformer\nfieldSpecs:\n- path: metadata/labels\n  create: true\n",
            "apiVersion: builtin\nkind: ValueAddTransformer\nmetadata:\n  name: v\nvalue: added\ntargets:\n- fieldPath: metadata/annotations/value\n",
            "apiVersion: builtin\nkind: ImageTagTransformer\nmetadata:\n  name: i\nimageTag:\n  name: nginx\n  newTag: t\n",
            "apiVersion: builtin\nkind: SuffixTransformer\nmetadata:\n  name: s\nsuffix: -t\nfieldSpecs:\n- path: metadata/name\n  kind: Service\n",
            "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata:\n  name: a\nannotations:\n  note: other\nfieldSpecs:\n- path: metadata/annotations\n  create: true\n",
            "apiVersion: builtin\nkind: ReplicaCountTransformer\nmetadata:\n  name: r\nreplica:\n  name: web\n  count: 7\nfieldSpecs:\n- path: spec/replicas\n  create: true\n  kind: Deployment\n",
            "apiVersion: builtin\nkind: PatchTransformer\nmetadata:\n  name: p\npatch: '[{\"op\": \"add\", \"path\": \"/metadata/patched\", \"value\": 1}]'\ntarget:\n  kind: Service|Pod\n",
            "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata:\n  name: r\nreplacements:\n- source:\n    kind: ConfigMap\n    fieldPath: metadata.name\n  targets:\n  - select:\n      kind: Pod\n    fieldPaths: [metadata.annotations.map]\n    options:\n      create: true\n",
            "apiVersion: builtin\nkind: HashTransformer\nmetadata:\n  name: h\n",
        ]);
        out.push_str(&format!("transformers:\n- |-\n{}", indented(config, 2)));
    }

    fn generators(&mut self, _: &str, out: &mut String) {
        let config = self.pick(&[
            "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata:\n  name: made\nliterals:\n- k=v\n- n=1\n",
            "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata:\n  name: web\nbehavior: merge\nliterals:\n- k=merged\n",
            "apiVersion: builtin\nkind: SecretGenerator\nmetadata:\n  name: made\n  namespace: team\ntype: Opaque\nliterals:\n- k=v\n",
            "apiVersion: builtin\nkind: SecretGenerator\nmetadata:\n  name: made\nliterals: [k=v]\noptions:\n  disableNameSuffixHash: true\n",
        ]);
        out.push_str(&format!("generators:\n- |-\n{}", indented(config, 2)));
    }

    fn validators(&mut self, _: &str, out: &mut String) {
        let config = self.pick(&[
            "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: n\n  namespace: team\n",
            "apiVersion: builtin\nkind: HashTransformer\nmetadata:\n  name: h\n",
            "apiVersion: builtin\nkind: LabelTransformer\nmetadata:\n  name: l\nlabels:\n  app: web\nfieldSpecs:\n- path: metadata/labels\n",
        ]);
        // What changes something is no validator, so most of these fail.
        if self.one_in(3) {
            out.push_str(&format!("validators:\n- |-\n{}", indented(config, 2)));
        }
    }

    fn top_fields(&mut self, _: &str, out: &mut String) {
        out.push_str(self.pick(&[
            "sortOptions:\n  order: fifo\n",
            "sortOptions:\n  order: legacy\n  legacySortOptions:\n    orderFirst: [Service, Widget]\n    orderLast: [Namespace]\n",
            "buildMetadata: [originAnnotations]\n",
            "buildMetadata: [transformerAnnotations, originAnnotations]\n",
        ]));
    }
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}
