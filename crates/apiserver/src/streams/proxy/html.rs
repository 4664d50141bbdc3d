//! Links on pages, corrected as the page passes through. No more of it is held than one tag.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body::Frame;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};

use super::links::Links;
use crate::response::Body;

/// A longer tag passes as it is.
const LONGEST_TAG: usize = 64 << 10;

/// Attributes that hold an address, by tag.
const ADDRESSES: &[(&str, &[&str])] = &[
    ("a", &["href"]),
    ("applet", &["codebase"]),
    ("area", &["href"]),
    ("audio", &["src"]),
    ("base", &["href"]),
    ("blockquote", &["cite"]),
    ("body", &["background"]),
    ("button", &["formaction"]),
    ("command", &["icon"]),
    ("del", &["cite"]),
    ("embed", &["src"]),
    ("form", &["action"]),
    ("frame", &["longdesc", "src"]),
    ("head", &["profile"]),
    ("html", &["manifest"]),
    ("iframe", &["longdesc", "src"]),
    ("img", &["longdesc", "src", "usemap"]),
    ("input", &["src", "usemap", "formaction"]),
    ("ins", &["cite"]),
    ("link", &["href"]),
    ("object", &["classid", "codebase", "data", "usemap"]),
    ("q", &["cite"]),
    ("script", &["src"]),
    ("source", &["src"]),
    ("video", &["poster", "src"]),
];

/// Elements whose content is no markup.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];

/// A page with its links corrected.
pub(super) fn corrected(body: Body, links: Links) -> Body {
    let corrector = Corrector {
        links,
        held: Vec::new(),
        raw: None,
    };
    let state = Some((BodyStream::new(body), corrector));
    let pieces = futures_util::stream::unfold(state, |state| async move {
        let (mut body, mut corrector) = state?;
        match body.next().await {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                let piece = corrector.push(&data);
                Some((Ok(piece), Some((body, corrector))))
            }
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Ok(corrector.held), None)),
        }
    });
    let frames = pieces
        .filter(|piece| std::future::ready(piece.as_ref().map_or(true, |piece| !piece.is_empty())))
        .map(|piece| piece.map(|piece| Frame::data(Bytes::from(piece))));
    StreamBody::new(frames).boxed_unsync()
}

struct Corrector {
    links: Links,
    /// The beginning of something that is not whole yet.
    held: Vec<u8>,
    /// The element whose content is being passed, if it is no markup.
    raw: Option<&'static str>,
}

/// What a page begins with.
enum Part {
    /// So many bytes to pass as they are.
    Plain(usize),
    /// A tag of so many bytes.
    Tag(usize),
    /// Not enough to tell.
    Unknown,
}

impl Corrector {
    /// What can be passed on of everything that has come.
    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        let mut out = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let part = match self.raw {
                Some(element) => in_raw(rest, element),
                None => next_part(rest),
            };
            let length = match part {
                Part::Plain(length) => {
                    if self.raw.is_some() && rest.starts_with(b"</") {
                        self.raw = None;
                    }
                    out.extend_from_slice(&rest[..length]);
                    length
                }
                Part::Tag(length) => {
                    self.tag(&rest[..length], &mut out);
                    length
                }
                Part::Unknown if rest.len() > LONGEST_TAG => {
                    out.extend_from_slice(rest);
                    rest.len()
                }
                Part::Unknown => break,
            };
            rest = &rest[length..];
        }
        self.held = rest.to_vec();
        out
    }

    fn tag(&mut self, tag: &[u8], out: &mut Vec<u8>) {
        let Ok(text) = std::str::from_utf8(tag) else {
            out.extend_from_slice(tag);
            return;
        };
        let name_end = text[1..]
            .find(|c: char| !c.is_ascii_alphanumeric())
            .map_or(text.len(), |end| end + 1);
        let name = text[1..name_end].to_ascii_lowercase();
        if !text.ends_with("/>") {
            self.raw = RAW.into_iter().find(|raw| *raw == name);
        }
        let known = ADDRESSES.iter().find(|(tag, _)| *tag == name);
        match known {
            Some((_, attributes)) => {
                out.extend_from_slice(self.attributes(text, name_end, attributes).as_bytes());
            }
            None => out.extend_from_slice(tag),
        }
    }

    /// A tag with the addresses in it corrected and the rest as it was.
    fn attributes(&self, tag: &str, start: usize, known: &[&str]) -> String {
        let mut out = tag[..start].to_owned();
        let mut rest = &tag[start..];
        while let Some(equals) = rest.find('=') {
            let (before, after) = rest.split_at(equals + 1);
            let name = before[..equals].trim_end();
            let name = name
                .rsplit(|c: char| c.is_whitespace() || c == '/' || c == '"' || c == '\'')
                .next();
            let name = name.unwrap_or_default().to_ascii_lowercase();
            let padding = after.len() - after.trim_start().len();
            let value = &after[padding..];
            let (quote, content) = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => (
                    quote.len_utf8(),
                    value[1..].split(quote).next().unwrap_or_default(),
                ),
                _ => (
                    0,
                    value
                        .split(|c: char| c.is_whitespace() || c == '>')
                        .next()
                        .unwrap_or_default(),
                ),
            };
            out.push_str(before);
            out.push_str(&after[..padding + quote]);
            if known.contains(&name.as_str()) {
                let address = content.replace("&amp;", "&");
                let corrected = self.links.correct(&address);
                if corrected == address {
                    out.push_str(content);
                } else {
                    out.push_str(&corrected.replace('&', "&amp;"));
                }
            } else {
                out.push_str(content);
            }
            rest = &value[quote + content.len()..];
            // The closing quote belongs to the value.
            let closing = quote.min(rest.len());
            out.push_str(&rest[..closing]);
            rest = &rest[closing..];
        }
        out.push_str(rest);
        out
    }
}

/// What markup begins with.
fn next_part(page: &[u8]) -> Part {
    match page.iter().position(|byte| *byte == b'<') {
        None => Part::Plain(page.len()),
        Some(0) => markup(page),
        Some(text) => Part::Plain(text),
    }
}

fn markup(page: &[u8]) -> Part {
    const COMMENT: &[u8] = b"<!--";
    if page.starts_with(COMMENT) {
        let end = page
            .windows(3)
            .skip(COMMENT.len())
            .position(|window| window == b"-->");
        return end.map_or(Part::Unknown, |end| Part::Plain(COMMENT.len() + end + 3));
    }
    if page.len() < COMMENT.len() && COMMENT.starts_with(page) {
        return Part::Unknown;
    }
    if !page.get(1).is_some_and(u8::is_ascii_alphabetic) {
        return Part::Plain(1);
    }
    let mut quote = None;
    for (index, byte) in page.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Part::Tag(index + 1),
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    Part::Unknown
}

/// The content of an element that is no markup, up to its end tag.
fn in_raw(page: &[u8], element: &str) -> Part {
    let end = [b"</", element.as_bytes()].concat();
    let is_end = |at: &[u8]| at.len() >= end.len() && at[..end.len()].eq_ignore_ascii_case(&end);
    if is_end(page) {
        return Part::Plain(end.len());
    }
    // The end tag may have begun in the last few bytes.
    let next = page
        .iter()
        .skip(1)
        .position(|byte| *byte == b'<')
        .map(|index| index + 1);
    match next {
        Some(index) => Part::Plain(index),
        None if page[0] == b'<' && page.len() < end.len() => Part::Unknown,
        None => Part::Plain(page.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn correct(page: &str, step: usize) -> String {
        let links = Links {
            prefix: "/p".to_owned(),
            authority: "10.0.0.1:80".to_owned(),
            asked_host: "host".to_owned(),
        };
        let mut corrector = Corrector {
            links,
            held: Vec::new(),
            raw: None,
        };
        let mut out: Vec<u8> = Vec::new();
        for piece in page.as_bytes().chunks(step) {
            out.extend(corrector.push(piece));
        }
        out.extend(corrector.held);
        String::from_utf8(out).unwrap()
    }

    #[track_caller]
    fn check(page: &str, expected: &str) {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(correct(page, step), expected, "in pieces of {step}");
        }
    }

    #[test]
    fn links_lead_through_the_proxy() {
        check(
            r#"<pre><a href="kubelet.log">kubelet.log</a><A HREF='/google.log?a=1&amp;b=2' x=y>google.log</a></pre>"#,
            r#"<pre><a href="kubelet.log">kubelet.log</a><A HREF='/p/google.log?a=1&amp;b=2' x=y>google.log</a></pre>"#,
        );
        check(
            "<img alt=\"a > b\" src=/i.png><form action = \"http://10.0.0.1:80/f\">",
            "<img alt=\"a > b\" src=/p/i.png><form action = \"/p/f\">",
        );
        check(
            "<a href=\"http://example.com/x\">",
            "<a href=\"http://example.com/x\">",
        );
    }

    #[test]
    fn what_is_no_link_stays_as_it_is() {
        for same in [
            "1 < 2 > 1",
            "<!-- <a href=\"/x\"> --> after",
            "<script>document.write('<a href=\"/x\">')</script>",
            "<div data-href=\"/x\" title=\"href=/x\">",
            "<a href",
            "<p>\u{fffd}",
        ] {
            check(same, same);
        }
        check(
            "<script src=\"/s.js\"></script><a href=\"/x\">",
            "<script src=\"/p/s.js\"></script><a href=\"/p/x\">",
        );
    }
}
