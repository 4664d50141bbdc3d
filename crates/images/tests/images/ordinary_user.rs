//! Everything once more as a user without rights.

use std::process::Command;

use super::made::is_root;

#[test]
fn all_of_this_holds_for_an_ordinary_user() {
    if !is_root() {
        return;
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--",
    ]);
    command
        .arg(std::env::current_exe().unwrap())
        .args(["--test-threads=2", "--nocapture"]);
    let output = match command.current_dir("/").output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: cannot run `setpriv`: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
