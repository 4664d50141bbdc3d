//! The process's life: one a folder, longer than its starter's, and nothing left behind.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::Ipv4Addr,
    process::{Command, Stdio},
};

use network::{Error, Network, Options, Protocol};
use this_program::Program;

use crate::world::{World, each_tier, endpoint, port, service, table};

#[test]
fn a_second_process_is_refused() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let refused = Network::start(&Program::at(&world.binary), &world.folder, &Options::default()).await;
        let Err(Error::Died { last_words, .. }) = refused else {
            panic!("two processes serve one folder")
        };
        assert!(
            last_words.contains("another process serves this folder"),
            "{last_words}"
        );
        assert_eq!(
            Network::adopt(&world.folder).await.unwrap().description().pid,
            world.network.description().pid
        );
        world.stop().await;
    });
}

#[test]
fn everything_goes_on_when_the_starter_is_gone() {
    each_tier(async |tier| {
        let world = World::unstarted(tier);
        // A starter that is killed as soon as the process answers.
        let mut starter = Command::new(&world.binary)
            .args([
                "start",
                world.binary.to_str().unwrap(),
                world.folder.to_str().unwrap(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(starter.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "started\n");
        starter.kill().unwrap();
        starter.wait().unwrap();

        let world = world.adopt().await;
        let mut client = world.pod("client").await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        let endpoints = vec![endpoint(server.address, true, 8080)];
        let address = Ipv4Addr::new(10, 96, 0, 10);
        world
            .set(table(
                1,
                vec![service("web", address, vec![port(Protocol::Tcp, 80)], endpoints)],
            ))
            .await;
        assert_eq!(
            client.run("ask tcp 10.96.0.10:80"),
            format!("server {}", client.address)
        );
        world.stop().await;
    });
}

#[test]
fn nothing_is_left_after_the_end() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        assert!(pod.run("devices").contains("eth0"));
        let (folder, keep) = (world.folder.clone(), world.keep_folder());
        world.stop().await;
        assert_eq!(pod.run("devices"), "lo");
        for name in ["network.sock", "state.json"] {
            assert!(!folder.join(name).exists(), "{name}");
        }
        assert!(matches!(Network::adopt(&folder).await, Err(Error::Absent { .. })));
        drop(keep);
    });
}

#[test]
fn a_process_that_was_killed_is_followed_by_one_with_the_same_addresses() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let first = world.pod("first").await;
        let second = world.pod("second").await;
        world.network.detach("first").await.unwrap();
        let pid = world.network.description().pid;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::SIGKILL).unwrap();
        while fs::exists(format!("/proc/{pid}/ns/net")).unwrap_or(false)
            || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        let (binary, folder) = (world.binary.clone(), world.folder.clone());
        let network = Network::start(&Program::at(binary), &folder, &Options::default())
            .await
            .unwrap();
        let again = world.with_network(network);
        assert_eq!(again.pod("second").await.address, second.address);
        assert_ne!(again.pod("third").await.address, first.address);
        again.stop().await;
    });
}
