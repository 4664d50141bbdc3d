use std::collections::BTreeMap;

use super::*;
use crate::limits::TAG_TOKENS;

fn told(text: &str, includes: &[(&str, &str)]) -> Vec<String> {
    let includes: BTreeMap<String, String> = includes
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    match Template::parse("t", text, &includes) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn broken_templates_show_where() {
    assert_eq!(
        told("a: 1\nb: {% if %}\n", &[]),
        ["t:2:10: unexpected end of block\n  |\n2 | b: {% if %}\n  |          ^"]
    );
    assert_eq!(
        told("a: {{ b \n", &[]),
        ["t:1:7: unexpected end of input, expected end of variable block\n  |\n1 | a: {{ b\n  |       ^"]
    );
}

#[test]
fn names_that_are_used_are_known() {
    let template = Template::parse(
        "t",
        "{{ a.b }}{% if c is defined %}{{ c.get('x') }}{% endif %}{{ range(3) }}",
        &BTreeMap::new(),
    )
    .unwrap();
    let names: Vec<&str> = template.variables().iter().map(String::as_str).collect();
    assert_eq!(names, ["a.b", "c", "c.get"]);
}

#[test]
fn rendered_text_is_not_a_value() {
    for text in [
        "{% set x %}a{% endset %}",
        "{% filter upper %}a{% endfilter %}",
        "{% autoescape true %}a{% endautoescape %}",
        "{% macro m() %}a{% endmacro %}{% call m() %}b{% endcall %}",
        "{% macro m() %}a{% endmacro %}{% set x = m() %}",
        "{% macro m() %}a{% endmacro %}{{ m()|upper }}",
        "{% macro m() %}a{% endmacro %}{% if m() == 'a' %}{% endif %}",
        "{% block a %}{% endblock %}{{ self.a() ~ 'x' }}",
        "{{ '\\ufdd0' }}",
        "\u{fdd0}",
    ] {
        let told = told(text, &[]);
        assert_eq!(told.len(), 1, "{text}: {told:?}");
    }
    assert_eq!(
        told("{% macro m() %}a{% endmacro %}{{ m() }}{% set x = 1 %}", &[]),
        [""; 0]
    );
}

#[test]
fn includes_are_there_and_in_no_circle() {
    let missing = told("x\n{% include 'labls' %}", &[("labels", "")]);
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].starts_with("t:2:12: there is nothing called `labls` to include"),
        "{missing:?}"
    );
    assert!(
        missing[0].ends_with("hint: did you mean `labels`?"),
        "{missing:?}"
    );
    let circle = told(
        "{% include 'a' %}",
        &[("a", "\n{% include 'b' %}"), ("b", "{% extends 'a' %}")],
    );
    assert_eq!(circle.len(), 1);
    assert!(
        circle[0].starts_with("b:1:12: includes itself: a → b → a"),
        "{circle:?}"
    );
    assert!(told("{% include 't' %}", &[])[0].contains("includes itself: t → t"));
    assert!(told("{% include name %}", &[])[0].contains("fixed text"));
    assert_eq!(told("{% include 'x' ignore missing %}", &[]), [""; 0]);
}

#[test]
fn large_templates_are_refused() {
    let told = told(&"x".repeat(70_000), &[]);
    assert_eq!(told, ["the template `t` has 70000 bytes; 65536 is the most"]);
}

#[test]
fn deep_templates_are_refused() {
    for text in [
        "(".repeat(5000),
        "{{ ".to_owned() + &"(".repeat(20_000),
        "{% if x %}".repeat(3000),
        "{{ ".to_owned() + &"[".repeat(20_000),
        "{{ ".to_owned() + &"{1:".repeat(20_000),
        "{{ ".to_owned() + &"not ".repeat(15_000) + "1 }}",
        "{{ ".to_owned() + &"-".repeat(20_000) + "1 }}",
        "{{ x".to_owned() + &".a".repeat(20_000) + " }}",
        "{{ x".to_owned() + &"|a".repeat(20_000) + " }}",
        "{{ x".to_owned() + &"()".repeat(20_000) + " }}",
        "{{ x".to_owned() + &"+1".repeat(20_000) + " }}",
        "{{ x".to_owned() + &"**1".repeat(20_000) + " }}",
        "{{ x".to_owned() + &"~1".repeat(20_000) + " }}",
        "{{ x".to_owned() + &" and 1".repeat(10_000) + " }}",
        "{{ x".to_owned() + &" if 1 else 1".repeat(5_000) + " }}",
        "{{ x".to_owned() + &" is a".repeat(10_000) + " }}",
        "{% if x %}".to_owned() + &"{% elif x %}".repeat(5_000) + "{% endif %}",
        "{{ ".to_owned() + &"not ".repeat(TAG_TOKENS - 5) + "1 }}",
        "{{ ".to_owned() + &"- ".repeat(TAG_TOKENS - 5) + "1 }}",
        "{{ x".to_owned() + &".a".repeat(TAG_TOKENS / 2 - 5) + " }}",
        "{{ x".to_owned() + &"**1".repeat(TAG_TOKENS / 2 - 5) + " }}",
    ] {
        let told = told(&text, &[]);
        assert!(told.len() <= 1, "{told:?}");
    }
    let long = told(&("a\n{{ ".to_owned() + &"not ".repeat(15_000) + "1 }}"), &[]);
    assert!(
        long[0].starts_with("t:2:1: an expression or a chain"),
        "{}",
        &long[0][..80]
    );
}

#[test]
fn what_is_included_by_what_is_included_comes_too() {
    let texts = BTreeMap::from([
        ("labels", "{% include 'names' %}"),
        ("names", "{% include \"labels\" %}"),
        ("other", ""),
    ]);
    let names: Vec<String> = texts.keys().map(|name| (*name).to_owned()).collect();
    let found = includes("mine", "{% include 'labels' %}", &names, |name| {
        texts.get(name).map(|text| (*text).to_owned())
    });
    assert_eq!(found.keys().collect::<Vec<_>>(), ["labels", "names"]);
}

#[test]
fn a_name_is_mentioned_in_tags_that_include() {
    for text in [
        "{% include 'labels' %}",
        "a\n{%- from \"labels\" import x %}",
        "{%+ extends 'labels' %}",
    ] {
        assert!(mentions(text, "labels"), "{text}");
    }
    for text in [
        "labels: 'labels'",
        "{% if x == 'labels' %}{% endif %}",
        "{% include 'labels-2' %}",
        "{{ 'labels' }}",
    ] {
        assert!(!mentions(text, "labels"), "{text}");
    }
}
