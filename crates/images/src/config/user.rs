//! Who an image's processes are: `USER` looked up in the image's own `/etc/passwd` and `/etc/group`.

/// A user of an image, as numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    /// Groups the image's `/etc/group` puts the user into.
    pub additional_gids: Vec<u32>,
    /// From `/etc/passwd`, if the user is in it.
    pub home: Option<String>,
}

/// Why there is no such user. The messages are what containerd says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    #[error("no users found: user {0:?} is not in the image's /etc/passwd")]
    NoUser(String),
    #[error("no groups found: group {0:?} is not in the image's /etc/group")]
    NoGroup(String),
    #[error("user {0:?} is out of range")]
    Range(String),
}

/// The texts of an image's `/etc/passwd` and `/etc/group`; empty if it has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserFiles<'a> {
    pub passwd: &'a str,
    pub group: &'a str,
}

struct Account<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
    home: &'a str,
}

impl UserFiles<'_> {
    /// The user `USER` names: nothing (root), `name`, `uid`, `name:group` and so on. A number needs no
    /// entry; its group is then 0. A group that is given is the only one.
    pub fn find(&self, user: &str) -> Result<User, UserError> {
        let (user, group) = match user.split_once(':') {
            Some((user, group)) => (user, (!group.is_empty()).then_some(group)),
            None => (user, None),
        };
        let mut found = self.find_user(if user.is_empty() { "0" } else { user })?;
        if let Some(group) = group {
            found.gid = self.find_group(group)?;
            found.additional_gids.clear();
        }
        Ok(found)
    }

    /// The user with this number, for a pod that names one.
    pub fn of_uid(&self, uid: u32) -> User {
        match self.accounts().find(|account| account.uid == uid) {
            Some(account) => self.user(&account),
            None => User {
                uid,
                ..User::default()
            },
        }
    }

    fn find_user(&self, user: &str) -> Result<User, UserError> {
        // A name made of digits is a name first, as in every other runtime.
        if let Some(account) = self.accounts().find(|account| account.name == user) {
            return Ok(self.user(&account));
        }
        number(user, UserError::NoUser).map(|uid| self.of_uid(uid))
    }

    fn find_group(&self, group: &str) -> Result<u32, UserError> {
        let named = self.groups().find(|(name, ..)| *name == group);
        named.map_or_else(|| number(group, UserError::NoGroup), |(_, gid, _)| Ok(gid))
    }

    fn user(&self, account: &Account<'_>) -> User {
        let mut additional_gids: Vec<u32> = self
            .groups()
            .filter(|(_, gid, members)| {
                *gid != account.gid && members.split(',').any(|member| member == account.name)
            })
            .map(|(_, gid, _)| gid)
            .collect();
        additional_gids.sort_unstable();
        additional_gids.dedup();
        User {
            uid: account.uid,
            gid: account.gid,
            additional_gids,
            home: (!account.home.is_empty()).then(|| account.home.to_owned()),
        }
    }

    fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.passwd.lines().filter_map(|line| {
            let mut fields = line.trim().split(':');
            Some(Account {
                name: fields.next()?,
                uid: fields.nth(1)?.parse().ok()?,
                gid: fields.next()?.parse().ok()?,
                home: fields.nth(1).unwrap_or_default(),
            })
        })
    }

    fn groups(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        self.group.lines().filter_map(|line| {
            let mut fields = line.trim().split(':');
            let (name, gid) = (fields.next()?, fields.nth(1)?.parse().ok()?);
            Some((name, gid, fields.next().unwrap_or_default()))
        })
    }
}

fn number(text: &str, absent: fn(String) -> UserError) -> Result<u32, UserError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(absent(text.to_owned()));
    }
    // The kernel's own limit: the last number means nobody.
    match text.parse::<u32>() {
        Ok(number) if number < u32::MAX => Ok(number),
        _ => Err(UserError::Range(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: UserFiles<'static> = UserFiles {
        passwd: "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1001:Ada:/home/ada:/bin/sh\nbroken line\n77:x:5:6::/:\n",
        group: "root:x:0:\nadas:x:1001:ada\ngpu:x:44:bob,ada\nwheel:x:10:root,ada\n",
    };

    fn find(user: &str) -> (u32, u32, Vec<u32>) {
        let user = FILES.find(user).unwrap();
        (user.uid, user.gid, user.additional_gids)
    }

    #[test]
    fn names_have_their_groups() {
        assert_eq!(find(""), (0, 0, vec![10]));
        assert_eq!(find("ada"), (1000, 1001, vec![10, 44]));
        assert_eq!(FILES.find("ada").unwrap().home.as_deref(), Some("/home/ada"));
    }

    #[test]
    fn a_number_is_looked_up_but_needs_no_entry() {
        assert_eq!(find("1000"), (1000, 1001, vec![10, 44]));
        assert_eq!(find("4242"), (4242, 0, vec![]));
        assert_eq!(find("77"), (5, 6, vec![]));
    }

    #[test]
    fn a_given_group_is_the_only_one() {
        assert_eq!(find("ada:gpu"), (1000, 44, vec![]));
        assert_eq!(find("7:8"), (7, 8, vec![]));
        assert_eq!(find("ada:"), (1000, 1001, vec![10, 44]));
    }

    #[test]
    fn who_is_not_there_is_named() {
        assert_eq!(FILES.find("eve"), Err(UserError::NoUser("eve".into())));
        assert_eq!(FILES.find("ada:club"), Err(UserError::NoGroup("club".into())));
        assert_eq!(
            FILES.find("99999999999"),
            Err(UserError::Range("99999999999".into()))
        );
    }
}
