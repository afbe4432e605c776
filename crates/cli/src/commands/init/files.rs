//! Which files `ralph init` writes: its own for every project, and for each agent what that agent looks for.

use ralph_engine::agents::{self, AGENTS, Profile};
use ralph_engine::prompts::InitFile;

use crate::config::Config;
use crate::launch::{BUILD_SKILL, named_agents};

/// The files for every project whose whole text is ralph's. The first one belongs to the user from the start.
pub(super) const COMMON: [(&str, &str); 3] = [
    ("ralph.toml", include_str!("ralph.toml")),
    ("PROMPT_build.md", InitFile::Build.text()),
    ("PROMPT_plan.md", InitFile::Plan.text()),
];

/// The skills, by their names.
pub(super) const SKILLS: [(&str, &str); 3] = [
    ("ralph-spec", include_str!("ralph-spec.md")),
    ("ralph-plan", include_str!("ralph-plan.md")),
    ("ralph-build", BUILD_SKILL),
];

/// The agents whose files init writes: those that the settings name. Of these, recordings read no files: where there is
/// nothing else, the default agent counts.
pub(crate) fn agents_in_use(config: &Config) -> Vec<&'static Profile> {
    let named = named_agents(config).into_iter().filter_map(agents::find);
    let found: Vec<&'static Profile> = named.filter(|agent| !agent.install.is_empty()).collect();
    match found.is_empty() {
        true => AGENTS.iter().copied().take(1).collect(),
        false => found,
    }
}

/// The files of these agents whose whole text is ralph's, each once.
pub(super) fn of_agents(agents: &[&Profile]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for conventions in agents.iter().map(|agent| &agent.conventions) {
        let skills = SKILLS.iter().filter(|_| !conventions.skills.is_empty());
        let skills = skills.map(|(name, text)| {
            (format!("{}/{name}/SKILL.md", conventions.skills), (*text).to_owned())
        });
        let rules = conventions.rules.map(|(path, line)| (path.to_owned(), format!("{line}\n")));
        for (path, text) in skills.chain(rules) {
            if !files.iter().any(|(known, _)| *known == path) {
                files.push((path, text));
            }
        }
    }
    files
}

/// Every file whose whole text is ralph's, whatever the agent.
pub(super) fn every_file() -> Vec<(String, String)> {
    let common = COMMON.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    common.chain(of_agents(AGENTS)).collect()
}

/// The files that `ralph clean --all` removes while they are unchanged: all except the settings.
pub(crate) fn untouched_go() -> Vec<String> {
    every_file().into_iter().map(|(path, _)| path).skip(1).collect()
}

/// The folders around the skills of every agent, inner ones first.
pub(crate) fn skill_folders() -> Vec<String> {
    let files = of_agents(AGENTS);
    let skills = files.iter().filter_map(|(path, _)| path.strip_suffix("/SKILL.md"));
    let mut folders: Vec<String> = skills.map(str::to_owned).collect();
    let of_skills = AGENTS.iter().map(|agent| agent.conventions.skills);
    let above = of_skills.clone().filter_map(|folder| Some(folder.rsplit_once('/')?.0));
    let of_hooks = AGENTS.iter().filter_map(|agent| Some(agent.conventions.hooks?.path));
    let of_hooks = of_hooks.filter_map(|path| Some(path.rsplit_once('/')?.0));
    for folder in of_skills.filter(|folder| !folder.is_empty()).chain(above).chain(of_hooks) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}
