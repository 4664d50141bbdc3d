//! Imported images in real sandboxes, on overlayfs and copied.

use std::{fs, path::Path, time::Duration};

use containers::{
    client::{self, Sandbox},
    spec::{self, Bind, Container, Log, Mount, Root},
    tier,
};
use tar::EntryType;
use this_program::Program;

use crate::made::{Layer, Made, Place};

const PATIENCE: Duration = Duration::from_mins(2);

/// The host's programs: the image has none.
fn programs() -> Vec<Mount> {
    let bind = |path: &str| {
        Mount::Bind(Bind {
            source: path.into(),
            target: path.into(),
            read_only: true,
        })
    };
    ["/bin", "/lib", "/lib64", "/usr"].map(bind).to_vec()
}

/// Two layers: the upper one replaces, removes and empties what the lower one has.
fn image() -> Made {
    let base = Layer::new()
        .folder("bin", 0o755)
        .folder("lib", 0o755)
        .folder("lib64", 0o755)
        .folder("usr", 0o755)
        .file("etc/removed", "x")
        .file("etc/replaced", "old")
        .file("data/one", "x")
        .file("data/two/three", "x")
        .file_with("root-only", b"x", |header| header.set_mode(0));
    let top = Layer::new()
        .file("etc/.wh.removed", "")
        .file("etc/replaced", "new")
        .file("etc/passwd", "ada:x:0:0::/home:/bin/sh\n")
        .entry(EntryType::Regular, "data/.wh..wh..opq", "", |_| {})
        .file("data/four", "x");
    let mut made = Made::new(vec![base, top]);
    made.config["config"]["Entrypoint"] = serde_json::json!(["/bin/sh", "-c"]);
    made.config["config"]["User"] = "ada".into();
    made
}

const SCRIPT: &str = "cd /; ls etc; cat etc/replaced; echo; ls data; cat root-only; echo; \
                      rm -r data; ls; echo changed > etc/replaced; cat etc/replaced";

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_image_runs() {
    let place = Place::new();
    let image = place.import(&image(), "box").unwrap();
    let user = image.user().unwrap();
    assert_eq!((user.uid, user.home.as_deref()), (0, Some("/home")));
    let tier = tier::decide(&tier::probe()).tier;
    tier::probe_overlay(place.folder.path(), tier).unwrap();
    for has_overlay in [true, false] {
        let folder = place.path(&format!("pod-{has_overlay}"));
        let id = format!("image-{}-{has_overlay}", std::process::id());
        let spec = spec::Sandbox::new(id, tier);
        let sandbox = Sandbox::start(&Program::at(binary()), &folder, &spec)
            .await
            .unwrap();
        let container = Container {
            name: "main".to_owned(),
            root: Root::image(image.layers.clone(), &folder.join("container"), has_overlay),
            argv: images::argv(&[], &[SCRIPT.to_owned()], &image.config),
            env: vec![("PATH".to_owned(), "/bin:/usr/bin".to_owned())],
            mounts: programs(),
            log: Some(Log::at(folder.join("log"))),
            ..Container::default()
        };
        sandbox.start_container(&container).await.unwrap();
        let mut states = sandbox.states().await.unwrap();
        let is_over = |state: &containers::state::State| {
            let main = state.containers.get("main");
            main.is_some_and(|main| !main.is_running())
        };
        tokio::time::timeout(PATIENCE, states.until(is_over))
            .await
            .unwrap()
            .unwrap();
        let text = log(&folder.join("log"));
        let (first, rest) = text.split_at(text.find("four").unwrap());
        assert!(first.starts_with("passwd\nreplaced\nnew\n"), "{text}");
        assert!(
            rest.starts_with("four\nx\nbin\ndev\netc\nlib\nlib64\nproc\nroot-only\nsys\nusr\nchanged\n"),
            "{text}"
        );
        client::bury(&folder).await.unwrap();
        // Nothing of it reached the layers.
        assert_eq!(
            fs::read_to_string(image.layers[0].join("etc/replaced")).unwrap(),
            "new"
        );
    }
}

fn binary() -> std::path::PathBuf {
    let tests = std::env::current_exe().unwrap();
    let binary = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/image_sandbox");
    assert!(
        binary.exists(),
        "`{}` is missing: cargo build -p images --examples",
        binary.display()
    );
    binary
}

/// A log without times, streams and tags.
fn log(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
    lines.map(|line| format!("{line}\n")).collect()
}
