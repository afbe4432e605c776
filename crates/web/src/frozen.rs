//! The page as one file that needs no server: the files of the page in one document, with the data inside. Pure: data in,
//! HTML out; [`gather`] asks for the data.
//!
//! Each module of the page becomes a function of one script, in the order in which they need each other. `js/data.js` finds
//! the data and asks no server. The document allows itself no connection.

mod data;

use std::fmt::Write;

use serde_json::Value;

use crate::page;

pub use data::{Scope, gather};

/// The modules of the page, each after those that it imports.
const MODULES: [&str; 17] = [
    "/js/format.js",
    "/js/dom.js",
    "/js/words.js",
    "/js/data.js",
    "/js/diff.js",
    "/js/stream.js",
    "/js/actions.js",
    "/js/run_card.js",
    "/js/overview.js",
    "/js/board.js",
    "/js/graph.js",
    "/js/plan.js",
    "/js/task.js",
    "/js/runs.js",
    "/js/plot.js",
    "/js/cost.js",
    "/app.js",
];

/// What the document may do: run what is in it, and load nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// The lines of the page that name other files.
const ICON: &str = r#"<link rel="icon" href="/icon.svg" type="image/svg+xml">"#;
const STYLE: &str = r#"<link rel="stylesheet" href="/style.css">"#;
const SCRIPT: &str = r#"<script type="module" src="/app.js"></script>"#;

/// The document.
pub fn document(data: &Value) -> String {
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n");
    let icon = format!(
        "<link rel=\"icon\" href=\"data:image/svg+xml,{}\">",
        in_address(text("/icon.svg"))
    );
    let style = format!("<style>\n{}</style>", text("/style.css"));
    let data =
        format!("<script type=\"application/json\" id=\"frozen\">{}</script>", in_html(data));
    let script = format!("{data}\n<script type=\"module\">\n{}</script>", script());
    text("/")
        .replacen("<meta charset=\"utf-8\">\n", &format!("<meta charset=\"utf-8\">\n{policy}"), 1)
        .replacen(ICON, &icon, 1)
        .replacen(STYLE, &style, 1)
        .replacen(SCRIPT, &script, 1)
}

fn text(path: &str) -> &'static str {
    page::file(path).and_then(|file| std::str::from_utf8(file.bytes).ok()).unwrap_or_default()
}

/// The modules as one script.
fn script() -> String {
    let mut script = "'use strict';\nconst modules = {};\n".to_owned();
    for path in MODULES {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (body, exports) = body(text(path));
        let exports = exports.join(", ");
        let _ = write!(
            script,
            "modules['{name}'] = (() => {{\n{body}return {{ {exports} }};\n}})();\n"
        );
    }
    script
}

/// A module without its imports and exports, and the names that it exports. Both stand at the beginning of a line.
fn body(source: &str) -> (String, Vec<&str>) {
    let (mut text, mut exports) = (String::new(), Vec::new());
    for line in source.lines() {
        if let Some((names, from)) =
            line.strip_prefix("import ").and_then(|rest| rest.split_once(" from "))
        {
            let file = from.trim_matches([';', '\'', '"']).rsplit('/').next().unwrap_or_default();
            let _ = writeln!(text, "const {} = modules['{file}'];", names.replace(" as ", ": "));
            continue;
        }
        let code = line.strip_prefix("export ");
        exports.extend(code.and_then(declared));
        text.push_str(code.unwrap_or(line));
        text.push('\n');
    }
    (text, exports)
}

/// The name that a line declares: of a function, a class or a constant.
fn declared(code: &str) -> Option<&str> {
    let words = ["async function ", "function ", "class ", "const "];
    let rest = words.iter().find_map(|word| code.strip_prefix(word))?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

/// JSON inside of a script: no text in it can end the script or begin a comment.
fn in_html(data: &Value) -> String {
    let json = data.to_string();
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A text inside of an address.
fn in_address(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'/' | b'=' => {
                address.push(char::from(byte));
            }
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_names_no_other_file() {
        let html = document(&json!({}));
        for link in ["href=\"/", "src=", "@import", "url(/", "from '"] {
            assert!(!html.contains(link), "{link} is in the document");
        }
        assert_eq!(html.matches("<style>").count(), 1);
        assert_eq!(html.matches("id=\"frozen\"").count(), 1);
        assert!(html.contains("href=\"data:image/svg+xml,%3Csvg"));
        assert!(html.contains("default-src 'none'"));
    }

    #[test]
    fn no_text_ends_the_script_it_is_in() {
        let evil = "</script><script>alert(1)</script><!-- \u{2028} \u{2029}";
        let html = document(&json!({"status": evil}));
        assert_eq!(html.matches("</script").count(), 2);
        assert!(!html.contains("<!--") && !html.contains('\u{2028}') && !html.contains('\u{2029}'));
        let (_, rest) = html.split_once("id=\"frozen\">").unwrap();
        let (data, _) = rest.split_once("</script").unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), json!({"status": evil}));
    }

    #[test]
    fn every_module_comes_after_those_that_it_imports() {
        let scripts = page::FILES.iter().filter(|file| file.path.ends_with(".js"));
        let mut served: Vec<&str> = scripts.map(|file| file.path).collect();
        served.sort_unstable();
        let mut known = MODULES;
        known.sort_unstable();
        assert_eq!(served, known);
        for (at, path) in MODULES.iter().enumerate() {
            let source = text(path);
            assert!(!source.contains("</script") && !source.contains("<!--"), "{path}");
            assert!(!source.contains("export let") && !source.contains("export default"), "{path}");
            let imports = source.lines().filter(|line| line.starts_with("import "));
            for import in imports {
                let file = import.trim_matches([';', '\'']).rsplit('/').next().unwrap();
                let before = &MODULES[..at];
                let is_known = before.iter().any(|one| one.ends_with(&format!("/{file}")));
                assert!(import.ends_with("';") && is_known, "{path}: {import}");
            }
        }
    }

    #[test]
    fn a_module_becomes_a_function() {
        let source = "// A module.\nimport { a, b as c } from './x.js';\nexport const one = a;\nexport async function two() {}\n";
        let (body, exports) = body(source);
        assert_eq!(exports, ["one", "two"]);
        assert_eq!(
            body,
            "// A module.\nconst { a, b: c } = modules['x.js'];\nconst one = a;\nasync function two() {}\n"
        );
    }
}
