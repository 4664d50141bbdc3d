//! Query parameters, read as the real server reads them: unknown ones are ignored, the first value of
//! a repeated one counts, and an unreadable number or truth value is the client's mistake.

use crate::error::{ApiError, Result};

/// The decoded pairs of a query string, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let Some(query) = query else {
            return Self::default();
        };
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .filter(|(key, _)| !key.is_empty())
                .collect(),
        )
    }

    /// A query of one parameter, as controllers in this process make it.
    pub(crate) fn of(name: &str, value: &str) -> Self {
        Self(vec![(name.to_owned(), value.to_owned())])
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value of a parameter; an empty one counts as missing.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// A truth value: anything but `false`, `0` and nothing is true, as in the real server.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or_default()
    }

    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| !matches!(value, "" | "0") && !value.eq_ignore_ascii_case("false"))
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            ApiError::bad_request(format!("strconv.ParseInt: parsing \"{value}\": invalid syntax"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_quirks_are_read() {
        let query = Query::parse(Some("&limit=500&watch=1&labelSelector=a%3Db&continue="));
        assert_eq!(query.int("limit").unwrap(), Some(500));
        assert!(query.flag("watch"));
        assert_eq!(query.get("labelSelector"), Some("a=b"));
        assert_eq!(query.text("continue"), None);
        assert!(query.int("labelSelector").is_err());
    }
}
