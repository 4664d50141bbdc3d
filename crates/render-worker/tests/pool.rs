//! Real processes: what they make, what ends them, and that nothing is lost with them.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use render_worker::{CheckRequest, Limits, OwnedDefinition, Pool, RenderRequest, SchemaRequest};
use serde_json::{Value, json};
use templates::{Code, Global, Inputs, Policy};

/// The process, which cargo builds with the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/render_worker");
    assert!(
        program.is_file(),
        "`{}` is missing: cargo build -p render-worker --examples",
        program.display()
    );
    program
}

fn request(text: &str, values: Value) -> RenderRequest {
    RenderRequest {
        template: "t".to_owned(),
        text: text.to_owned(),
        inputs: Inputs {
            values,
            system_values: Value::Null,
            global: Global {
                release: "r-1".to_owned(),
                ..Global::default()
            },
        },
        ..RenderRequest::default()
    }
}

fn map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: r-1}}\ndata:\n{data}")
}

#[tokio::test]
async fn objects_come_from_another_process() {
    let pool = Pool::new(program());
    let policy = Policy::of_task("team", "r-1");
    for number in 0..20 {
        let mut request = request(&map("  a: {{ v }}\n"), json!({"v": number}));
        request.policy = Some(policy.clone());
        let rendered = pool.render(request).await.unwrap();
        assert_eq!(rendered.objects[0]["data"]["a"], number);
        assert_eq!(rendered.objects[0]["metadata"]["namespace"], "team");
    }
    assert_eq!(pool.idle(), 1, "one process did all of it");
}

#[tokio::test]
async fn what_the_policy_refuses_is_told_with_its_line() {
    let pool = Pool::new(program());
    let mut request = request(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: other\n",
        Value::Null,
    );
    request.policy = Some(Policy::of_task("team", "r-1"));
    let problems = pool.render(request).await.unwrap_err();
    let lines: Vec<(Code, u32)> = problems
        .iter()
        .map(|problem| (problem.code, problem.place.as_ref().unwrap().line))
        .collect();
    assert_eq!(lines, [(Code::Policy, 2), (Code::Policy, 4)]);
}

#[tokio::test]
async fn bombs_end_in_an_error_within_a_second() {
    let pool = Pool::new(program());
    // What a process takes to begin is not the bomb's.
    pool.render(request(&map("  a: 1\n"), Value::Null)).await.unwrap();
    let twice = "{% set s = s ~ s %}".repeat(60);
    let aliases: String = ('b'..'h')
        .map(|letter| {
            format!(
                "  {letter}: &{letter} [{}]\n",
                format!("*{},", (letter as u8 - 1) as char).repeat(9)
            )
        })
        .collect();
    let aliases = format!("  a: &a [x,x,x,x,x,x,x,x,x]\n{aliases}");
    let bombs = [
        (
            "doubling",
            map(&format!("  a: {{% set s = 'x' %}}{twice}{{{{ s | length }}}}\n")),
        ),
        (
            "replace",
            map("  a: {% set a = 'x' * 100000 %}{% set b = a.replace('x', a) %}{{ b | length }}\n"),
        ),
        ("format", map("  a: {{ '%1000000000d' | format(1) | length }}\n")),
        (
            "indent",
            map("  a: {{ 'x' | indent(1000000000, true) | length }}\n"),
        ),
        (
            "python format",
            map("  a: {{ '{:1000000000d}'.format(1) | length }}\n"),
        ),
        (
            "join",
            map("  a: {{ (['xxxxxxxxxx'] * 100000000) | join | length }}\n"),
        ),
        (
            "loops",
            map("  a: {% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}\n"),
        ),
        (
            "macro recursion",
            map("  a: {% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}\n"),
        ),
        ("power", map("  a: {{ 9 ** 9 ** 9 }}\n")),
        ("aliases", map(&aliases)),
        (
            "captured",
            map(
                "  a: {% macro m() %}{% for i in range(99999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endmacro %}{{ m() }}{{ m() }}{{ m() }}{{ m() }}\n",
            ),
        ),
        (
            "sort",
            map("  a: {{ (range(100000) | list * 50) | sort | length }}\n"),
        ),
    ];
    for (name, text) in bombs {
        let start = Instant::now();
        let outcome = pool.render(request(&text, Value::Null)).await;
        let problems = outcome.expect_err(name);
        let took = start.elapsed();
        assert!(
            problems
                .iter()
                .all(|problem| matches!(problem.code, Code::Limit | Code::Evaluation | Code::Yaml)),
            "{name}: {problems:?}"
        );
        println!("{name}: {} after {} ms", problems[0].message, took.as_millis());
        // The machine may be busy; the processor's time is what is limited.
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
        let rendered = pool.render(request(&map("  a: 1\n"), Value::Null)).await;
        assert!(rendered.is_ok(), "after {name}: {rendered:?}");
    }
}

#[tokio::test]
async fn many_at_once_are_served_by_few() {
    let pool = Pool::new(program());
    let renders = (0..50).map(|number| {
        let pool = pool.clone();
        tokio::spawn(async move {
            pool.render(request(&map("  a: {{ v }}\n"), json!({"v": number})))
                .await
        })
    });
    for (number, render) in renders.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(render.await.unwrap().unwrap().objects[0]["data"]["a"], number);
    }
    assert!(pool.idle() <= Limits::default().workers);
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_nothing_behind() {
    let pool = Pool::new(program());
    let text = map("  a: {{ v }}\n");
    pool.render(request(&text, json!({"v": 1}))).await.unwrap();
    // The answer of another process is rarely there at once; a request that has got it was not given up.
    let mut given_up = false;
    for _ in 0..1000 {
        let render = pool.render(request(&text, json!({"v": 2})));
        if tokio::time::timeout(Duration::ZERO, render).await.is_err() {
            given_up = true;
            break;
        }
    }
    assert!(given_up);
    let rendered = pool.render(request(&text, json!({"v": 3}))).await.unwrap();
    assert_eq!(rendered.objects[0]["data"]["a"], 3);
    assert_eq!(pool.idle(), 1);
}

#[tokio::test]
async fn idle_processes_end() {
    let limits = Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    };
    let pool = Pool::with_limits(program(), limits);
    pool.render(request(&map("  a: 1\n"), Value::Null)).await.unwrap();
    let start = Instant::now();
    while pool.idle() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not end");
        tokio::task::yield_now().await;
    }
    pool.render(request(&map("  a: 1\n"), Value::Null)).await.unwrap();
}

#[tokio::test]
async fn a_program_that_is_none_is_told() {
    let problems = Pool::new("/nonexistent/trainyard".into())
        .render(request("a", Value::Null))
        .await
        .unwrap_err();
    assert_eq!(problems[0].code, Code::Worker);
    assert!(
        problems[0]
            .message
            .starts_with("cannot start `/nonexistent/trainyard`"),
        "{problems:?}"
    );
    let problems = Pool::new("/bin/true".into())
        .render(request("a", Value::Null))
        .await
        .unwrap_err();
    assert_eq!(problems[0].code, Code::Worker);
}

#[tokio::test]
async fn large_values_are_refused() {
    let pool = Pool::new(program());
    for bytes in [1_000_000, 20_000_000] {
        let problems = pool
            .render(request(&map("  a: 1\n"), json!({"v": "v".repeat(bytes)})))
            .await
            .unwrap_err();
        assert_eq!(problems[0].code, Code::Limit, "{problems:?}");
        assert!(problems[0].message.contains("bytes"), "{problems:?}");
    }
}

#[tokio::test]
async fn definitions_are_judged_there_too() {
    let pool = Pool::new(program());
    let definition = OwnedDefinition {
        description: "a: (Required) A number".to_owned(),
        example: "a: 1".to_owned(),
        schema: None,
    };
    let reply = pool
        .schema(SchemaRequest {
            definition: definition.clone(),
            values: Some(json!({"a": "x"})),
            verdict_only: false,
        })
        .await
        .unwrap();
    assert_eq!(reply.verdict.unwrap().errors[0].pointer, "/a");
    assert_eq!(reply.form.unwrap().fields[0].name, "a");
    let findings = pool
        .check(CheckRequest {
            template: "t".to_owned(),
            text: map("  a: {{ a }}{{ b }}\n"),
            definition: Some(definition),
            ..CheckRequest::default()
        })
        .await
        .unwrap();
    assert!(
        findings.iter().any(|finding| finding.rule == "not-described"),
        "{findings:?}"
    );
    // A schema that takes longer the more often it refers to itself.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(
            format!("l{level}"),
            json!({"anyOf": [{"allOf": [next, next, {"type": "string"}]}, {"allOf": [next, next, false]}]}),
        );
    }
    definitions.insert("l40".to_owned(), json!({"type": "object"}));
    let bomb = json!({"type": "object", "$defs": definitions, "allOf": [{"$ref": "#/$defs/l0"}]});
    let outcome = pool
        .schema(SchemaRequest {
            definition: OwnedDefinition {
                schema: Some(bomb),
                ..OwnedDefinition::default()
            },
            values: Some(json!({})),
            verdict_only: true,
        })
        .await;
    match outcome {
        Err(problems) => assert!(
            matches!(problems[0].code, Code::Limit | Code::Definition),
            "{problems:?}"
        ),
        Ok(reply) => assert!(!reply.verdict.unwrap().is_fine()),
    }
}
