//! Requests made of examples: classes and regressions, from `Input` to a tensor of examples and from outputs to results.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use prost::Message as _;
use saved_model::{
    Signature, Tensor,
    proto::Example,
    write::{CLASSIFY, REGRESS},
};

use crate::{
    app::App,
    catalogue::Version,
    failure::{Code, Failure, Outcome},
    proto::prediction::{Class, ClassificationResult, Classifications, Input, Regression, RegressionResult},
};

/// All examples of a request, each with the features they share.
pub(crate) fn examples(input: Input) -> Outcome<Vec<Example>> {
    let examples = match (input.example_list, input.example_list_with_context) {
        (Some(list), _) => list.examples,
        (None, Some(list)) => {
            let shared = list
                .context
                .and_then(|context| context.features)
                .unwrap_or_default();
            let with_context = |mut example: Example| {
                let features = example.features.get_or_insert_default();
                for (name, feature) in &shared.feature {
                    let entry = features.feature.entry(name.clone());
                    entry.or_insert_with(|| feature.clone());
                }
                example
            };
            list.examples.into_iter().map(with_context).collect()
        }
        (None, None) => Vec::new(),
    };
    if examples.is_empty() {
        return Err(Failure::invalid("the request has no examples"));
    }
    Ok(examples)
}

pub(crate) async fn classify(
    app: &App,
    version: &Arc<Version>,
    signature: &str,
    examples: &[Example],
) -> Outcome<ClassificationResult> {
    let outputs = ask(app, version, signature, CLASSIFY, examples).await?;
    classes(&outputs, examples.len())
}

pub(crate) async fn regress(
    app: &App,
    version: &Arc<Version>,
    signature: &str,
    examples: &[Example],
) -> Outcome<RegressionResult> {
    let outputs = ask(app, version, signature, REGRESS, examples).await?;
    let values = outputs.get("outputs").and_then(Tensor::values::<f32>);
    match values {
        Some(values) if values.len() == examples.len() => Ok(RegressionResult {
            regressions: values.iter().map(|value| Regression { value: *value }).collect(),
        }),
        _ => Err(Failure::new(
            Code::FailedPrecondition,
            "the model did not answer with one number for each example in `outputs`",
        )),
    }
}

async fn ask(
    app: &App,
    version: &Arc<Version>,
    signature: &str,
    method: &str,
    examples: &[Example],
) -> Outcome<BTreeMap<String, Tensor>> {
    let given = rows(version.signature(signature)?, signature, method, examples)?;
    Ok(app
        .ask(version, signature, given, &[])
        .await?
        .into_iter()
        .collect())
}

/// Examples as the input of a signature that takes them.
pub(crate) fn rows(
    asked: &Signature,
    signature: &str,
    method: &str,
    examples: &[Example],
) -> Outcome<BTreeMap<String, Tensor>> {
    let found = asked.definition().method_name.as_str();
    if found != method {
        return Err(Failure::invalid(format!(
            "the method of the signature `{signature}` is `{found}`, not `{method}`; ask it for a prediction instead"
        )));
    }
    let [input] = asked.inputs() else {
        return Err(Failure::new(
            Code::FailedPrecondition,
            format!("the signature `{signature}` takes more than examples"),
        ));
    };
    let rows = examples
        .iter()
        .map(|example| Bytes::from(example.encode_to_vec()));
    Ok(BTreeMap::from([(
        input.name.clone(),
        Tensor::list(rows.collect()),
    )]))
}

/// A model gives labels, scores, or both.
fn classes(outputs: &BTreeMap<String, Tensor>, examples: usize) -> Outcome<ClassificationResult> {
    let wrong = || {
        Failure::new(
            Code::FailedPrecondition,
            "the model did not answer with `classes` and `scores` for each example",
        )
    };
    let labels = outputs.get("classes").and_then(Tensor::values::<Bytes>);
    let scores = outputs.get("scores").and_then(Tensor::values::<f32>);
    let count = labels
        .map(<[Bytes]>::len)
        .or(scores.map(<[f32]>::len))
        .ok_or_else(wrong)?;
    let fits = |length: Option<usize>| length.is_none_or(|length| length == count);
    if !fits(labels.map(<[Bytes]>::len)) || !fits(scores.map(<[f32]>::len)) || !count.is_multiple_of(examples)
    {
        return Err(wrong());
    }
    let width = count / examples;
    let class = |place: usize| Class {
        label: labels.map_or_else(String::new, |labels| {
            String::from_utf8_lossy(&labels[place]).into_owned()
        }),
        score: scores.map_or(0.0, |scores| scores[place]),
    };
    let row = |row: usize| Classifications {
        classes: (row * width..(row + 1) * width).map(class).collect(),
    };
    Ok(ClassificationResult {
        classifications: (0..examples).map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use saved_model::proto::{Feature, Features};

    use super::*;
    use crate::proto::prediction::ExampleListWithContext;

    #[test]
    fn shared_features_are_in_every_example_that_has_none_of_its_own() {
        let example = |names: &[&str]| Example {
            features: Some(Features {
                feature: names
                    .iter()
                    .map(|name| ((*name).to_owned(), Feature::default()))
                    .collect(),
            }),
        };
        let input = Input {
            example_list: None,
            example_list_with_context: Some(ExampleListWithContext {
                examples: vec![example(&["a"]), Example::default()],
                context: Some(example(&["a", "b"])),
            }),
        };
        let found = examples(input).unwrap();
        assert_eq!(found, [example(&["a", "b"]), example(&["a", "b"])]);
        assert!(examples(Input::default()).is_err());
    }

    #[test]
    fn classes_have_labels_scores_or_both() {
        let labels = Tensor::list::<Bytes>(vec!["0".into(), "1".into(), "0".into(), "1".into()]);
        let scores = Tensor::list(vec![0.1_f32, 0.9, 0.7, 0.3]);
        let both = BTreeMap::from([("classes".to_owned(), labels), ("scores".to_owned(), scores)]);
        let found = classes(&both, 2).unwrap().classifications;
        assert_eq!(
            found[1].classes[0],
            Class {
                label: "0".to_owned(),
                score: 0.7
            }
        );
        assert!(classes(&both, 3).is_err());
        assert!(classes(&BTreeMap::new(), 1).is_err());
    }
}
