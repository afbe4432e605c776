//! Splits bytes into lines. Memory is bounded whatever arrives: a line over the limit is delivered once, truncated,
//! and the rest of it is skipped.

use std::io::BufRead;

/// How much of standard error is kept.
pub(super) const TAIL: usize = 64 * 1024;

/// What is kept between lines; one long line must not cost memory for the rest of the session.
const KEPT: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Lines {
    cap: usize,
    /// The beginning of a line whose end has not come.
    held: Vec<u8>,
    /// The line was delivered cut; its rest is of no interest.
    skipping: bool,
    cut: u64,
}

impl Lines {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap: cap.max(1), held: vec![], skipping: false, cut: 0 }
    }

    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// Takes the next bytes and delivers the lines that end in them.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut report: impl FnMut(&[u8], bool)) {
        while !bytes.is_empty() {
            let (part, ends) = first_line(&mut bytes);
            if !self.skipping {
                self.take(part, ends, &mut report);
            }
            if ends {
                self.skipping = false;
            }
        }
    }

    fn take(&mut self, part: &[u8], ends: bool, report: &mut impl FnMut(&[u8], bool)) {
        let room = self.cap - self.held.len();
        let cut = part.len() > room;
        let part = &part[..part.len().min(room)];
        if self.held.is_empty() && (ends || cut) {
            report(part, cut);
        } else {
            self.held.extend_from_slice(part);
            if ends || cut {
                report(&self.held, cut);
                self.held.clear();
                self.held.shrink_to(KEPT);
            }
        }
        if cut {
            self.skipping = true;
            self.cut += 1;
        }
    }

    /// The stream is at its end: delivers a last line without newline.
    pub(super) fn finish(&mut self, mut report: impl FnMut(&[u8], bool)) {
        let last = std::mem::take(&mut self.held);
        if !last.is_empty() {
            report(&last, false);
        }
    }
}

/// Splits off up to the first newline; says whether there was one.
fn first_line<'a>(bytes: &mut &'a [u8]) -> (&'a [u8], bool) {
    let all = *bytes;
    // The fast search of the standard library; a slice never fails to be read.
    let taken = bytes.skip_until(b'\n').unwrap_or(all.len());
    let part = &all[..taken];
    part.strip_suffix(b"\n").map_or((part, false), |line| (line, true))
}

#[derive(Debug, Default)]
pub(crate) struct Tail<const KEPT: usize>(Vec<u8>);

impl<const KEPT: usize> Tail<KEPT> {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        // Moved only now and then, so that many small pieces cost little.
        if self.0.len() > 2 * KEPT {
            self.0.drain(..self.0.len() - KEPT);
        }
    }

    pub(crate) fn line(&mut self, line: &[u8]) {
        self.feed(line);
        self.feed(b"\n");
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[self.0.len().saturating_sub(KEPT)..]
    }

    /// Whole lines, as far as there are any.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.bytes();
        if self.0.len() > bytes.len() {
            // The cut may go through a character; its rest would be shown as damage.
            let rest = bytes.iter().take(3).take_while(|byte| *byte & 0xC0 == 0x80).count();
            bytes = &bytes[rest..];
            // The cut may split a secret, which could not be recognized by its end.
            let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes = &bytes[line..];
        }
        String::from_utf8_lossy(bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(cap: usize, pieces: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut reported = vec![];
        let mut lines = Lines::new(cap);
        for piece in pieces {
            lines.feed(piece, |line, cut| reported.push((line.to_vec(), cut)));
        }
        lines.finish(|line, cut| reported.push((line.to_vec(), cut)));
        assert_eq!(lines.cut(), reported.iter().filter(|(_, cut)| *cut).count() as u64);
        reported
    }

    fn plain(reported: &[(&str, bool)]) -> Vec<(Vec<u8>, bool)> {
        reported.iter().map(|(line, cut)| (line.as_bytes().to_vec(), *cut)).collect()
    }

    #[test]
    fn a_line_may_come_in_pieces_and_the_last_without_newline() {
        let reported = lines(100, &[b"on", b"e\n\ntwo", b"", b"\r\nthr", b"ee"]);
        assert_eq!(
            reported,
            plain(&[("one", false), ("", false), ("two\r", false), ("three", false)])
        );
    }

    #[test]
    fn a_line_over_the_cap_is_reported_once_and_the_next_is_whole() {
        assert_eq!(
            lines(4, &[b"1234\n12345\n12", b"34", b"56", b"78\nab\n123456"]),
            plain(&[
                ("1234", false),
                ("1234", true),
                ("1234", true),
                ("ab", false),
                ("1234", true)
            ])
        );
    }

    #[test]
    fn a_long_line_gives_its_memory_back() {
        let mut lines = Lines::new(4 * KEPT);
        for _ in 0..100 {
            lines.feed(&[b'x'; 50_000], |_, _| {});
            assert!(lines.held.capacity() <= 8 * KEPT);
        }
        lines.feed(b"\n", |_, _| {});
        assert!(lines.held.capacity() <= KEPT);
    }

    #[test]
    fn the_tail_is_the_end_and_begins_with_a_whole_character() {
        let mut tail = Tail::<TAIL>::default();
        tail.feed(b"short");
        assert_eq!(tail.text(), "short");
        for _ in 0..100_000 {
            tail.feed("äö".as_bytes());
        }
        tail.feed(b"end");
        let text = tail.text();
        assert!(text.len() <= TAIL && text.len() > TAIL - 4);
        assert!(text.ends_with("äöend") && !text.contains('\u{FFFD}'));
        tail.feed(b"\nlast");
        assert_eq!(tail.text(), "last", "what is left of a line says nothing");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..8),
            cap in 1usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
            let mut expected: Vec<(Vec<u8>, bool)> = bytes
                .split(|byte| *byte == b'\n')
                .map(|line| (line[..line.len().min(cap)].to_vec(), line.len() > cap))
                .collect();
            if expected.last().is_some_and(|(line, _)| line.is_empty()) {
                expected.pop();
            }
            prop_assert_eq!(lines(cap, &pieces), expected);
        }
    }

    #[test]
    fn a_tail_keeps_the_end_in_bounded_memory() {
        let mut tail = Tail::<TAIL>::default();
        for number in 0..200_000 {
            tail.line(format!("line {number}").as_bytes());
            assert!(tail.0.len() <= 2 * TAIL + 20);
        }
        tail.line(&vec![b'x'; 3 * TAIL]);
        tail.line("the end ✓".as_bytes());
        assert!(tail.bytes().len() <= TAIL && tail.bytes().ends_with("x\nthe end ✓\n".as_bytes()));
    }
}
