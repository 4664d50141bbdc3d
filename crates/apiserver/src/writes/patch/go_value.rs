//! JSON as Go's `%+v` shows it, which is how the real server's errors quote a strategic merge patch.

use std::fmt::Write as _;

use serde_json::Value;

pub(super) fn shown(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::String(string) => text.push_str(string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { " " });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push_str("map[");
            for (index, (name, value)) in map.iter().enumerate() {
                let _ = write!(text, "{}{name}:", if index == 0 { "" } else { " " });
                write(value, text);
            }
            text.push(']');
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_and_lists_are_shown_as_go_does() {
        let patch = json!({"spec": {"replicas": "many", "list": [1, {"a": true}], "gone": null}});
        assert_eq!(
            shown(&patch),
            "map[spec:map[gone:<nil> list:[1 map[a:true]] replicas:many]]"
        );
    }
}
