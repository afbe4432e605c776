//! `ralph config get`, `set`, `unset` and `edit`: one setting, or one config file. A change that ralph could not read
//! back, or would ignore, is refused before anything is written.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::trust::SETTINGS;
use ralph_engine::project::{Project, private_folder, write_atomically, write_through};
use ralph_engine::untrusted;
use ralph_engine::worktree_files;

use crate::commands::editor::Editor;
use crate::config::{self, Config, Loaded, Origin, Reach, Setting, View};
use crate::error::{CliError, Done, Result};
use crate::exit_codes::Exit;
use crate::launch;
use crate::wiring::Context;

/// Which file to change.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct WhichFile {
    /// Your own config file, for all of your repositories
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// The ralph.toml of this repository
    #[arg(long)]
    project: bool,
}

struct ConfigFile {
    path: PathBuf,
    /// The path as ralph shows it.
    shown: PathBuf,
    is_user: bool,
    text: String,
}

pub(super) fn get(key: &str, origin: bool, json: bool, context: &mut Context<'_>) -> Done {
    let (key, _) = config::known(key)?;
    let config = context.config()?;
    let preset = launch::preset_here(&config, &context.folder());
    let entry = config.entry_with(key.to_owned().into(), preset);
    if json {
        return context.out.json(&config::entry_json(&entry));
    }
    if origin {
        return context.out.line(config::entry_line(&entry));
    }
    match entry.value {
        View::List(items) => items.iter().try_for_each(|item| context.out.line(item)),
        value => context.out.line(value.plain()),
    }
}

pub(super) fn set(key: &str, value: &str, which: WhichFile, context: &mut Context<'_>) -> Done {
    let (key, setting) = config::known(key)?;
    let file = ConfigFile::of(Some((key, setting)), which, context)?;
    let (text, shown) =
        config::set(&file.text, key, value).map_err(|error| file.refused(error, context))?;
    if text != file.text {
        file.check(&text, context)?;
        file.write(&text)?;
    }
    context.out.note(format!("{key} = {shown} in {}", file.shown.display()));
    file.report_override(key, context)
}

pub(super) fn unset(key: &str, which: WhichFile, context: &mut Context<'_>) -> Done {
    let (key, setting) = config::known(key)?;
    let file = ConfigFile::of(Some((key, setting)), which, context)?;
    let path = file.shown.display().to_string();
    let Some(text) =
        config::unset(&file.text, key).map_err(|error| file.refused(error, context))?
    else {
        context.out.note(format!("Nothing to do: {path} does not set {key}"));
        return file.report_elsewhere(key, context);
    };
    file.check(&text, context)?;
    file.write(&text)?;
    context.out.note(format!("Removed {key} from {path}"));
    file.report_elsewhere(key, context)
}

pub(super) fn edit(which: WhichFile, context: &mut Context<'_>) -> Done {
    let file = ConfigFile::of(None, which, context)?;
    let editor = Editor::of(context, "ralph config edit")?;
    if let Some(folder) = file.path.parent() {
        private_folder(folder)?;
    }
    editor.open(&file.path, context)?;
    let file = ConfigFile::of(None, which, context)?;
    let again = format!("fix it: ralph config edit --{}", file.owner());
    let loaded = file.load(&file.text, context).map_err(|error| error.hint(again))?;
    for warning in &loaded.warnings {
        context.out.warning(warning);
    }
    context.out.conclude(format!("{} is valid", file.shown.display()))
}

impl ConfigFile {
    /// The file that the flags choose: by default the repository's, or the user's outside of a repository and for
    /// settings that only the user may set.
    fn of(
        setting: Option<(&str, &Setting)>,
        which: WhichFile,
        context: &Context<'_>,
    ) -> Result<Self> {
        if context.is_inside() {
            return Err(CliError::failed("sessions and gates cannot change settings")
                .hint("type this in another terminal"));
        }
        let user_only = setting
            .is_some_and(|(_, setting)| matches!(setting.reach, Reach::UserOnly | Reach::Program));
        if which.project && user_only {
            let key = setting.map_or("", |(key, _)| key);
            return Err(failed!(
                "`{key}` can only be set in your own config file, not in ralph.toml"
            )
            .hint("omit --project"));
        }
        let project = Project::find(&context.folder());
        let is_user = which.user || (!which.project && (user_only || project.is_err()));
        match is_user {
            true => Self::of_user(context),
            false => Self::of_project(&project?, context),
        }
    }

    fn of_user(context: &Context<'_>) -> Result<Self> {
        let none =
            || CliError::failed("ralph does not know where your config file is").hint("set HOME");
        let path = context.environment.user_config.clone().ok_or_else(none)?;
        let text = text_of(&path, untrusted::read_through_links(&path, untrusted::SMALL))?;
        let shown = context.short(&path);
        Ok(Self { path, shown, is_user: true, text })
    }

    /// `ralph.toml`, or the file that `--config` names instead.
    fn of_project(project: &Project, context: &Context<'_>) -> Result<Self> {
        let root = &project.worktree;
        let (path, shown) = match &context.global.config {
            Some(path) => (path.clone(), path.clone()),
            None => (root.join(SETTINGS), SETTINGS.into()),
        };
        let text = text_of(&path, worktree_files::read_named(Some(root), &path, untrusted::SMALL))?;
        // ralph has just read it, so a link in the worktree is committed and leads to another file there.
        let path = if path.is_symlink() { path.canonicalize()? } else { path };
        Ok(Self { path, shown, is_user: false, text })
    }

    fn owner(&self) -> &'static str {
        if self.is_user { "user" } else { "project" }
    }

    /// The error for a value or a file that does not allow the change. A file that ralph cannot read is shown with the
    /// line.
    fn refused(&self, error: CliError, context: &Context<'_>) -> CliError {
        if error.exit == Exit::Usage {
            return error;
        }
        let edit = format!("change the file yourself: ralph config edit --{}", self.owner());
        match self.load(&self.text, context) {
            Err(error) => error.hint(edit),
            Ok(_) => failed!("{}: {}", self.shown.display(), error.message()).hint(edit),
        }
    }

    /// Loads the config files with this text in place of this file, without environment and flags.
    fn load(&self, text: &str, context: &Context<'_>) -> Result<Loaded> {
        let mut sources = context.sources().unwrap_or_default();
        sources.env.clear();
        sources.set.clear();
        sources.resumed.clear();
        let changed = Some((self.shown.clone(), text.to_owned()));
        match self.is_user {
            true => (sources.user, sources.repo) = (changed, None),
            false => sources.repo = changed,
        }
        Config::load(sources)
    }

    /// Refuses a text that ralph could not read, or of which it would ignore more than before.
    fn check(&self, text: &str, context: &Context<'_>) -> Done {
        let after = self.load(text, context)?;
        let Ok(before) = self.load(&self.text, context) else { return Ok(()) };
        let is_new = |message: &String| before.warnings.iter().all(|old| old.message != *message);
        match after.warnings.into_iter().map(|warning| warning.message).find(is_new) {
            Some(message) => Err(CliError::failed(message).hint("nothing was changed")),
            None => Ok(()),
        }
    }

    fn write(&self, text: &str) -> Done {
        let written = match self.is_user {
            true => write_through(&self.path, text, 0o600),
            false => write_atomically(&self.path, text),
        };
        written.map_err(|error| CliError::file(&self.shown, "written", error))
    }

    fn report_override(&self, key: &str, context: &mut Context<'_>) -> Done {
        let config = context.config()?;
        let entry = config.entries().find(|entry| entry.key == key);
        let Some(entry) = entry else { return Ok(()) };
        let is_ours = match entry.origin {
            Origin::User(_) => self.is_user,
            Origin::Repo(_) => !self.is_user,
            _ => false,
        };
        if !is_ours {
            let (value, origin) = (entry.value.to_string(), entry.origin.to_string());
            context.out.warning(format!("{key} is still {value}: {origin} overrides this file"));
        }
        Ok(())
    }

    fn report_elsewhere(&self, key: &str, context: &mut Context<'_>) -> Done {
        let config = context.config()?;
        let entry = config.entries().find(|entry| entry.key == key);
        if let Some(entry) = entry.filter(|entry| entry.origin != Origin::Default) {
            context.out.note(format!("{key} is still {}, from {}", entry.value, entry.origin));
        }
        Ok(())
    }
}

fn text_of(path: &Path, read: std::io::Result<Vec<u8>>) -> Result<String> {
    let failed = |why: String| CliError::file(path, "read", why);
    match read {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed(error.to_string())),
    }
}
