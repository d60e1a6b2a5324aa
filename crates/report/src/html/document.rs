//! The document around the page's body: policy, style, script, data.
//!
//! The policy allows this page's own style and script by their hashes and nothing else, so that no text of a scenario can become
//! one. Never: a `<` in the data, or a style attribute (the policy refuses it).

use crate::carried::SCRIPT;
use crate::visible::{is_hidden, visible};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));

/// What the page's script reads.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    /// JSON, read at the begin.
    pub(super) data: String,
    /// JSON, a line for each run.
    pub(super) curves: String,
    /// Letters and digits (base64), a line for each connection.
    pub(super) segments: String,
}

/// The whole document. Of a large one what is out of sight is not laid out.
pub(super) fn whole(title: &str, is_large: bool, body: &Markup, blobs: &Blobs) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (visible(title, false)) " · pipefill" }
                style { (PreEscaped(STYLE)) }
            }
            body class=[is_large.then_some("large")] {
                (PreEscaped(visible(&body.0, false)))
                script type="application/json" id="data" { (PreEscaped(harmless(&blobs.data))) }
                script type="application/jsonl" id="curves" { (PreEscaped(harmless(&blobs.curves))) }
                @if !blobs.segments.is_empty() {
                    script type="application/octet-stream" id="segments" { (PreEscaped(harmless(&blobs.segments))) }
                }
                @if !SCRIPT.is_empty() {
                    script { (PreEscaped(SCRIPT.as_str())) }
                }
            }
        }
    };
    markup.into_string()
}

fn policy() -> String {
    let script = if SCRIPT.is_empty() { "'none'".to_owned() } else { hash(&SCRIPT) };
    format!(
        "default-src 'none'; script-src {script}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE)
    )
}

/// A source of a content security policy: `'sha256-…'`.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// JSON in which nothing can end its script element or begin a comment there. JSON's own escape, so that it reads the same. Characters that
/// change the direction of text are written out as elsewhere on the page.
fn harmless(json: &str) -> String {
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    // Outside of strings JSON has none of these; in one a backslash is escaped.
    let hidden = json.chars().filter(|&c| is_hidden(c)).collect::<BTreeSet<char>>();
    hidden
        .into_iter()
        .fold(json, |json, c| json.replace(c, &visible(&c.to_string(), false).replace('\\', "\\\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_would_end_its_element_stays_data() {
        let text = serde_json::json!("</script><script>alert(1)</script><!-- &amp;").to_string();
        let safe = harmless(&text);
        assert!(!safe.contains(['<', '>', '&']), "{safe}");
        let (before, after): (String, String) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&safe).unwrap());
        assert_eq!(before, after);
    }

    #[test]
    fn the_bundle_cannot_end_its_element() {
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }

    /// RFC 6234's example: SHA-256 of "abc".
    #[test]
    fn a_hash_is_what_browsers_compute() {
        assert_eq!(hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }
}
