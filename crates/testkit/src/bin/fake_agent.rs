//! An agent with every bad habit, for faults that a real one cannot be made to show.
//!
//! The arguments are what it does, in their order; after the last it exits with code 0.
//!
//! | argument | does |
//! |---|---|
//! | `--pids FILE` | adds its own pid to the file, and later those of what it starts |
//! | `--say TEXT`, `--complain TEXT` | a line on standard output, on standard error |
//! | `--claude-result TEXT` | the least that Claude Code prints: init and a good result |
//! | `--linger` | a result, then it never exits |
//! | `--hang`, `--sleep MS` | nothing, forever or for a while |
//! | `--ignore-term` | from now on ignores HUP, INT and TERM |
//! | `--exit-on-int` | from now on INT is its end, with code 0 |
//! | `--background` | starts a process that goes on, and obeys TERM |
//! | `--grandchild-setsid` | starts one in a session of its own that holds the pipes and ignores TERM |
//! | `--grandchild-clean` | the same with an empty environment |
//! | `--orphan` | the same, and its parent is gone at once |
//! | `--flood BYTES`, `--stderr-flood BYTES` | so much, in lines |
//! | `--long-line BYTES` | so much in one line |
//! | `--half-line` | a line without its end |
//! | `--invalid-utf8` | a line that is not text |
//! | `--close-stdout` | closes it and goes on |
//! | `--read-stdin` | reads all, says `read N` |
//! | `--answer-lines` | says `heard LINE` for each line that it reads, after `bye` nothing more; at the end `end of input` |
//! | `--close-stdin` | closes it and goes on |
//! | `--ask COUNT` | says `ask N` so often and reads no answer |
//! | `--environment` | says each variable |
//! | `--folder` | says where it is |
//! | `--kill-parent` | kills whoever started it |
//! | `--kill-self SIGNAL` | ends by that signal |
//! | `--exit CODE` | ends with that code |

#![allow(unsafe_code, reason = "handlers of signals and a closed standard output need it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for tests may stop")]
#![expect(clippy::disallowed_methods, reason = "it starts itself, waits and shows its environment")]

use std::ffi::c_int;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, setsid};

/// Nothing here outlives its test by more than this, even when the test failed to end it.
const FOR_EVER: Duration = Duration::from_secs(120);

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn _exit(code: c_int) -> !;
}

const SIG_IGN: usize = 1;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut agent = Agent { pids: None };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match argument.as_str() {
            "--pids" => agent.note_in(value()),
            "--say" => say(&value()),
            "--complain" => {
                let line = value() + "\n";
                std::io::stderr().write_all(line.as_bytes()).unwrap();
            }
            "--claude-result" => claude(&value()),
            "--linger" => {
                claude("done");
                hang();
            }
            "--hang" => hang(),
            "--sleep" => std::thread::sleep(Duration::from_millis(value().parse().unwrap())),
            "--ignore-term" => ignore_signals(),
            "--exit-on-int" => exit_on_int(),
            "--background" => agent.start(&["--background-self"], false),
            "--grandchild-setsid" => agent.start(&["--grandchild-self"], false),
            "--grandchild-clean" => agent.start(&["--grandchild-self"], true),
            "--orphan" => agent.start_orphan(),
            "--flood" => flood(&mut std::io::stdout().lock(), value().parse().unwrap()),
            "--stderr-flood" => flood(&mut std::io::stderr().lock(), value().parse().unwrap()),
            "--long-line" => long_line(value().parse().unwrap()),
            "--half-line" => print(b"{\"type\":\"assis"),
            "--invalid-utf8" => print(b"\xff\xfe{\"type\":\x80\"x\"}\xc3\n"),
            "--close-stdout" => close_stdout(),
            "--read-stdin" => {
                let mut read = vec![];
                std::io::stdin().read_to_end(&mut read).unwrap();
                say(&format!("read {}", read.len()));
            }
            "--answer-lines" => answer_lines(),
            "--close-stdin" => close(0),
            "--ask" => {
                let count: usize = value().parse().unwrap();
                (0..count).for_each(|number| say(&format!("ask {number}")));
            }
            "--environment" => {
                for (name, value) in std::env::vars() {
                    say(&format!("{name}={value}"));
                }
            }
            "--folder" => say(&std::env::current_dir().unwrap().display().to_string()),
            "--kill-parent" => {
                kill_process(getppid().unwrap(), Signal::KILL).unwrap();
                hang();
            }
            "--kill-self" => {
                let signal = Signal::from_named_raw(value().parse().unwrap()).unwrap();
                kill_process(getpid(), signal).unwrap();
                hang();
            }
            "--exit" => exit(value().parse().unwrap()),
            "--background-self" => ready(),
            "--grandchild-self" => {
                setsid().unwrap();
                ignore_signals();
                ready();
            }
            other => panic!("unknown: {other}"),
        }
    }
}

struct Agent {
    pids: Option<String>,
}

impl Agent {
    fn note_in(&mut self, file: String) {
        self.pids = Some(file);
        self.note(getpid());
    }

    fn note(&self, pid: Pid) {
        if let Some(file) = &self.pids {
            let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(file, "{pid}").unwrap();
        }
    }

    /// Starts itself in the background and waits until it is what it should be.
    #[expect(clippy::zombie_processes, reason = "to leave processes behind is what this is for")]
    fn start(&self, arguments: &[&str], clean: bool) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        if clean {
            command.env_clear();
        }
        let mut child = command.spawn().unwrap();
        self.note(Pid::from_child(&child));
        let mut ready = [0];
        child.stderr.take().unwrap().read_exact(&mut ready).unwrap();
    }

    /// A process between that is gone when this returns.
    fn start_orphan(&self) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        if let Some(file) = &self.pids {
            command.args(["--pids", file]);
        }
        let status = command.arg("--grandchild-clean").stdin(Stdio::null()).status().unwrap();
        assert!(status.success());
    }
}

/// Tells whoever started us, then goes on forever.
fn ready() {
    std::io::stderr().write_all(b".").unwrap();
    hang();
}

fn hang() {
    std::thread::sleep(FOR_EVER);
    exit(99);
}

fn print(bytes: &[u8]) {
    let mut out = std::io::stdout();
    out.write_all(bytes).unwrap();
    out.flush().unwrap();
}

fn say(line: &str) {
    print(format!("{line}\n").as_bytes());
}

fn claude(text: &str) {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    say(concat!(
        r#"{"type":"system","subtype":"init","cwd":"/","session_id":"s-1","tools":[],"#,
        r#""mcp_servers":[],"model":"claude-fake","permissionMode":"default","#,
        r#""claude_code_version":"0.0.0","uuid":"u-1"}"#
    ));
    say(&format!(
        concat!(
            r#"{{"duration_ms":7,"num_turns":1,"is_error":false,"result":"{}","type":"result","#,
            r#""subtype":"success","stop_reason":"end_turn","terminal_reason":"completed","#,
            r#""total_cost_usd":0.001,"session_id":"s-1","usage":{{"input_tokens":3,"#,
            r#""output_tokens":5}},"permission_denials":[],"uuid":"u-2"}}"#
        ),
        text
    ));
}

fn flood(out: &mut impl Write, mut bytes: usize) {
    let block = [&[b'x'; 99][..], b"\n"].concat().repeat(656);
    while bytes > 0 {
        let part = bytes.min(block.len());
        out.write_all(&block[..part]).unwrap();
        bytes -= part;
    }
    out.flush().unwrap();
}

fn long_line(mut bytes: usize) {
    let block = [b'x'; 65_536];
    while bytes > 0 {
        let part = bytes.min(block.len());
        print(&block[..part]);
        bytes -= part;
    }
    print(b"\n");
}

fn ignore_signals() {
    for ignored in [Signal::HUP, Signal::INT, Signal::TERM] {
        // SAFETY: to ignore a signal needs no handler.
        unsafe { signal(ignored.as_raw(), SIG_IGN) };
    }
}

fn exit_on_int() {
    extern "C" fn leave(_: c_int) {
        // SAFETY: allowed in a handler of signals.
        unsafe { _exit(0) }
    }
    let handler: extern "C" fn(c_int) = leave;
    // SAFETY: the handler makes one system call that is allowed there.
    unsafe { signal(Signal::INT.as_raw(), handler as usize) };
}

fn answer_lines() {
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        say(&format!("heard {line}"));
        if line == "bye" {
            break;
        }
    }
    say("end of input");
}

fn close_stdout() {
    std::io::stdout().flush().unwrap();
    close(1);
}

fn close(stream: c_int) {
    // SAFETY: nothing in this process uses it afterwards.
    unsafe { rustix::io::close(stream) };
}
