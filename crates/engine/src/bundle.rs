//! A compressed archive of files for a bug report. Everything in it has passed the rules for secrets once more, and the
//! home directory is `~`.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ralph_core::Timestamp;
use ralph_core::redact::{Secrets, StreamKind};

/// Files in an archive are padded to this.
const BLOCK: usize = 512;
/// The longest name of a file or folder in an archive.
pub const LONGEST_NAME: usize = 99;

/// The operating system, for a bug report: its name, kernel and architecture.
pub fn system() -> String {
    let kernel = rustix::system::uname();
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let named = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = named.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    let (kind, version) = (kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy());
    format!("{name}, {kind} {version}, {}", std::env::consts::ARCH)
}

/// Takes secrets and the home directory out of files.
#[derive(Clone)]
pub struct Cleaner {
    secrets: Secrets,
    home: Option<Vec<u8>>,
}

impl Cleaner {
    /// A home directory that is the root of the file system, or no absolute path, stays.
    pub fn new(secrets: Secrets, home: Option<&str>) -> Self {
        let home = home.map(|home| home.trim_end_matches('/')).filter(|home| home.starts_with('/'));
        Self { secrets, home: home.map(|home| home.as_bytes().to_vec()) }
    }

    /// The file as it may be sent.
    pub fn clean(&self, kind: StreamKind, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.secrets.stream(kind);
        let mut clean = Vec::with_capacity(bytes.len());
        stream.feed(bytes, &mut clean);
        stream.finish(&mut clean);
        match &self.home {
            Some(home) => shorter(&clean, home),
            None => clean,
        }
    }
}

/// Replaces a path by `~` where it is a whole path or the beginning of one.
fn shorter(text: &[u8], home: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte) || *byte >= 0x80;
    let mut done = 0;
    while let Some(at) = text[done..].windows(home.len()).position(|part| part == home) {
        let (start, end) = (done + at, done + at + home.len());
        let is_inside =
            text[..start].last().is_some_and(is_name) || text.get(end).is_some_and(is_name);
        out.extend_from_slice(&text[done..start]);
        out.extend_from_slice(if is_inside { home } else { b"~" });
        done = end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// A `.tar.gz` that is being written: one folder with files.
pub struct Archive<W: Write> {
    out: GzEncoder<W>,
    folder: String,
    now: Timestamp,
}

impl<W: Write> Archive<W> {
    /// An archive whose files are in this folder.
    pub fn new(out: W, folder: &str, now: Timestamp) -> Self {
        Self { out: GzEncoder::new(out, Compression::default()), folder: folder.to_owned(), now }
    }

    /// Adds a file. Its name has at most [`LONGEST_NAME`] bytes.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(&self.header(name, bytes.len())?)?;
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; BLOCK][..bytes.len().next_multiple_of(BLOCK) - bytes.len()])
    }

    /// Writes the end.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.finish()
    }

    /// The header of POSIX.1-1988 (ustar), which every tar reads.
    fn header(&self, name: &str, length: usize) -> io::Result<[u8; BLOCK]> {
        if name.len() > LONGEST_NAME || self.folder.len() > LONGEST_NAME {
            return Err(io::Error::other(format!("the name is too long for an archive: {name}")));
        }
        let mut header = [0; BLOCK];
        let mut put =
            |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(100, "0000600\0");
        put(108, "0000000\0");
        put(116, "0000000\0");
        put(124, &format!("{length:011o}\0"));
        put(136, &format!("{:011o}\0", self.now.as_millis().max(0) / 1_000));
        put(148, "        ");
        put(156, "0");
        put(257, "ustar\x0000");
        put(345, &self.folder);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "hunter2-Hunter3/hunter4+\"x";

    fn cleaner(home: Option<&str>) -> Cleaner {
        Cleaner::new(Secrets::new([VALUE]), home)
    }

    fn clean(kind: StreamKind, text: &str) -> String {
        String::from_utf8(cleaner(Some("/home/ann")).clean(kind, text.as_bytes())).unwrap()
    }

    /// The forms of the tests of `redact`.
    #[test]
    fn no_form_of_a_secret_survives() {
        let json = serde_json::to_string(VALUE).unwrap();
        let texts = [
            format!("key={VALUE}."),
            format!("{{\"k\":{json}}}"),
            serde_json::to_string(&json).unwrap(),
            "?k=hunter2-Hunter3%2Fhunter4%2B%22x&a".to_owned(),
            "dXNlcjpodW50ZXIyLUh1bnRlcjMvaHVudGVyNCsieA==".to_owned(),
            VALUE.bytes().map(|byte| format!("{byte:02x}")).collect(),
            "it is hunter2-Hunter3/…".to_owned(),
            "hunter2-\u{1b}[31mHunter3/hunter4+\"x".to_owned(),
            "\"hunter2\\u002dHunter3\\/hunter4+\\\"x\"".to_owned(),
        ];
        for text in &texts {
            for kind in [StreamKind::Json, StreamKind::Text] {
                let clean = clean(kind, text);
                assert!(clean.contains("[redacted]"), "{text}: {clean}");
                for part in ["Hunter3", "hunter4", "SHVudGVyMy", "48756e746572"] {
                    assert!(!clean.contains(part), "{text}: {clean}");
                }
            }
        }
        let key = format!("{}{}", "ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
        assert!(!clean(StreamKind::Text, &format!("token {key}")).contains(&key));
    }

    #[test]
    fn the_home_directory_is_a_tilde() {
        for (text, expected) in [
            ("/home/ann/x", "~/x"),
            ("\"/home/ann\"", "\"~\""),
            ("file:///home/ann/x", "file://~/x"),
            ("/home/anna/x", "/home/anna/x"),
            ("/mnt/home/ann", "/mnt/home/ann"),
            ("/home/ann:/home/ann/bin", "~:~/bin"),
            ("/home/ann/home/ann", "~/home/ann"),
        ] {
            assert_eq!(clean(StreamKind::Text, text), expected);
        }
        assert_eq!(cleaner(Some("/")).clean(StreamKind::Text, b"/x"), b"/x");
        assert_eq!(cleaner(None).clean(StreamKind::Text, b"/home/ann"), b"/home/ann");
    }

    #[test]
    fn tar_reads_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        let now = Timestamp::parse("2026-11-15T02:45:00Z").unwrap();
        let mut archive = Archive::new(std::fs::File::create(&path).unwrap(), "ralph-bundle", now);
        let long = "x".repeat(LONGEST_NAME);
        let files = [("empty", vec![]), ("block", vec![b'a'; BLOCK]), (&*long, vec![b'b'; 70_000])];
        for (name, bytes) in &files {
            archive.add(name, bytes).unwrap();
        }
        assert!(archive.add(&"x".repeat(LONGEST_NAME + 1), b"").is_err());
        archive.finish().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test of the real tar")]
        let tar = |arguments: &[&str]| {
            let mut call = std::process::Command::new("tar");
            let ran = call.args(arguments).arg(&path).current_dir(&folder).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap()
        };
        let listed = tar(&["-tvzf"]);
        assert_eq!(listed.lines().count(), 3, "{listed}");
        assert!(listed.contains("2026-11-15") && listed.contains("ralph-bundle/empty"), "{listed}");
        tar(&["-xzf"]);
        for (name, bytes) in &files {
            let read = std::fs::read(folder.path().join("ralph-bundle").join(name)).unwrap();
            assert_eq!(read, *bytes);
        }
    }
}
