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
}

/// The file at a path.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}
