//! The files of the page, as they are in the binary.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its path on the server.
    pub path: &'static str,
    pub mime: &'static str,
    pub bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal: $mime:ident from $file:literal,)+) => {
        /// All of them, the page itself first.
        pub const FILES: &[File] = &[
            $(File { path: $path, mime: $mime, bytes: include_bytes!(concat!("../page/", $file)) },)+
        ];
    };
}

files! {
    "/": HTML from "index.html",
    "/style.css": STYLE from "style.css",
    "/app.js": SCRIPT from "app.js",
    "/icon.svg": IMAGE from "icon.svg",
    "/js/actions.js": SCRIPT from "js/actions.js",
    "/js/board.js": SCRIPT from "js/board.js",
    "/js/cost.js": SCRIPT from "js/cost.js",
    "/js/data.js": SCRIPT from "js/data.js",
    "/js/diff.js": SCRIPT from "js/diff.js",
    "/js/dom.js": SCRIPT from "js/dom.js",
    "/js/format.js": SCRIPT from "js/format.js",
    "/js/graph.js": SCRIPT from "js/graph.js",
    "/js/overview.js": SCRIPT from "js/overview.js",
    "/js/plan.js": SCRIPT from "js/plan.js",
    "/js/plot.js": SCRIPT from "js/plot.js",
    "/js/run_card.js": SCRIPT from "js/run_card.js",
    "/js/runs.js": SCRIPT from "js/runs.js",
    "/js/stream.js": SCRIPT from "js/stream.js",
    "/js/task.js": SCRIPT from "js/task.js",
    "/js/words.js": SCRIPT from "js/words.js",
}

/// The file at a path.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let names = |folder: &Path, before: &str| -> BTreeSet<String> {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
            let files = entries.filter(|entry| entry.path().is_file());
            files.map(|entry| format!("{before}{}", entry.file_name().to_str().unwrap())).collect()
        };
        let mut there = names(&folder, "/");
        there.extend(names(&folder.join("js"), "/js/"));
        there.remove("/index.html");
        there.insert("/".to_owned());
        let served: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(served, there);
    }

    #[test]
    fn the_page_needs_nothing_that_its_policy_refuses() {
        let page = std::str::from_utf8(file("/").unwrap().bytes).unwrap();
        for inline in [" style=", " onclick=", " onload=", "<style", "http://", "https://"] {
            assert!(!page.contains(inline), "index.html has {inline}");
        }
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script type=\"module\" src=").count()
        );
        for file in FILES.iter().filter(|file| file.path.ends_with(".js")) {
            let text = std::str::from_utf8(file.bytes).unwrap();
            for raw in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(raw), "{} uses {raw}", file.path);
            }
        }
    }
}
