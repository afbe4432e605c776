//! What a session leaves in its caches is never followed by a run outside of the box.

use std::fs;

use crate::world::{Who, World, has_boxes};

/// Links where the next run writes: the settings of cargo, and the agent's login.
const PLANT: &str = r#"
rm -f "$CARGO_HOME/config.toml"; ln -s "$HOME/.profile" "$CARGO_HOME/config.toml"
rm -rf "$npm_config_cache/_cacache"; ln -s "$HOME" "$npm_config_cache/_cacache"
rm -f "$CLAUDE_CONFIG_DIR/.credentials.json"; ln -s "$HOME/.bashrc" "$CLAUDE_CONFIG_DIR/.credentials.json"
touch -h -d 2001-01-01 "$CLAUDE_CONFIG_DIR/.credentials.json"
ln -s "$HOME" "$CLAUDE_CONFIG_DIR/hooks"
echo planted > "$CLAUDE_CONFIG_DIR/settings.local.json"
echo planted > "$XDG_CACHE_HOME/planted"
"#;

#[test]
fn links_that_a_session_leaves_lead_no_later_run_out() {
    if !has_boxes("links that a session leaves") {
        return;
    }
    let world = World::new(Who::Me, "full");
    world.aim("");
    world.set_agent(PLANT);
    fs::create_dir_all(world.env.home().join(".claude/hooks")).unwrap();
    fs::write(world.env.home().join(".cargo/config.toml"), "# the person's\n").unwrap();
    let before = world.picture();
    let first = world.build(&[]);
    assert_eq!(first.code, 0, "{}", first.output);
    let planted = world.env.home().join(".cache/ralph");
    assert!(crate::world::names_below(&planted).iter().any(|name| name == "planted"));
    world.set_agent("cat \"$CARGO_HOME/config.toml\" > seen.txt");
    world.env.task(&["add", "again", "--id", "again"]);
    let second = world.ralph(&["build", "--task", "again", "--once"]);
    assert!(!second.output.contains("could not be made"), "{}", second.output);
    let seen = fs::read_to_string(world.repo("seen.txt"));
    assert_eq!(seen.ok().as_deref(), Some("# the person's\n"), "{}", second.output);
    let mut after = world.picture();
    // It was written for the second session.
    after.retain(|path, _| !path.ends_with("bin/claude") && !path.ends_with("bin"));
    let changed: Vec<_> =
        after.iter().filter(|(path, now)| before.get(*path) != Some(now)).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn a_folder_of_ralph_that_is_a_link_is_not_followed() {
    if !has_boxes("a folder of ralph that is a link") {
        return;
    }
    let world = World::new(Who::Me, "full");
    world.aim("");
    // A worktree whose branch has brought `.ralph` along as a link to a folder of the person's.
    let other = world.path("other");
    let target = world.path("outside/features");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(world.path("outside"), other.join(".ralph")).unwrap();
    let mut command = world.command(&["build", "--task", "mine"]);
    let output = command.current_dir(&other).output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_ne!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("is a symbolic link"), "{printed}");
    assert!(!world.path("outside/skills").exists(), "{printed}");
}

/// What a session may not read, the loop must not read for it.
#[test]
fn a_prompt_that_a_session_turned_into_a_link_is_not_read_to_the_next_one() {
    if !has_boxes("a prompt that is a link") {
        return;
    }
    let world = World::new(Who::Me, "full");
    world.aim("");
    world.set_agent("ln -s \"$HOME/.ssh/id_ed25519\" PROMPT_build.md");
    let first = world.build(&[]);
    assert_eq!(first.code, 0, "{}", first.output);
    assert!(world.repo("PROMPT_build.md").is_symlink());
    world.set_agent(
        "tr '\\0' '\\n' < agent.argv | while read f; do echo $f; cat $f; done > told.txt 2>&1",
    );
    world.env.task(&["add", "again", "--id", "again"]);
    let second = world.ralph(&["build", "--task", "again", "--once"]);
    let text = fs::read_to_string(world.repo("told.txt")).unwrap_or_default();
    assert!(!text.contains(&world.secret), "{text}");
    assert!(second.output.contains("A session changed PROMPT_build.md"), "{}", second.output);
}

/// The file of the repository is a session's to write: it must not name secrets for the next one.
#[test]
fn no_session_names_the_variables_that_the_next_one_gets() {
    if !has_boxes("variables that a session names") {
        return;
    }
    let world = World::new(Who::Me, "full");
    world.aim("");
    world.env.task(&["add", "again", "--id", "again"]);
    world.set_agent("printf '[agent]\\nenv = [\"DATABASE_URL\"]\\n' > ralph.toml");
    let first = world.build(&[]);
    assert_eq!(first.code, 0, "{}", first.output);
    world.set_agent("env > variables.txt");
    let second = world.ralph(&["build", "--task", "again", "--once"]);
    assert!(second.output.contains("A session changed ralph.toml"), "{}", second.output);
    let text = fs::read_to_string(world.repo("variables.txt")).unwrap_or_default();
    assert!(!text.contains(&world.secret), "{text}");
}
