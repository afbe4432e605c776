//! Supervises one program, and prints its result and how much memory it took. A process of its own:
//! so its memory is its own, and so it can be killed.
//!
//! `supervised PROJECT PROGRAM [ARGUMENT…]`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for tests may stop")]

use std::io::Write;
use std::path::PathBuf;

use ralph_engine::process::{CommandSpec, LineEffect, Listener, Mark, Stop, Watch, supervise};

struct Count(u64);

impl Listener for Count {
    fn stdout(&mut self, _line: &[u8], _cut: bool, _replies: &mut Vec<u8>) -> LineEffect {
        self.0 += 1;
        LineEffect::Going
    }
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let project = PathBuf::from(arguments.next().unwrap());
    let spec = CommandSpec {
        program: arguments.next().unwrap(),
        args: arguments.collect(),
        folder: project.clone(),
        ..CommandSpec::default()
    };
    let mut count = Count(0);
    let (_stop, stop) = tokio::sync::watch::channel(Stop::Go);
    let (watch, mark) = (Watch::default(), Mark::new(&project, 1));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let ended = runtime.block_on(supervise(&spec, &watch, &mark, &mut count, None, stop));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB").trim();
    let (lines, bytes, cut) = (count.0, ended.stdout_bytes, ended.cut_lines);
    let took = ended.duration.as_millis();
    let end = ended.end;
    let mut out = std::io::stdout();
    writeln!(out, "{end:?} lines={lines} bytes={bytes} cut={cut} ms={took} peak={peak}").unwrap();
}
