//! `kubectl cp`, whose other end is a `tar` in the container.

use crate::cluster::{Cluster, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_copied_both_ways() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let place = cluster.directory.path();
    std::fs::create_dir_all(place.join("from/deep")).unwrap();
    let large: Vec<u8> = (0..3_u32 << 20).map(|n| n.to_le_bytes()[1]).collect();
    std::fs::write(place.join("from/large"), &large).unwrap();
    std::fs::write(place.join("from/deep/small"), "small").unwrap();
    for transport in Transport::ALL {
        let there = place.join(format!("there-{transport:?}"));
        let back = place.join(format!("back-{transport:?}"));
        std::fs::create_dir(&there).unwrap();
        let line = format!("kubectl cp from web:{}/from", there.display());
        cluster.ok(transport, &line).await;
        assert!(
            std::fs::read(there.join("from/large")).unwrap() == large,
            "{transport:?}"
        );
        let line = format!("kubectl cp web:{}/from {}", there.display(), back.display());
        cluster.ok(transport, &line).await;
        assert!(
            std::fs::read(back.join("large")).unwrap() == large,
            "{transport:?}"
        );
        assert_eq!(std::fs::read_to_string(back.join("deep/small")).unwrap(), "small");
    }
}
