//! The examples of agents by config: their blocks in the docs drive the real programs, in the sandbox.

use std::os::unix::fs::symlink;
use std::path::Path;

use ralph_testkit::times;

use super::*;

/// The block of the page that describes this agent.
fn documented(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents-by-config.md");
    let page = std::fs::read_to_string(page).unwrap();
    let heading = format!("[agent.{name}]");
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(&heading)).unwrap().to_owned()
}

/// Runs the agent as the page describes it, where the page expects it. The programs are large: only `./check --full`
/// installs them.
fn works_as_documented(name: &str, place: &str, script: Script, variables: &[(&str, &str)]) {
    if times(0, 1) == 0 {
        return;
    }
    let executable = match ralph_testkit::agents::install(name) {
        Ok(executable) => executable,
        Err(error) => {
            ralph_testkit::skip(&format!("{name}: not installed: {}", error.trim()));
            return;
        }
    };
    // It lies two folders below what the page puts into `sandbox.readable`.
    let installed = executable.parent().unwrap().parent().unwrap();
    let Some(mut env) = AgentEnv::new(RALPH, AgentKind::Codex, script) else { return };
    let place = env.home().join(place);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    symlink(installed, place).unwrap();
    let url = format!("{}/v1", env.server().url());
    for (variable, value) in variables {
        env.set(variable, &value.replace("URL", &url));
    }
    let config = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, documented(name)).unwrap();
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    let output = output_of(build(&env, &["--once", "--agent", name]), 0);
    has(&output, "✓ done     a");
    assert_eq!(outcomes(&env), ["done"]);
    assert_eq!(env.git(&["show", "HEAD:hello.txt"]), "hello\n");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "HEAD"]), "hello.txt\n");
    assert_eq!(processes(&env), [""; 0]);
}

/// aider edits files by blocks in the text of its model.
#[test]
fn aider_works_as_documented() {
    let edit =
        format!("hello.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n\n{DONE}");
    let script = Script::answering(move |_| Turn::text(edit.clone())).without_tools();
    let variables = [("OPENAI_API_KEY", "sk-fake"), ("OPENAI_API_BASE", "URL")];
    works_as_documented("aider", ".venvs/aider", script, &variables);
}

#[test]
fn qwen_code_works_as_documented() {
    let script = Script::new().session(session("hello")).for_ever();
    let variables =
        [("OPENAI_API_KEY", "sk-fake"), ("OPENAI_BASE_URL", "URL"), ("OPENAI_MODEL", "scripted")];
    works_as_documented("qwen", ".npm-packages", script, &variables);
}
