//! Turns the `[notify]` settings into notification channels.

use std::io::{self, Write};

use ralph_core::run::Notice;
use ralph_core::view::NotificationRules;
use ralph_engine::host::host;
use ralph_engine::notify::{Channel, ChannelContext, Notifier, Warn};
use ralph_engine::project::Project;
use ralph_ui::style::Meaning;

use super::agent::gate_environment;
use super::display::AnyReporter;
use crate::config::{Config, key};
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// A channel whose program is missing.
#[derive(Debug)]
pub(crate) struct Missing {
    /// In a sentence, without a full stop.
    pub(crate) says: String,
    pub(crate) remedy: &'static str,
    /// Whether another channel replaces it.
    replaced: bool,
}

/// The channels, and those whose programs are missing.
#[derive(Debug, Default)]
pub(crate) struct Wished {
    pub(crate) channels: Vec<Channel>,
    pub(crate) missing: Vec<Missing>,
}

/// The channels of the settings whose programs exist, and those whose programs are missing.
pub(crate) fn wished(config: &Config, context: &Context<'_>) -> Result<Wished> {
    let mut wished = Wished::default();
    let url = config.get(key::NOTIFY_WEBHOOK);
    if !(url.is_empty() || url.starts_with("https://") || url.starts_with("http://")) {
        return Err(CliError::failed("`notify.webhook` must begin with https:// or http://")
            .hint("fix it in your own config file"));
    }
    if config.get(key::NOTIFY_ON).is_empty() {
        return Ok(wished);
    }
    let find = |program: &str| host().find(program);
    if config.get(key::NOTIFY_DESKTOP) {
        let (program, remedy) = if cfg!(target_os = "macos") {
            ("osascript", "put /usr/bin on PATH")
        } else {
            ("notify-send", "install it, for example: apt-get install libnotify-bin")
        };
        match find(program) {
            Some(path) if cfg!(target_os = "macos") => {
                wished.channels.push(Channel::Osascript(path));
            }
            Some(path) => wished.channels.push(Channel::NotifySend(path)),
            None => wished.missing.push(Missing {
                says: format!("{program} was not found, so there are no desktop notifications"),
                remedy,
                replaced: false,
            }),
        }
    }
    if config.get(key::NOTIFY_SOUND) {
        let voice = if cfg!(target_os = "macos") {
            find("say").map(Channel::Say)
        } else {
            let spd = find("spd-say").map(Channel::SpdSay);
            spd.or_else(|| find("espeak-ng").map(Channel::EspeakNg))
        };
        let terminal = context.out.message_style.width.is_some();
        if voice.is_none() {
            let (names, remedy) = if cfg!(target_os = "macos") {
                ("say was not found", "put /usr/bin on PATH")
            } else {
                let install = "install a voice, for example: apt-get install espeak-ng";
                ("neither spd-say nor espeak-ng was found", install)
            };
            let instead = match terminal {
                true => "the terminal bell rings instead",
                false => "there is no sound",
            };
            let says = format!("{names}: {instead}");
            wished.missing.push(Missing { says, remedy, replaced: terminal });
        }
        wished.channels.extend(voice.or_else(|| terminal.then_some(Channel::Bell(ring))));
    }
    if !url.is_empty() {
        match find("curl") {
            Some(curl) => wished.channels.push(Channel::Webhook { curl, url: url.to_owned() }),
            None => wished.missing.push(Missing {
                says: "curl was not found, so nothing is posted to the webhook".to_owned(),
                remedy: "install it, for example: apt-get install curl",
                replaced: false,
            }),
        }
    }
    let command = config.get(key::NOTIFY_COMMAND);
    if !command.trim().is_empty() {
        wished.channels.push(Channel::Command(command.to_owned()));
    }
    Ok(wished)
}

/// The warnings that a run prints before it starts.
pub(super) fn notices(config: &Config, context: &Context<'_>) -> Result<Vec<Notice>> {
    let missing = wished(config, context)?.missing.into_iter().filter(|one| !one.replaced);
    Ok(missing.map(|one| Notice::Other { text: one.says }).collect())
}

/// The display that sends the notifications; `None` if there are no channels.
pub(super) fn notifier(
    config: &Config,
    project: &Project,
    context: &Context<'_>,
) -> Result<Option<AnyReporter>> {
    let channels = wished(config, context)?.channels;
    if channels.is_empty() {
        return Ok(None);
    }
    let on = config.get(key::NOTIFY_ON).into_iter().filter_map(|word| word.parse().ok());
    let name = project.root.file_name().unwrap_or_default().to_string_lossy();
    let place = ChannelContext {
        root: project.root.clone(),
        folder: project.worktree.clone(),
        environment: host().environment(&gate_environment(context.environment)),
    };
    let rules = NotificationRules::new(on, &name);
    Ok(Some(Box::new(Notifier::start(rules, channels, place, warn(context)))))
}

/// Prints a warning outside of the displays; `-q` silences it.
fn warn(context: &Context<'_>) -> Warn {
    let (style, quiet) = (context.out.message_style, context.global.quiet);
    Box::new(move |text| {
        if !quiet {
            let word = style.paint(Meaning::Warning, "warning:");
            let _ = writeln!(io::stderr(), "{word} {text}");
        }
    })
}

/// Rings the bell. It moves no cursor, so it may come at any time.
fn ring() {
    let _ = io::stderr().write_all(b"\x07");
}
