//! A client-go program of our own, built against the release the server is compatible with and
//! against a newer one, whose informers stream their lists.

#![expect(clippy::print_stdout, reason = "tests tell what they ran with")]

use std::path::Path;

use client_tests::{Release, Server, Shell, check, client_go_program, needed};

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                scenario(stringify!($name));
            }
        )*
    };
}

scenarios! {
    discovery
    dynamic_informer
    events
    leader_election
    metadata_informer
    typed_informer
    writes
}

/// A scenario must print the same whichever client-go it was built with.
#[track_caller]
fn scenario(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/client_go")
        .join(format!("{name}.session"));
    for release in Release::ALL {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let Some(program) = needed(client_go_program(release, folder)) else {
            return;
        };
        println!("with {}", program.display());
        let server = Server::start();
        check(&Shell::new(&server, &[("program", &program)]), &file);
    }
}
