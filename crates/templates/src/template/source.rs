//! The text of a template, and the text that is run in its place: the same with marks in it, by which everything that
//! is written leads back to where it was written. Whitespace that tags take away is taken away before the marks come in.

use minijinja::{
    machinery::{Token, tokenize},
    syntax::SyntaxConfig,
};

use crate::tokens::write_site;

pub(crate) struct Source {
    /// Which of the template's texts it is.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) annotated: String,
    /// The number of the first of its marks; they are counted through all texts of a template.
    pub(crate) first_site: usize,
    /// Where in the text each mark stands.
    pub(crate) sites: Vec<usize>,
    /// Where a stretch of the annotated text begins, and where in the text it comes from.
    pieces: Vec<(usize, usize)>,
}

impl Source {
    /// Takes a text that is known to be a template.
    pub(super) fn new(number: usize, name: &str, text: &str, first_site: usize) -> Self {
        let mut source = Self {
            number,
            name: name.to_owned(),
            text: text.to_owned(),
            annotated: String::with_capacity(text.len() * 2),
            first_site,
            sites: Vec::new(),
            pieces: Vec::new(),
        };
        let mut start = 0;
        for (token, span) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
            match token {
                Token::TemplateData(data) => source.data(data, text),
                Token::VariableStart => {
                    start = span.start_offset as usize;
                    source.mark(start);
                }
                Token::BlockStart => start = span.start_offset as usize,
                Token::VariableEnd | Token::BlockEnd => {
                    source.copy(&text[start..span.end_offset as usize], start);
                }
                _ => {}
            }
        }
        source
    }

    /// Text between tags: a mark, then the text.
    fn data(&mut self, data: &str, text: &str) {
        if data.is_empty() {
            return;
        }
        // The tokenizer gives parts of the text it was given.
        let offset = (data.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        self.mark(offset);
        let is_raw = ["{{", "{%", "{#"].iter().any(|tag| data.contains(tag)) || data.ends_with('{');
        if is_raw {
            self.annotated.push_str("{% raw %}");
        }
        self.copy(data, offset);
        if is_raw {
            self.annotated.push_str("{% endraw %}");
        }
    }

    fn mark(&mut self, offset: usize) {
        write_site(&mut self.annotated, self.first_site + self.sites.len());
        self.sites.push(offset);
    }

    fn copy(&mut self, part: &str, offset: usize) {
        self.pieces.push((self.annotated.len(), offset));
        self.annotated.push_str(part);
    }

    /// Where in the text something in the annotated text comes from.
    pub(crate) fn origin(&self, annotated: usize) -> usize {
        let index = self.pieces.partition_point(|(start, _)| *start <= annotated);
        let (start, offset) = index.checked_sub(1).map_or((0, 0), |index| self.pieces[index]);
        (offset + annotated - start).min(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{Part, parts};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let source = Source::new(0, "t", text, 0);
        let shown: String = parts(&source.annotated)
            .map(|part| match part {
                Part::Text(text) => text.to_owned(),
                Part::Site(number) => format!("<{}>", source.sites[number]),
                Part::Value(_) => "?".to_owned(),
            })
            .collect();
        assert_eq!(shown, expected);
        for (annotated, offset) in &source.pieces {
            assert_eq!(source.annotated.as_bytes()[*annotated], text.as_bytes()[*offset]);
        }
    }

    #[test]
    fn marks_stand_before_text_and_before_values() {
        check("a: {{ b }}\nc\n", "<0>a: <3>{{ b }}<10>\nc");
        check("{% if x %}\na\n{% endif %}", "{% if x %}<10>\na\n{% endif %}");
    }

    #[test]
    fn whitespace_is_taken_away_first() {
        check("a  {{- b -}}  c", "<0>a<3>{{- b -}}<14>c");
        check("a {# no #} b", "<0>a <10> b");
    }

    #[test]
    fn raw_text_stays_raw() {
        check("{% raw %}{{ x }}{% endraw %}", "<9>{% raw %}{{ x }}{% endraw %}");
    }

    #[test]
    fn origins_are_found() {
        let text = "a: {{ bcd }}\nx: {{ e }}";
        let source = Source::new(0, "t", text, 0);
        for part in ["bcd", "x:", "e }}"] {
            let annotated = source.annotated.find(part).unwrap();
            assert_eq!(source.origin(annotated), text.find(part).unwrap(), "{part}");
        }
    }
}
