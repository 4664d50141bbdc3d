//! Figures, not judgements: run with `--ignored --nocapture` on a quiet machine.

use std::{net::Ipv4Addr, time::Instant};

use network::{Namespace, Protocol};

use crate::world::{World, each_tier, endpoint, port, service, table};

#[test]
#[ignore = "measures"]
fn how_long_a_pod_takes_to_attach() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let pods: Vec<_> = (0..40).map(|_| world.unattached_pod()).collect();
        let mut times = Vec::new();
        for (number, pod) in pods.iter().enumerate() {
            let started = Instant::now();
            let namespace = Namespace::OfProcess(pod.child.id());
            world
                .network
                .attach(&format!("pod-{number}"), namespace)
                .await
                .unwrap();
            times.push(started.elapsed());
        }
        times.sort();
        let mut gone = Vec::new();
        for number in 0..pods.len() {
            let started = Instant::now();
            world.network.detach(&format!("pod-{number}")).await.unwrap();
            gone.push(started.elapsed());
        }
        gone.sort();
        println!(
            "{tier:?}: attach median {:?} worst {:?}, detach median {:?}",
            times[20], times[39], gone[20]
        );
        world.stop().await;
    });
}

#[test]
#[ignore = "measures"]
fn how_much_goes_through() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let mut server = world.pod("server").await;
        server.run("sink 8080");
        let endpoints = vec![endpoint(server.address, true, 8080)];
        let address = Ipv4Addr::new(10, 96, 0, 10);
        world
            .set(table(
                1,
                vec![service("web", address, vec![port(Protocol::Tcp, 80)], endpoints)],
            ))
            .await;
        for _ in 0..3 {
            let alone = server.run("push 127.0.0.1:8080 500");
            let direct = client.run(&format!("push {}:8080 500", server.address));
            let relayed = client.run("push 10.96.0.10:80 500");
            println!("{tier:?}: in one pod {alone}, pod to pod {direct}, through a service {relayed}");
        }
        world.stop().await;
    });
}
