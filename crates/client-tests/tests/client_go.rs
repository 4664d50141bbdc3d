//! A client-go program of our own, built against the release the server is compatible with and
//! against a newer one, whose informers stream their lists.

#![expect(clippy::print_stdout, reason = "tests tell what they ran with")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use client_tests::{Server, Shell, Tool, check, go, needed, run};

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
    let Some(programs) = needed(programs()) else {
        return;
    };
    for program in programs {
        println!("with {}", program.display());
        let server = Server::start();
        check(&Shell::new(&server, &[("program", program)]), &file);
    }
}

/// The program, once for each client-go.
fn programs() -> Result<&'static [PathBuf], String> {
    static PROGRAMS: OnceLock<Result<Vec<PathBuf>, String>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| ["go.mod", "go-0.36.mod"].map(build).into_iter().collect());
    programs.as_deref().map_err(Clone::clone)
}

fn build(modules: &str) -> Tool {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(modules.replace(".mod", "-program"));
    let mut command = Command::new(go()?);
    command
        .args(["build", "-buildvcs=false", "-modfile", modules, "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("go"));
    let output = run(&mut command, "");
    if output.code == 0 {
        Ok(program)
    } else {
        Err(format!("the client-go program does not build: {}", output.stderr))
    }
}
