//! Templates that were read already: the same few are rendered again and again.

use templates::{Problem, Template};

use crate::request::TemplateText;

/// As many as are kept; each takes some ten times its text.
const KEPT: usize = 32;

/// The last used one is first.
#[derive(Default)]
pub(crate) struct Cache(Vec<(TemplateText, Template)>);

impl Cache {
    pub(crate) fn template(&mut self, text: TemplateText) -> Result<&Template, Vec<Problem>> {
        let known = self.0.iter().position(|(known, _)| *known == text);
        let entry = if let Some(index) = known {
            self.0.remove(index)
        } else {
            let template = Template::parse(&text.name, &text.text, &text.includes)?;
            self.0.truncate(KEPT - 1);
            (text, template)
        };
        self.0.insert(0, entry);
        Ok(&self.0[0].1)
    }
}
