//! The packages that are built, the same in every run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(super) struct Input {
    /// Its measures are `NAME_time` and `NAME_memory`.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Writes it into a folder and says which one to build.
    pub(super) write: fn(&Path) -> io::Result<PathBuf>,
}

pub(super) const INPUTS: &[Input] = &[
    Input {
        name: "small",
        title: "small package",
        write: small,
    },
    Input {
        name: "tree",
        title: "1,000 resources in 10 bases",
        write: tree,
    },
    Input {
        name: "overlays",
        title: "200 overlays of a base",
        write: overlays,
    },
    Input {
        name: "patches",
        title: "10,000 lines of patches",
        write: patches,
    },
];

/// An application as its author has it, and as one team does.
fn small(folder: &Path) -> io::Result<PathBuf> {
    write_base(folder)?;
    let top = folder.join("top");
    write(
        &top.join("kustomization.yaml"),
        &(overlay(&["../base"]) + "patches:\n" + &replicas("app")),
    )?;
    Ok(top)
}

fn write_base(folder: &Path) -> io::Result<()> {
    let objects = format!("{}---\n{}", deployment("app", "settings", 1), service("app"));
    write(&folder.join("base/app.yaml"), &objects)?;
    write(
        &folder.join("base/kustomization.yaml"),
        "resources:\n- app.yaml\nconfigMapGenerator:\n- name: settings\n  literals:\n  - level=info\n",
    )
}

/// 500 Deployments with their Services under one overlay; each tenth is patched, all refer to generated settings.
fn tree(folder: &Path) -> io::Result<PathBuf> {
    const BASES: usize = 10;
    const APPS_A_BASE: usize = 50;
    const SETTINGS_A_BASE: usize = 5;
    let mut bases = Vec::new();
    let mut changes = String::from("patches:\n");
    for base in 0..BASES {
        let place = folder.join(format!("base-{base}"));
        let mut kustomization = String::from("resources:\n");
        for app in 0..APPS_A_BASE {
            let name = format!("app-{base}-{app}");
            let settings = format!("settings-{base}-{}", app % SETTINGS_A_BASE);
            let objects = format!("{}---\n{}", deployment(&name, &settings, 2), service(&name));
            write(&place.join(format!("{name}.yaml")), &objects)?;
            kustomization.push_str(&format!("- {name}.yaml\n"));
            if app % 10 == 0 {
                changes.push_str(&replicas(&name));
            }
        }
        kustomization.push_str("configMapGenerator:\n");
        for settings in 0..SETTINGS_A_BASE {
            kustomization.push_str(&format!(
                "- name: settings-{base}-{settings}\n  literals:\n  - level=info\n"
            ));
        }
        write(&place.join("kustomization.yaml"), &kustomization)?;
        bases.push(format!("../base-{base}"));
    }
    let bases: Vec<&str> = bases.iter().map(String::as_str).collect();
    let top = folder.join("top");
    write(&top.join("kustomization.yaml"), &(overlay(&bases) + &changes))?;
    Ok(top)
}

/// One base, 10 groups of 20 overlays that each name and change it, and what puts all together.
fn overlays(folder: &Path) -> io::Result<PathBuf> {
    const GROUPS: usize = 10;
    const OVERLAYS_A_GROUP: usize = 20;
    write_base(folder)?;
    let mut everything = String::from("resources:\n");
    for group in 0..GROUPS {
        let mut members = String::from("resources:\n");
        for overlay in 0..OVERLAYS_A_GROUP {
            let text = format!(
                "resources:\n- ../../base\nnamespace: team-{group}\nnameSuffix: -m{overlay}\nlabels:\n- pairs:\n    \
                 member: m{overlay}\n  includeSelectors: true\nimages:\n- name: trainer\n  newTag: \"{overlay}\"\npatches:\n{}",
                replicas("app")
            );
            let place = folder.join(format!("group-{group}/member-{overlay}/kustomization.yaml"));
            write(&place, &text)?;
            members.push_str(&format!("- member-{overlay}\n"));
        }
        members.push_str(&format!("namePrefix: g{group}-\n"));
        write(
            &folder.join(format!("group-{group}/kustomization.yaml")),
            &members,
        )?;
        everything.push_str(&format!("- ../group-{group}\n"));
    }
    let top = folder.join("top");
    write(&top.join("kustomization.yaml"), &everything)?;
    Ok(top)
}

/// 10 Deployments with 400 variables in the environment, each patched by a file of 1,000 lines that changes half of
/// them and adds others.
fn patches(folder: &Path) -> io::Result<PathBuf> {
    const APPS: usize = 10;
    const VARIABLES: usize = 400;
    const LINES: usize = 1000;
    let mut kustomization = String::from("resources:\n- apps.yaml\npatches:\n");
    let mut apps = Vec::new();
    for app in 0..APPS {
        let name = format!("app-{app}");
        apps.push(deployment(&name, "settings", VARIABLES));
        let mut patch = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  template:\n    spec:\n      \
             containers:\n      - name: main\n        env:\n"
        );
        let variables = (LINES - patch.lines().count()) / 2;
        for variable in 0..variables {
            let number = variable + VARIABLES / 2;
            patch.push_str(&format!(
                "        - name: VARIABLE_{number}\n          value: changed\n"
            ));
        }
        write(&folder.join(format!("top/patch-{app}.yaml")), &patch)?;
        kustomization.push_str(&format!("- path: patch-{app}.yaml\n"));
    }
    let top = folder.join("top");
    write(&top.join("apps.yaml"), &apps.join("---\n"))?;
    write(&top.join("kustomization.yaml"), &kustomization)?;
    Ok(top)
}

fn overlay(bases: &[&str]) -> String {
    let resources: String = bases.iter().map(|base| format!("- {base}\n")).collect();
    format!(
        "resources:\n{resources}namespace: team\nnamePrefix: p-\nlabels:\n- pairs:\n    team: x\n  includeSelectors: true\n\
         images:\n- name: trainer\n  newTag: \"2\"\n"
    )
}

/// An entry of `patches`.
fn replicas(deployment: &str) -> String {
    format!(
        "- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: {deployment}\n    spec:\n      \
         replicas: 3\n"
    )
}

fn deployment(name: &str, settings: &str, variables: usize) -> String {
    let environment: String = (0..variables)
        .map(|number| format!("        - name: VARIABLE_{number}\n          value: v{number}\n"))
        .collect();
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: 1\n  selector:\n    \
         matchLabels:\n      app: {name}\n  template:\n    metadata:\n      labels:\n        app: {name}\n    spec:\n      \
         volumes:\n      - name: settings\n        configMap:\n          name: {settings}\n      containers:\n      - name: main\n        \
         image: trainer:1.0\n        env:\n{environment}"
    )
}

fn service(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  selector:\n    app: {name}\n  ports:\n  - port: 80\n"
    )
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}
