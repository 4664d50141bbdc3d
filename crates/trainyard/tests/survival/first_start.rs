//! Kills the very first start at every stage of it; the next start makes the cluster whole.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Instant};

use crate::{
    client::Version,
    server::{Place, Server},
};

const STAGES: u32 = 16;

/// A server that serves what every cluster has, to whoever reads its kubeconfig.
async fn assert_whole(place: &Place, server: &Server) {
    let connection = server.client.connect(Version::Http1).await.unwrap();
    for path in [
        "/api/v1/namespaces/kube-system",
        "/api/v1/namespaces/default/services/kubernetes",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
    ] {
        connection.get(path).await.unwrap().ok();
    }
    for private in ["kubeconfig", "store.db", "pki/ca.key", "pki/admin.token"] {
        let mode = fs::metadata(place.data_dir().join(private))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{private}");
    }
}

#[tokio::test]
async fn a_first_start_that_is_killed_can_be_repeated() {
    let whole = Place::new();
    let started = Instant::now();
    assert_whole(&whole, &whole.start()).await;
    let stage = started.elapsed() / STAGES;
    for number in 0..STAGES {
        let place = Place::new();
        let mut child = place.spawn(&mut place.command());
        tokio::time::sleep(stage * number).await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_whole(&place, &place.start()).await;
    }
}

#[tokio::test]
async fn the_second_start_keeps_the_identity_of_the_first() {
    let place = Place::new();
    let read = |file: &str| fs::read_to_string(place.data_dir().join(file)).unwrap();
    place.start().kill();
    let before = ["pki/ca.crt", "pki/admin.token", "pki/service-account.key"].map(read);
    place.start().kill();
    assert_eq!(
        before,
        ["pki/ca.crt", "pki/admin.token", "pki/service-account.key"].map(read)
    );
}
