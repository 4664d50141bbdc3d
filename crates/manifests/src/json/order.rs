//! The order in which strict decoding finds the faults of a document.

use std::collections::HashSet;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Place, duplicate_field, repair, unknown_field};

/// Puts unknown and duplicate fields into the order of the document they were found in. What is
/// inside of an unknown field is nobody's fault.
pub fn in_document_order(document: &[u8], faults: Vec<String>) -> Vec<String> {
    if faults.len() < 2 {
        return faults;
    }
    let text = repair::utf8(document);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    deserializer.disable_recursion_limit();
    let mut missing: HashSet<&str> = faults.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    let search = Search {
        place: Place::Root,
        missing: &mut missing,
        found: &mut found,
    };
    match search.deserialize(&mut deserializer) {
        Ok(()) => found,
        // Go reads more than we do here; then any order is better than none.
        Err(_) => faults,
    }
}

/// Looks for faults in one value.
struct Search<'p, 's, 'f> {
    place: Place<'p>,
    missing: &'s mut HashSet<&'f str>,
    found: &'s mut Vec<String>,
}

impl Search<'_, '_, '_> {
    /// Whether this is one of the faults; each is found once.
    fn find(&mut self, fault: String) -> bool {
        let is_fault = self.missing.remove(fault.as_str());
        if is_fault {
            self.found.push(fault);
        }
        is_fault
    }
}

impl<'de> DeserializeSeed<'de> for Search<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        while items
            .next_element_seed(Search {
                place: Place::Item(&self.place, index),
                missing: self.missing,
                found: self.found,
            })?
            .is_some()
        {
            index += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        let mut unknown = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let at = self.place;
            let place = Place::Field(&at, &name);
            if unknown.contains(&name) || self.find(unknown_field(place)) {
                fields.next_value::<IgnoredAny>()?;
                unknown.insert(name);
                continue;
            }
            if seen.contains(&name) {
                self.find(duplicate_field(place));
            }
            fields.next_value_seed(Search {
                place,
                missing: self.missing,
                found: self.found,
            })?;
            seen.insert(name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(document: &str, faults: &[&str], expected: &[&str]) {
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        assert_eq!(in_document_order(document.as_bytes(), faults), expected);
    }

    #[test]
    fn faults_come_as_the_document_has_them() {
        check(
            r#"{"meta":{"lables":{}},"data":{"k":1,"k":2},"dta":{},"list":[{"x":1}]}"#,
            &[
                r#"unknown field "dta""#,
                r#"unknown field "list[0].x""#,
                r#"unknown field "meta.lables""#,
                r#"duplicate field "data.k""#,
            ],
            &[
                r#"unknown field "meta.lables""#,
                r#"duplicate field "data.k""#,
                r#"unknown field "dta""#,
                r#"unknown field "list[0].x""#,
            ],
        );
    }

    #[test]
    fn nobody_looks_into_what_is_unknown() {
        check(
            r#"{"a":{"b":1,"b":2},"a":3,"c":1,"c":2}"#,
            &[
                r#"duplicate field "a.b""#,
                r#"duplicate field "a""#,
                r#"duplicate field "c""#,
                r#"unknown field "a""#,
            ],
            &[r#"unknown field "a""#, r#"duplicate field "c""#],
        );
    }
}
