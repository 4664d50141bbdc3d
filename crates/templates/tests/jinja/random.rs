//! Values that nobody thought of, in every built-in template and in every style of YAML.

use serde_json::{Value, json};
use templates::{BuiltIn, built_in};

use super::{
    dice::Dice,
    grid::{Outcome, compare, value_sets},
    oracle::Oracle,
};

/// A place for a value in each way that YAML has to write one.
const STYLES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: styles}
data:
  plain: {{ a }}
  single: '{{ a }}'
  double: \"{{ a }}\"
  within: x {{ a }} y
  quoted within: 'x {{ a }} \"y\"'
  two: {{ a }}{{ b }}
  literal: |
    {{ a }}
    x {{ b }}
  folded: >-
    {{ a }}
    {{ b }}
  flow: [{{ a }}, '{{ b }}', {k: {{ a }}}]
  {% if a %}
  truth: {{ b }}
  {% elif b is none %}
  none: \"{{ b }}\"
  {% endif %}
  structure: {{ b | tojson }}
  text of structure: '{{ b | tojson }}'
  # {{ a }}
  {% for item in l %}
  item {{ loop.index }}: \"{{ item }}{% if not loop.last %},{% endif %}\"
  {% endfor %}
  or: \"{{ a or b or 'nothing' }}\"
  get: {{ m.get('k') }}
  defaulted: {{ gone | default(a) }}
";

#[test]
fn random_values_in_every_style() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut dice = Dice::new(1);
    let (mut same, mut structure) = (0, 0);
    for round in 0..400 {
        let values = json!({
            "a": dice.value(2), "b": dice.value(2), "l": [dice.value(0), dice.value(0)], "m": {"k": dice.value(1)},
        });
        match compare(&mut oracle, STYLES, &values)
            .unwrap_or_else(|difference| panic!("round {round}: {difference}"))
        {
            Outcome::Same => same += 1,
            Outcome::Structure => structure += 1,
            Outcome::Refused => {}
        }
    }
    println!("{same} the same, {structure} where a value would be structure in Jinja2");
    assert!(same + structure > 300, "{same} {structure}");
}

#[test]
fn random_values_in_built_in_templates() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut dice = Dice::new(2);
    let (_, usual) = value_sets().swap_remove(0);
    let mut counts = [0; 3];
    for built_in in built_in() {
        let example = templates::yaml("example", built_in.values_example).unwrap();
        for round in 0..60 {
            let mut values = usual.clone();
            for (name, value) in example.as_object().unwrap() {
                values[name] = value.clone();
            }
            scatter(&mut values, &mut dice);
            let outcome = compare(&mut oracle, built_in.text, &values)
                .unwrap_or_else(|difference| panic!("{}, round {round}: {difference}", built_in.name));
            counts[match outcome {
                Outcome::Same => 0,
                Outcome::Structure => 1,
                Outcome::Refused => 2,
            }] += 1;
        }
    }
    println!(
        "{} the same, {} structure in Jinja2, {} refused by both",
        counts[0], counts[1], counts[2]
    );
    assert!(counts[0] > 60 && counts[1] > 60, "{counts:?}");
    assert!(BuiltIn::find("mpi").is_some());
}

/// Puts made-up values over some of those that are there.
fn scatter(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            for name in names {
                if dice.below(40) == 0 {
                    fields.remove(&name);
                } else if let Some(field) = fields.get_mut(&name) {
                    scatter(field, dice);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scatter(item, dice)),
        scalar => {
            if dice.below(6) == 0 {
                *scalar = dice.value(1);
            }
        }
    }
}
