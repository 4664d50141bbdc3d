//! What lies outside a package is neither read nor written, and files are replaced whole.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use crate::{DEPLOYMENT, KRMFILE, Workbench};

#[test]
fn a_link_that_leads_out_of_a_package_is_refused() {
    let bench = Workbench::new(&[
        ("package/Krmfile", KRMFILE),
        ("package/deployment.yaml", DEPLOYMENT),
        ("secret.yaml", DEPLOYMENT),
    ]);
    symlink("../secret.yaml", bench.path("package/link.yaml")).unwrap();
    let before = bench.files();
    for line in [
        "set package replicas 5",
        "list-setters package",
        "grep kind=Deployment package",
        "fmt package",
    ] {
        let output = bench.pkg(line);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{line}");
        assert!(
            output.stderr.contains("is not in or below"),
            "{line}: {}",
            output.stderr
        );
        assert_eq!(bench.files(), before, "{line}");
    }
}

#[test]
fn through_a_link_in_a_package_its_file_is_changed() {
    let bench = Workbench::new(&[("Krmfile", KRMFILE), ("texts/deployment.txt", DEPLOYMENT)]);
    symlink("texts/deployment.txt", bench.path("deployment.yaml")).unwrap();
    bench.pkg("set . replicas 5").success();
    assert!(bench.read("texts/deployment.txt").contains("replicas: 5 "));
    assert!(bench.path("deployment.yaml").is_symlink());
}

#[test]
fn folders_that_are_linked_are_no_part_of_a_package() {
    let bench = Workbench::new(&[
        ("package/Krmfile", KRMFILE),
        ("package/deployment.yaml", DEPLOYMENT),
        ("other/deployment.yaml", DEPLOYMENT),
    ]);
    symlink("../other", bench.path("package/other")).unwrap();
    let set = bench.pkg("set package replicas 5");
    assert_eq!(set.success(), "package/\nset 1 field(s)\n");
    assert_eq!(bench.read("other/deployment.yaml"), DEPLOYMENT);
}

#[test]
fn the_mode_of_a_file_is_kept_and_nothing_is_left_beside_it() {
    let bench = Workbench::new(&[("Krmfile", KRMFILE), ("deployment.yaml", DEPLOYMENT)]);
    let path = bench.path("deployment.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before: Vec<_> = bench.files().into_keys().collect();
    bench.pkg("set . replicas 5").success();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(bench.files().into_keys().collect::<Vec<_>>(), before);
}

#[test]
fn of_several_packages_all_are_changed_or_none() {
    let unordered = "kind: A\napiVersion: v1\nmetadata: {name: a}\n";
    let bench = Workbench::new(&[("one/a.yaml", unordered), ("two/b.yaml", "kind: [\n")]);
    let before = bench.files();
    let output = bench.pkg("fmt one two");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("two/b.yaml:"), "{}", output.stderr);
    assert_eq!(bench.files(), before);
    bench.pkg("fmt one").success();
    assert!(bench.read("one/a.yaml").starts_with("apiVersion: v1\nkind: A\n"));
}
