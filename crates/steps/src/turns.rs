//! Containers of a set begin one after the other: each leaves its code where the others look.

use std::{fs, io, path::PathBuf, time::Duration};

use tokio::time::sleep;
use workflows::report::Order;

use crate::Broken;

const PAUSE: Duration = Duration::from_millis(50);

fn code_file(order: &Order, container: &str) -> Option<PathBuf> {
    let state = order.state.as_deref()?;
    Some(PathBuf::from(state).join("ctr").join(container).join("exitcode"))
}

/// Resolves when everything this container comes after has ended well.
pub(crate) async fn wait(order: &Order) -> Result<(), Broken> {
    for other in &order.after {
        let Some(file) = code_file(order, other) else {
            return Err(Broken::new(
                "containers that wait for each other need a volume, which plain processes do not have",
            ));
        };
        let code = loop {
            match fs::read_to_string(&file) {
                Ok(code) if !code.is_empty() => break code,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Broken(format!("cannot read {}: {error}", file.display()))),
            }
            sleep(PAUSE).await;
        };
        if code.trim() != "0" {
            return Err(Broken(format!(
                "container '{other}', which comes before this one, ended with exit code {}",
                code.trim()
            )));
        }
    }
    Ok(())
}

/// Lets the others know.
pub(crate) fn ended(order: &Order, code: i32) {
    let Some(file) = code_file(order, &order.container) else {
        return;
    };
    // Nobody may wait for it, so it is no fault where it cannot be written.
    if let Some(folder) = file.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let part = file.with_extension("part");
    let _ = fs::write(&part, code.to_string()).and_then(|()| fs::rename(&part, &file));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(folder: &std::path::Path, container: &str, after: &[&str]) -> Order {
        Order {
            state: Some(folder.display().to_string()),
            container: container.to_owned(),
            after: after.iter().map(|&name| name.to_owned()).collect(),
            ..Order::default()
        }
    }

    #[tokio::test]
    async fn a_container_begins_when_those_before_it_ended_well() {
        let folder = tempfile::tempdir().unwrap();
        ended(&order(folder.path(), "a", &[]), 0);
        wait(&order(folder.path(), "b", &["a"])).await.unwrap();
        ended(&order(folder.path(), "c", &[]), 3);
        let error = wait(&order(folder.path(), "d", &["a", "c"])).await.unwrap_err();
        assert!(error.to_string().contains("exit code 3"), "{error}");
    }
}
