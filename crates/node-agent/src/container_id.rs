//! What one run of a container is called in a pod's status. Pure.

const SCHEME: &str = "trainyard://";

pub(crate) fn of_run(uid: &str, container: &str, attempt: u32) -> String {
    format!("{SCHEME}{uid}-{container}-{attempt}")
}

/// Which run is meant.
pub(crate) fn attempt(id: &str) -> Option<u32> {
    let (_, attempt) = id.strip_prefix(SCHEME)?.rsplit_once('-')?;
    attempt.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_what_it_is_called() {
        assert_eq!(attempt(&of_run("0a-1b", "main-2", 12)), Some(12));
        assert_eq!(attempt("containerd://0a-1b"), None);
    }
}
