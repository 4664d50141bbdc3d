//! Changes the names, tags and digests of images: in every list called `containers` or `initContainers`,
//! wherever it is, and in the fields that are configured.

use regex::Regex;

use super::Transformer;
use crate::build::{
    expression::expression,
    field_spec::{Create, FieldSpec, set_scalar},
    kustomization::Image,
    node::{Content, Node, Scalar, Tag},
    problem::{Outcome, Problem},
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Images {
    image: Image,
    /// Or why the name is no expression, which matters where there is an image.
    matching: Result<Regex, String>,
    field_specs: Vec<FieldSpec>,
}

impl Images {
    pub(in super::super) fn new(image: Image, field_specs: Vec<FieldSpec>) -> Self {
        // Names are expressions in the reference, though hardly anybody knows.
        let pattern = format!(
            "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
            image.name
        );
        Self {
            matching: expression(&pattern),
            image,
            field_specs,
        }
    }

    fn set(&self, node: &mut Node) -> Outcome {
        let Some(scalar) = node.as_scalar() else {
            return Err(Problem::new(format!("the image is {}, not text", node.shape())).at(node.at));
        };
        let matching = self.matching.as_ref().map_err(|told| {
            let name = &self.image.name;
            Problem::new(format!(
                "the image name `{name}` is not a regular expression: {told}"
            ))
            .at(self.image.at)
            .help("names of images are expressions: write a backslash before a sign that means itself")
        })?;
        if !matching.is_match(&scalar.text) {
            return Ok(());
        }
        let renamed = self.renamed(&scalar.text);
        set_scalar(node, Scalar::new(renamed, Tag::None))
    }

    fn renamed(&self, text: &str) -> String {
        let image = &self.image;
        let (name, tag, digest) = parts(text);
        let name = if image.new_name.is_empty() {
            name
        } else {
            &image.new_name
        };
        let has = |text: &str| !text.is_empty();
        let (tag, digest) = match (has(&image.new_tag), has(&image.digest)) {
            (true, true) => (image.new_tag.clone(), image.digest.as_str()),
            (true, false) => (image.new_tag.clone(), ""),
            (false, true) => (String::new(), image.digest.as_str()),
            (false, false) if has(&image.tag_suffix) => (format!("{tag}{}", image.tag_suffix), ""),
            (false, false) => (tag.to_owned(), digest),
        };
        let mut renamed = name.to_owned();
        if has(&tag) {
            renamed.push(':');
            renamed.push_str(&tag);
        }
        if has(digest) {
            renamed.push('@');
            renamed.push_str(digest);
        }
        renamed
    }

    /// Looks for containers below a node.
    fn search(&self, node: &mut Node) -> Outcome {
        match &mut node.content {
            Content::Scalar(_) => Ok(()),
            Content::List(items) => items.iter_mut().try_for_each(|item| self.search(item)),
            Content::Map(map) => map.entries.iter_mut().try_for_each(|entry| {
                self.search(&mut entry.value)?;
                match (entry.key.text.as_str(), &mut entry.value.content) {
                    ("containers" | "initContainers", Content::List(containers)) => containers
                        .iter_mut()
                        .try_for_each(|container| self.set_container(container)),
                    _ => Ok(()),
                }
            }),
        }
    }

    fn set_container(&self, container: &mut Node) -> Outcome {
        if container.is_null() {
            return Ok(());
        }
        let (at, shape) = (container.at, container.shape());
        let Some(map) = container.as_map_mut() else {
            return Err(Problem::new(format!("a container is {shape}, not a map")).at(at));
        };
        map.get_mut("image").map_or(Ok(()), |image| self.set(image))
    }
}

impl Transformer for Images {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        for resource in resources.iter_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            self.search(&mut resource.node)?;
            for spec in &self.field_specs {
                spec.apply(&mut resource.node, Create::Nothing, &mut |node| self.set(node))?;
            }
        }
        Ok(())
    }
}

/// Name, tag and digest of an image. Only behind the first slash a colon begins a tag: before it, a port.
fn parts(image: &str) -> (&str, &str, &str) {
    let start = image.find('/').unwrap_or(0);
    let searched = &image[start..];
    let at = searched.find('@').map(|at| at + start);
    let colon = searched.find(':').map(|colon| colon + start);
    match (colon, at) {
        (None, None) => (image, "", ""),
        (Some(colon), Some(at)) if colon < at => (&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (_, Some(at)) => (&image[..at], "", &image[at + 1..]),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_port_is_no_tag() {
        assert_eq!(parts("host:5000/a/b:1"), ("host:5000/a/b", "1", ""));
        assert_eq!(parts("host:5000/a"), ("host:5000/a", "", ""));
        assert_eq!(parts("a@sha256:f"), ("a", "", "sha256:f"));
        assert_eq!(parts("a:1@sha256:f"), ("a", "1", "sha256:f"));
        assert_eq!(parts("a"), ("a", "", ""));
    }
}
