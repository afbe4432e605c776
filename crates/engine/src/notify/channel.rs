//! The channels that deliver a notification: which program, with which arguments. Text from agents is never an
//! option, and no shell reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::view::Message;

use crate::agents::set;
use crate::forge::curl_value;
use crate::process::CommandSpec;

use super::ChannelContext;

/// Shows what it is given as arguments, so that no text becomes a part of the script.
const OSASCRIPT: [&str; 6] = [
    "-e",
    "on run argv",
    "-e",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "-e",
    "end run",
];

#[derive(Debug, Clone)]
pub enum Channel {
    NotifySend(PathBuf),
    Osascript(PathBuf),
    Say(PathBuf),
    SpdSay(PathBuf),
    EspeakNg(PathBuf),
    /// A sound that the caller makes. It takes no time.
    Bell(fn()),
    Webhook {
        curl: PathBuf,
        /// The address; only `http` and `https`.
        url: String,
    },
    Command(String),
}

impl Channel {
    /// Its name in messages. The address of a webhook is a secret and not part of it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotifySend(_) => "notify-send",
            Self::Osascript(_) => "osascript",
            Self::Say(_) => "say",
            Self::SpdSay(_) => "spd-say",
            Self::EspeakNg(_) => "espeak-ng",
            Self::Bell(_) => "the bell",
            Self::Webhook { .. } => "the webhook",
            Self::Command(_) => "notify.command",
        }
    }

    /// The program that delivers `message`; `None` where none is needed.
    pub(super) fn command(&self, message: &Message, place: &ChannelContext) -> Option<CommandSpec> {
        let mut env = place.environment.clone();
        let json = || serde_json::to_vec(message).unwrap_or_default();
        let (program, args, stdin): (OsString, Vec<OsString>, Vec<u8>) = match self {
            Self::NotifySend(program) => {
                let title = message.title.clone().into();
                let body = markup(&message.text).into();
                let args = vec!["--app-name=ralph".into(), "--".into(), title, body];
                (program.into(), args, vec![])
            }
            Self::Osascript(program) => {
                // The title starts with a word of ralph's, and nothing after it is an option.
                let texts = [&message.title, &message.text];
                let args = OSASCRIPT.iter().map(Into::into).chain(texts.map(Into::into));
                (program.into(), args.collect(), vec![])
            }
            // `say` interprets its text: two brackets would be a command to the voice.
            Self::Say(program) => {
                (program.into(), vec![], message.spoken.replace("[[", "[").into_bytes())
            }
            // It starts its server if there is none, and that server ends when it returns.
            Self::SpdSay(program) => {
                let spoken = message.spoken.clone().into();
                (program.into(), vec!["--wait".into(), "--".into(), spoken], vec![])
            }
            Self::EspeakNg(program) => {
                (program.into(), vec!["--".into(), message.spoken.clone().into()], vec![])
            }
            Self::Webhook { curl, url } => {
                let json = String::from_utf8(json()).unwrap_or_default();
                (curl.into(), vec!["--config".into(), "-".into()], curl_config(url, &json))
            }
            Self::Command(command) => {
                let task = message.task.as_ref().map_or("", |task| task.as_str());
                for (name, value) in [
                    ("RALPH_EVENT", message.event.as_str()),
                    ("RALPH_RUN_ID", message.run.as_str()),
                    ("RALPH_TASK_ID", task),
                    ("RALPH_TITLE", &message.title),
                    ("RALPH_TEXT", &message.text),
                    ("RALPH_REPO", &message.repo),
                ] {
                    set(&mut env, name, value);
                }
                ("/bin/sh".into(), vec!["-c".into(), command.into()], json())
            }
            Self::Bell(_) => return None,
        };
        Some(CommandSpec { program, args, folder: place.folder.clone(), env, stdin: stdin.into() })
    }
}

/// A text for `notify-send`, which reads backslashes in it, and for the desktop, which reads markup.
fn markup(text: &str) -> String {
    text.replace('\\', "\\\\").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Everything that curl has to know, for its standard input: others can read its arguments, and
/// addresses of webhooks are secrets.
fn curl_config(url: &str, json: &str) -> Vec<u8> {
    format!(
        "silent\nshow-error\nfail\ngloboff\nmax-time = 10\nproto = \"=http,https\"\n\
         output = \"/dev/null\"\nheader = \"Content-Type: application/json\"\n\
         url = {}\ndata-raw = {}\n",
        curl_value(url),
        curl_value(json)
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use ralph_core::TaskId;
    use ralph_core::ids::RunId;
    use ralph_core::view::NotificationKind;

    use super::*;

    fn message(text: &str) -> Message {
        Message {
            event: NotificationKind::Failed,
            run: RunId::new("r-1").unwrap(),
            task: Some(TaskId::new("t-1").unwrap()),
            title: "Task failed: t-1".to_owned(),
            text: text.to_owned(),
            repo: "shop".to_owned(),
            spoken: format!("Task failed: {text}"),
        }
    }

    fn command(channel: &Channel, text: &str) -> (Vec<String>, String, CommandSpec) {
        let place = ChannelContext {
            root: "/".into(),
            folder: "/".into(),
            environment: vec![("LANG".into(), "C".into())],
        };
        let spec = channel.command(&message(text), &place).unwrap();
        let args = spec.args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        (args, String::from_utf8(spec.stdin.opening().to_vec()).unwrap(), spec)
    }

    #[test]
    fn s1_29_on_macos_the_message_is_spoken_by_say() {
        let (args, stdin, spec) = command(&Channel::Say("/usr/bin/say".into()), "-v [[volm 9]]");
        assert_eq!((spec.program.to_str(), args.len()), (Some("/usr/bin/say"), 0));
        assert_eq!(stdin, "Task failed: -v [volm 9]]");
    }

    #[test]
    fn on_macos_no_text_is_part_of_the_script() {
        let evil = "\" & (do shell script \"id\") & \"";
        let (args, _, _) = command(&Channel::Osascript("osascript".into()), evil);
        assert_eq!(args[..6], OSASCRIPT);
        assert_eq!(args[6..], ["Task failed: t-1", evil]);
    }

    #[test]
    fn a_desktop_gets_text_and_neither_options_nor_markup() {
        let (args, _, _) = command(&Channel::NotifySend("n".into()), "--hint=<b>&\\033");
        let body = "--hint=&lt;b&gt;&amp;\\\\033";
        assert_eq!(args, ["--app-name=ralph", "--", "Task failed: t-1", body]);
    }

    #[test]
    fn other_voices_get_the_text_behind_the_options() {
        let (args, _, _) = command(&Channel::SpdSay("s".into()), "-x");
        assert_eq!(args, ["--wait", "--", "Task failed: -x"]);
        let (args, _, _) = command(&Channel::EspeakNg("e".into()), "-x");
        assert_eq!(args, ["--", "Task failed: -x"]);
    }

    #[test]
    fn an_address_is_not_among_the_arguments_and_cannot_bring_options() {
        let url = "https://example.org/x\"\nupload-file = \"/etc/passwd";
        let channel = Channel::Webhook { curl: "curl".into(), url: url.to_owned() };
        let (args, stdin, _) = command(&channel, "say \"hi\" \\");
        assert_eq!(args, ["--config", "-"]);
        assert!(
            stdin.contains("url = \"https://example.org/x\\\"upload-file = \\\"/etc/passwd\"\n")
        );
        let data = stdin.lines().find_map(|line| line.strip_prefix("data-raw = \"")).unwrap();
        let data = data.strip_suffix('"').unwrap().replace("\\\"", "\"").replace("\\\\", "\\");
        let json: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(json["text"], "say \"hi\" \\");
        assert_eq!(json["event"], "failed");
    }

    #[test]
    fn a_command_gets_the_facts_as_variables_and_as_json() {
        let (args, stdin, spec) = command(&Channel::Command("echo $RALPH_TEXT".into()), "$(id)");
        assert_eq!(args, ["-c", "echo $RALPH_TEXT"]);
        let value = |name: &str| {
            let found = spec.env.iter().find(|(known, _)| known == name);
            found.unwrap().1.to_str().unwrap().to_owned()
        };
        assert_eq!(value("RALPH_TEXT"), "$(id)");
        assert_eq!(value("RALPH_EVENT"), "failed");
        assert_eq!(value("RALPH_TASK_ID"), "t-1");
        assert_eq!(value("RALPH_RUN_ID"), "r-1");
        assert_eq!(value("LANG"), "C");
        let json: serde_json::Value = serde_json::from_str(&stdin).unwrap();
        assert_eq!(json["repo"], "shop");
    }
}
