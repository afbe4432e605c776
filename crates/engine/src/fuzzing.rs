//! Gives the fuzzers in `fuzz/`, and the test that replays their findings, access to private parsers. Not part of
//! the program.

use ralph_core::TaskId;

/// What git and the environment of a process print.
pub fn git_output(bytes: &[u8]) {
    crate::git::fuzz(bytes);
    crate::vcs::fuzz(bytes);
    crate::process::fuzz(bytes);
}

/// What a server of pull requests answers.
pub fn forge_answer(bytes: &[u8]) {
    crate::forge::fuzz(bytes);
}

/// What programs in a sandbox, and servers, send to the proxy.
pub fn proxy_bytes(bytes: &[u8]) {
    crate::sandbox::net::fuzz(bytes);
}

/// The ref of saved work of this task.
pub fn wip_ref(task: &TaskId) {
    assert_eq!(
        crate::vcs::wip::parse_ref(&crate::vcs::wip::ref_name(task, 7)),
        Some((task.clone(), 7))
    );
}

#[cfg(test)]
#[path = "../../../fuzz/targets.rs"]
mod targets;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::targets;

    /// Every kept input, and a few that are always worth a try.
    #[test]
    fn parsers_hold_on_every_input_that_was_kept() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let mut replayed = 0;
        for (name, target) in targets::ALL {
            for bytes in [&b""[..], b"\0", b"\xff\xfe", b"{}", b"[[[[[[[[", b"---\n", b"\n\n\r\n"] {
                target(bytes);
            }
            let Ok(entries) = std::fs::read_dir(corpus.join(name)) else { continue };
            for entry in entries {
                target(&std::fs::read(entry.unwrap().path()).unwrap());
                replayed += 1;
            }
        }
        assert!(replayed >= targets::ALL.len(), "the corpus is missing: {replayed}");
    }
}
