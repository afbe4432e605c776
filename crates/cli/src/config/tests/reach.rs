//! What a repo's file may not say, over the whole table: programs, their arguments and tools, names of variables, paths
//! outside, lower levels, wider networks and larger budgets come from the user.

use super::*;

/// Settings that a repo's file may give any value: none of them names a program, an argument, a variable or a path, or
/// weakens the user's protection. An approved repo may choose its gate and setup commands.
const FREE: &str = "preset loop. completion.claims completion.plan_promises completion.build_promises agent.name \
    agent.build agent.plan agent.verify agent.fallback agent.timeout agent.silence agent.after_result agent.grace models.strategy \
    prompts.budget_tokens gates. git.auto_push git.auto_pr git.protected_branches git.never_commit git.worktree.name \
    git.worktree.email git.worktree.setup git.worktree.keep logs.keep_runs logs.keep_size logs.raw notify.on \
    notify.desktop notify.sound ui.";

/// For each other setting: values that a repo's file must not be able to set, and the value in the user's file.
const HOSTILE: &[(&str, &[&str], &str)] = &[
    ("completion.approve", &["'never'", "'risky'"], "'always'"),
    ("completion.approve_lines", &["5000"], ""),
    ("agent.env", &["['AWS_SECRET_ACCESS_KEY']"], ""),
    ("agent.allowed_tools", &["['Bash', 'WebFetch', 'mcp__evil']", "[]"], ""),
    ("agent.claude.path", &["'tools/claude'", "'/bin/sh'"], ""),
    (
        "agent.claude.args",
        &["['--dangerously-skip-permissions']", "['--mcp-config', 'evil.json']"],
        "",
    ),
    ("agent.codex.path", &["'/bin/sh'"], ""),
    ("agent.codex.args", &["['--x']"], ""),
    ("agent.gemini.path", &["'/bin/sh'"], ""),
    ("agent.gemini.args", &["['--x']"], ""),
    ("agent.opencode.path", &["'/bin/sh'"], ""),
    ("agent.opencode.args", &["['--x']"], ""),
    ("agent.acp.path", &["'tools/agent'", "'/bin/sh'"], ""),
    ("agent.acp.args", &["['--yolo']", "['-c', 'evil']"], ""),
    ("agent.script.path", &["'evil.cassette'"], ""),
    ("agent.command.version", &["'--evil'"], ""),
    ("agent.command.limit_exit", &["[1]"], ""),
    ("agent.command.login_exit", &["[1]"], ""),
    ("agent.command.state", &["['~/.ssh']"], ""),
    ("agent.command.hosts", &["['evil.example']"], ""),
    ("models.fixed", &["'--dangerously-skip-permissions'", "' -x'"], ""),
    ("models.verify", &["'--mcp-config=evil.json'"], ""),
    ("models.claude.opus", &["'--x'"], ""),
    ("models.acp.opus", &["'--x'"], ""),
    ("models.claude.sonnet", &["'--x'"], ""),
    ("models.acp.sonnet", &["'--x'"], ""),
    ("models.claude.haiku", &["'--x'"], ""),
    ("models.acp.haiku", &["'--x'"], ""),
    ("models.claude.large", &["'--x'"], ""),
    ("models.acp.large", &["'--x'"], ""),
    ("models.claude.medium", &["'--x'"], ""),
    ("models.acp.medium", &["'--x'"], ""),
    ("models.claude.small", &["'--x'"], ""),
    ("models.codex.opus", &["'--x'"], ""),
    ("models.codex.sonnet", &["'--x'"], ""),
    ("models.codex.haiku", &["'--x'"], ""),
    ("models.codex.large", &["'--x'"], ""),
    ("models.codex.medium", &["'--x'"], ""),
    ("models.codex.small", &["'--x'"], ""),
    ("models.gemini.opus", &["'--x'"], ""),
    ("models.gemini.sonnet", &["'--x'"], ""),
    ("models.gemini.haiku", &["'--x'"], ""),
    ("models.gemini.large", &["'--x'"], ""),
    ("models.gemini.medium", &["'--x'"], ""),
    ("models.gemini.small", &["'--x'"], ""),
    ("models.opencode.opus", &["'--x'"], ""),
    ("models.opencode.sonnet", &["'--x'"], ""),
    ("models.opencode.haiku", &["'--x'"], ""),
    ("models.opencode.large", &["'--x'"], ""),
    ("models.opencode.medium", &["'--x'"], ""),
    ("models.opencode.small", &["'--x'"], ""),
    ("models.acp.small", &["'--x'"], ""),
    ("prompts.plan", &["'/etc/passwd'", "'../x'", "'.git/config'", "'a/.GIT/config'", "'~/x'"], ""),
    ("prompts.build", &["'/etc/passwd'", "'../x'", "'.git/config'", "'a/../../x'", "'~/x'"], ""),
    ("budget.usd", &["50", "0"], "5"),
    ("budget.tokens", &["500", "0"], "50"),
    ("budget.time", &["'8h'", "''"], "'1h'"),
    ("budget.task_usd", &["50", "0"], "5"),
    ("budget.day_usd", &["50", "0"], "5"),
    ("git.pr_base", &["'--upload-pack=evil'"], ""),
    ("git.remote", &["'--upload-pack=evil'"], ""),
    ("git.push_remote", &["'--upload-pack=evil'"], ""),
    ("git.pr_remote", &["'--upload-pack=evil'"], ""),
    ("publish.watch", &["'1h'"], ""),
    ("publish.authors", &["['evil']"], ""),
    ("publish.rounds", &["9", "0"], ""),
    (
        "publish.hosts",
        &["['evil.example=gitlab']", "['github.com=github AWS_SECRET_ACCESS_KEY']"],
        "",
    ),
    ("git.worktree.signing_key", &["'key'"], ""),
    ("git.worktree.ssh_key", &["'/home/me/.ssh/id'"], ""),
    ("git.worktree.dir", &["'/tmp/x'", "'../x'", "'.git/x'"], ""),
    ("sandbox.level", &["'landlock'", "'none'"], ""),
    ("sandbox.writable", &["['/']"], ""),
    ("sandbox.readable", &["['/']"], ""),
    ("sandbox.home", &["'masked'"], ""),
    ("sandbox.sockets", &["['/run/docker.sock']"], ""),
    ("sandbox.network.policy", &["'allow-all'", "'allowlist'"], "'deny'"),
    ("sandbox.network.allowed", &["['evil.example']"], "['good.example']"),
    ("sandbox.limits.processes", &["5000"], ""),
    ("sandbox.limits.memory", &["'8GiB'"], "'1GiB'"),
    ("sandbox.limits.file_size", &["'8GiB'"], "'1GiB'"),
    ("store.path", &["'/tmp/x.db'", "'../x.db'", "'.git/x'"], ""),
    ("logs.dir", &["'/tmp/logs'", "'../logs'", "'.git/hooks'"], ""),
    ("recover.keep", &["'0s'"], ""),
    ("recover.keep_size", &["'0B'"], ""),
    ("notify.webhook", &["'https://evil.example'"], ""),
    ("notify.command", &["'evil'"], ""),
    ("trust.paths", &["['/']"], ""),
];

#[test]
fn every_setting_is_free_for_a_repo_or_has_values_that_are_refused() {
    let free: Vec<&str> = FREE.split_whitespace().collect();
    for (key, setting) in names::keys() {
        let is_free =
            free.iter().any(|name| *name == key || (name.ends_with('.') && key.starts_with(*name)));
        let is_hostile = HOSTILE.iter().any(|(name, ..)| *name == key);
        assert!(is_free != is_hostile, "{key}: a repo's file may set it, or values are refused");
        assert_eq!(is_free, setting.reach == Reach::Anywhere, "{key}");
    }
}

#[test]
fn no_repo_names_a_program_an_argument_a_variable_or_a_path_outside_or_widens_anything() {
    for (key, values, before) in HOSTILE {
        for value in *values {
            let own = if before.is_empty() { String::new() } else { format!("{key} = {before}") };
            let both = Sources { user: user(&own).user, ..repo(&format!("{key} = {value}")) };
            let unchanged = config(user(&own)).view(key).to_string();
            match Config::load(both) {
                // Refused, with the place.
                Err(error) => assert!(error.to_string().contains("ralph.toml:1"), "{error}"),
                // Or ignored, and reported.
                Ok(loaded) => {
                    assert_eq!(loaded.config.view(key).to_string(), unchanged, "{key} = {value}");
                    assert_eq!(loaded.warnings.len(), 1, "{key} = {value}");
                }
            }
            // The user may set all of them.
            let output = loaded(user(&format!("{key} = {value}")));
            assert!(output.warnings.is_empty(), "{key} = {value}");
        }
    }
}

#[test]
fn a_repo_still_names_models_remotes_prompts_and_lower_budgets() {
    for (key, value) in [
        ("models.fixed", "'claude-opus-4-1[1m]'"),
        ("git.remote", "'upstream'"),
        ("prompts.build", "'.ralph/prompts/build.md'"),
        ("prompts.plan", "'./docs/plan.md'"),
        ("git.worktree.dir", "'.trees'"),
        ("budget.usd", "3"),
        ("budget.time", "'30m'"),
    ] {
        let text = format!("{key} = {value}");
        let own = user("[budget]\nusd = 5\ntime = '1h'").user;
        let both = loaded(Sources { user: own, ..repo(&text) });
        assert!(both.warnings.is_empty(), "{text}");
        assert_eq!(both.config.view(key).to_string(), config(repo(&text)).view(key).to_string());
    }
}

#[test]
fn a_record_that_a_session_could_write_names_no_program() {
    let config = Config::default();
    for (key, value) in [
        ("agent.claude.path", "/tmp/evil"),
        ("agent.claude.args", "--mcp-config,evil.json"),
        ("agent.allowed_tools", "WebFetch"),
        ("agent.made-up.path", "/tmp/evil"),
        ("git.worktree.ssh_key", "/tmp/key"),
    ] {
        assert_eq!(config.refuses_resumed(key, value, true), None, "{key}");
        let refused = config.refuses_resumed(key, value, false).flatten().unwrap();
        assert!(refused.contains(&format!("--set {key}={value}")), "{refused}");
    }
    // A recording runs nothing outside of its session.
    assert_eq!(config.refuses_resumed("agent.script.path", "x.jsonl", false), None);
    assert_eq!(config.refuses_resumed("models.fixed", "opus", false), None);
}

#[test]
fn no_repo_describes_an_agent() {
    for key in ["path = 'evil'", "args = ['x']", "hosts = ['evil.example']", "state = ['~/.ssh']"] {
        let output = error(repo(&format!("[agent.made-up]\n{key}")));
        assert!(output.contains("can only be set in your own config file"), "{key}: {output}");
    }
}
