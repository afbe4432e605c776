//! What is heard: any bytes, of any length, on both pipes, at once.

use std::process::Command;

use ralph_core::agent::ProcessEnd;
use ralph_engine::process::supervise;
use ralph_testkit::times;

use crate::kit::{FAKE_AGENT, SUPERVISED, Session, ms};

const OK: ProcessEnd = ProcessEnd::Exited { code: 0 };

#[tokio::test]
async fn lines_of_both_pipes_are_reported_in_order() {
    let mut session =
        Session::of(&["--say", "one", "--complain", "a", "--say", "two", "--complain", "b"]);
    let ended = session.run().await;
    assert_eq!(ended.end, OK);
    assert_eq!(session.listener.lines, ["one", "two"]);
    assert_eq!(session.listener.errors, ["a", "b"]);
    assert_eq!((ended.stderr_tail.as_str(), ended.stdout_bytes), ("a\nb\n", 8));
    assert_eq!((ended.cut_lines, ended.ended_leftovers), (0, 0));
}

#[tokio::test]
async fn a_line_without_end_and_a_line_that_is_no_text_are_reported() {
    let mut session = Session::of(&["--invalid-utf8", "--say", "text", "--half-line"]);
    assert_eq!(session.end().await, OK);
    assert_eq!(
        session.listener.lines,
        ["\u{fffd}\u{fffd}{\"type\":\u{fffd}\"x\"}\u{fffd}", "text", "{\"type\":\"assis"]
    );
}

#[tokio::test]
async fn a_killed_agent_s_half_line_is_reported_too() {
    let mut session =
        Session::of(&["--half-line", "--hang"]).watched(|w| w.timeout = Some(ms(200)));
    assert_eq!(session.end().await, ProcessEnd::TimedOut { after_ms: 200 });
    assert_eq!(session.listener.lines, ["{\"type\":\"assis"]);
}

#[tokio::test]
async fn a_line_over_the_cap_is_cut_once_and_the_next_is_whole() {
    let mut session = Session::of(&["--long-line", "3000000", "--say", "next"])
        .watched(|watch| watch.line_cap = 100_000);
    let ended = session.run().await;
    assert_eq!((ended.end, ended.cut_lines, session.listener.cut), (OK, 1, 1));
    assert_eq!(ended.stdout_bytes, 3_000_006);
    let lengths: Vec<usize> = session.listener.lines.iter().map(String::len).collect();
    assert_eq!(lengths, [100_000, 4]);
}

#[tokio::test]
async fn every_byte_goes_into_the_raw_copy() {
    let mut session = Session::of(&["--invalid-utf8", "--long-line", "300000", "--half-line"])
        .watched(|watch| watch.line_cap = 10);
    let mut raw = Vec::new();
    let stop = session.listener.stop.subscribe();
    let (spec, watch, mark) = (&session.spec, &session.watch, &session.mark);
    let ended = supervise(spec, watch, mark, &mut session.listener, Some(&mut raw), stop).await;
    assert_eq!((ended.end, ended.raw_error), (OK, None));
    let expected =
        [&b"\xff\xfe{\"type\":\x80\"x\"}\xc3\n"[..], &vec![b'x'; 300_000], b"\n{\"type\":\"assis"];
    assert!(raw == expected.concat());
}

/// A disk with little room.
struct Small(usize);

impl std::io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::Error::other("it is full"));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_raw_copy_that_cannot_be_written_does_not_end_the_session() {
    let mut session = Session::of(&["--flood", "1000000", "--say", "last"]);
    let mut raw = Small(70_000);
    let stop = session.listener.stop.subscribe();
    let (spec, watch, mark) = (&session.spec, &session.watch, &session.mark);
    let ended = supervise(spec, watch, mark, &mut session.listener, Some(&mut raw), stop).await;
    assert_eq!((ended.end, ended.raw_error.as_deref()), (OK, Some("it is full")));
    assert_eq!(session.listener.lines.last().unwrap(), "last");
    assert_eq!(ended.stdout_bytes, 1_000_005);
}

#[tokio::test]
async fn a_flood_of_complaints_does_not_block_and_its_end_is_kept() {
    let mut session = Session::of(&["--stderr-flood", "20000000", "--complain", "the end"]);
    let ended = session.run().await;
    assert_eq!(ended.end, OK);
    // It begins with a whole line.
    let kept = ended.stderr_tail.len();
    assert!(kept <= 64 * 1024 && kept > 64 * 1024 - 200, "{kept}");
    assert!(ended.stderr_tail.ends_with("x\nthe end\n"));
    assert_eq!(session.listener.errors.len(), 200_001);
    assert_eq!(ended.stdout_bytes, 0);
}

#[tokio::test]
async fn what_is_given_is_read_and_then_there_is_no_more() {
    let mut session = Session::of(&["--read-stdin"]).with_stdin(vec![b'p'; 1_000_000]);
    assert_eq!(session.end().await, OK);
    assert_eq!(session.listener.lines, ["read 1000000"]);
}

#[tokio::test]
async fn nothing_given_is_nothing_read() {
    let mut session = Session::of(&["--read-stdin"]);
    assert_eq!(session.end().await, OK);
    assert_eq!(session.listener.lines, ["read 0"]);
}

#[tokio::test]
async fn an_agent_that_prints_much_before_it_reads_much_is_not_blocked() {
    let mut session = Session::of(&["--flood", "2000000", "--read-stdin"]);
    session.spec.stdin = vec![b'p'; 2_000_000].into();
    assert_eq!(session.end().await, OK);
    assert_eq!(session.listener.lines.last().unwrap(), "read 2000000");
}

#[tokio::test]
async fn an_agent_that_never_reads_its_input_does_its_work() {
    let mut session = Session::of(&["--say", "worked", "--sleep", "50", "--exit", "4"])
        .with_stdin(vec![b'p'; 1_000_000]);
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 4 });
    assert_eq!(session.listener.lines, ["worked"]);
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_mark() {
    let mut session = Session::of(&["--environment", "--folder"]);
    session.spec.env = vec![("A".into(), "1".into()), ("RALPH_MARK".into(), "forged".into())];
    assert_eq!(session.end().await, OK);
    let folder = session.folder().canonicalize().unwrap().display().to_string();
    let mark = format!("RALPH_MARK={}", session.mark.as_str());
    session.listener.lines.sort();
    let mut expected = ["A=1".to_owned(), folder, mark];
    expected.sort();
    assert_eq!(session.listener.lines, expected);
}

/// Runs the supervisor in a process of its own and returns its peak memory in MB.
fn measured(arguments: &[&str], expected: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(SUPERVISED);
    let output = command.arg(folder.path()).arg(FAKE_AGENT).args(arguments).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(reported.starts_with(&format!("Exited {{ code: 0 }} {expected} ")), "{reported}");
    let number = |after: &str| -> u64 {
        let rest = reported.split_once(after).unwrap().1;
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    number("peak=") / 1024
}

#[test]
fn memory_is_flat_whatever_the_length_of_the_stream() {
    let peak = measured(&["--flood", "200000000"], "lines=2000000 bytes=200000000 cut=0");
    assert!(peak <= 16, "{peak} MB");
}

#[test]
fn one_endless_line_does_not_fill_the_memory() {
    let bytes = times(1 << 28, 1 << 30);
    let expected = format!("lines=1 bytes={} cut=1", bytes + 1);
    let peak = measured(&["--long-line", &bytes.to_string()], &expected);
    assert!(peak < 40, "{peak} MB");
}
