//! How much isolation this machine allows, and why not more: a decision from probed facts.

mod probe;

use serde::{Deserialize, Serialize};

pub use probe::{probe, probe_overlay};

/// How containers are kept apart, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// All namespaces, all user ids.
    Root,
    /// The same inside a user namespace.
    Rootless,
    /// Plain processes of this user on the host's file system and network.
    Process,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Rootless => "rootless",
            Self::Process => "process",
        }
    }
}

/// What was tried on this machine; `Err` says what the kernel answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub user: u32,
    /// Making mount, process, network, IPC and name namespaces as this user.
    pub namespaces: Result<(), String>,
    /// The same after making a user namespace.
    pub user_namespaces: Result<(), String>,
}

/// The tier and, for people, what stands in the way of a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub tier: Tier,
    pub reasons: Vec<String>,
}

impl Decision {
    /// The same machine, where no more than this is wanted of it.
    #[must_use]
    pub fn at_most(mut self, tier: Tier) -> Self {
        if self.tier < tier {
            self.tier = tier;
            self.reasons.push("no more was asked for".to_owned());
        }
        self
    }
}

/// The strongest tier these facts allow.
pub fn decide(facts: &Facts) -> Decision {
    let mut reasons = Vec::new();
    if facts.user != 0 {
        reasons.push(format!("not root but user {}", facts.user));
    } else if let Err(error) = &facts.namespaces {
        reasons.push(format!("root without the right to make namespaces: {error}"));
    }
    if reasons.is_empty() {
        return Decision {
            tier: Tier::Root,
            reasons,
        };
    }
    match &facts.user_namespaces {
        Ok(()) => Decision {
            tier: Tier::Rootless,
            reasons,
        },
        Err(error) => {
            reasons.push(format!("no user namespaces: {error}"));
            Decision {
                tier: Tier::Process,
                reasons,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Tier, decide};

    fn facts(user: u32, namespaces: bool, user_namespaces: bool) -> Facts {
        let fact = |allowed: bool| if allowed { Ok(()) } else { Err("EPERM".to_owned()) };
        Facts {
            user,
            namespaces: fact(namespaces),
            user_namespaces: fact(user_namespaces),
        }
    }

    #[test]
    fn root_that_may_make_namespaces_gets_the_strongest_tier() {
        let decision = decide(&facts(0, true, true));
        assert_eq!(decision.tier, Tier::Root);
        assert!(decision.reasons.is_empty());
    }

    #[test]
    fn root_in_a_container_and_other_users_go_rootless() {
        assert_eq!(decide(&facts(0, false, true)).tier, Tier::Rootless);
        assert_eq!(decide(&facts(1000, false, true)).tier, Tier::Rootless);
    }

    #[test]
    fn less_than_the_machine_allows_can_be_asked_for_but_not_more() {
        let process = decide(&facts(0, true, true)).at_most(Tier::Process);
        assert_eq!(process.tier, Tier::Process);
        assert_eq!(process.reasons, ["no more was asked for"]);
        let rootless = decide(&facts(1000, false, true)).at_most(Tier::Root);
        assert_eq!(rootless.tier, Tier::Rootless);
        assert_eq!(rootless.reasons, ["not root but user 1000"]);
    }

    #[test]
    fn without_user_namespaces_plain_processes_remain_and_both_reasons_are_given() {
        let decision = decide(&facts(1000, false, false));
        assert_eq!(decision.tier, Tier::Process);
        assert_eq!(
            decision.reasons,
            ["not root but user 1000", "no user namespaces: EPERM"]
        );
    }
}
