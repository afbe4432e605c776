//! Which layer wins, and who may set what.

use std::time::Duration;

use ralph_core::task::RetryLimit;

use super::*;
use crate::exit_codes::Exit;

#[test]
fn each_layer_wins_over_the_ones_before() {
    let mut sources = Sources::default();
    let jobs = |sources: &Sources| {
        let config = config(sources.clone());
        (config.get(key::LOOP_JOBS), config.origin(key::LOOP_JOBS).to_string())
    };
    assert_eq!(jobs(&sources), (1, "default".to_owned()));
    sources.user = user("\n\n[loop]\njobs = 2").user;
    assert_eq!(jobs(&sources), (2, "~/.config/ralph/config.toml:4".to_owned()));
    sources.repo = repo("loop.jobs = 3").repo;
    assert_eq!(jobs(&sources), (3, "ralph.toml:1".to_owned()));
    sources.env = env("RALPH_LOOP_JOBS", "4").env;
    assert_eq!(jobs(&sources), (4, "RALPH_LOOP_JOBS".to_owned()));
    sources.set = vec!["loop.jobs=5".to_owned(), "loop.jobs=6".to_owned()];
    assert_eq!(jobs(&sources), (6, "--set".to_owned()));

    sources.flags.set("--jobs", key::LOOP_JOBS, 7);
    assert_eq!(jobs(&sources), (7, "--jobs".to_owned()));

    let config = config(sources);
    assert_eq!(config.origin(key::LOOP_LEARN), &Origin::Default);
    assert_eq!(config.origin(key::LOOP_JOBS), &Origin::Flag("--jobs"));
    assert!(config.by_flag(key::LOOP_JOBS) && !config.by_flag(key::LOOP_LEARN));
}

#[test]
fn a_flag_with_a_wrong_value_is_an_error_of_usage_that_names_it() {
    let mut sources = Sources::default();
    sources.flags.set("--preset", key::PRESET, "chequelist");
    let error = Config::load(sources).unwrap_err();
    assert!(error.exit == Exit::Usage);
    assert!(error.message().starts_with("--preset: `preset` must be one of"), "{error}");
    assert!(error.message().ends_with("did you mean \"checklist\"?"), "{error}");
    assert!(Config::load(set("loop.jobs=0")).unwrap_err().exit == Exit::Usage);
    assert!(Config::load(repo("loop.jobs = 0")).unwrap_err().exit != Exit::Usage);
}

#[test]
fn getters_read_each_kind() {
    let config = config(repo(
        "agent.silence = '1h 30m'\nbudget.usd = 3\nlogs.keep_size = 1024\nloop.verify = true",
    ));
    assert_eq!(config.get(key::AGENT_SILENCE), Some(Duration::from_secs(5400)));
    assert_eq!(config.get(key::BUDGET_TIME), None);
    assert_eq!(config.get(key::BUDGET_USD), 3.0);
    assert_eq!(config.get(key::LOGS_KEEP_SIZE), Some(1024));
    assert_eq!(config.get(key::SANDBOX_LIMITS_MEMORY), None);
    assert_eq!(config.get(key::GIT_PROTECTED_BRANCHES), ["main", "master", "production"]);
    assert!(config.get(key::LOOP_LEARN));
    assert_eq!(config.get(key::LOOP_VERIFY), Some(true));
    assert_eq!(config.get(key::LOOP_MAX_ITERATIONS), None);
    assert_eq!(config.get(key::AGENT_TIMEOUT), None);
    assert_eq!(config.get(key::UI_MODE), "auto");
}

#[test]
fn lengths_of_time_and_sizes() {
    use super::super::value::{duration, size};
    assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
    assert_eq!(duration("1d2h 3m  4s"), Some(Duration::from_secs(93_784)));
    assert_eq!(duration("0s"), Some(Duration::ZERO));
    for bad in ["", " ", "5", "m", "1m 1h", "1m 1m", "-1s", "1.5h", "99999999999999999999s", "1 x"]
    {
        assert_eq!(duration(bad), None, "{bad:?}");
    }
    assert_eq!(duration("999999999999999999d"), None);
    assert_eq!(size("2GiB"), Some(2 << 30));
    assert_eq!(size("500 mb"), Some(500_000_000));
    assert_eq!(size("12"), Some(12));
    for bad in ["", "GiB", "2G", "1.5GiB", "-1", "99999999999TiB"] {
        assert_eq!(size(bad), None, "{bad:?}");
    }
}

#[test]
fn older_spellings_are_accepted() {
    let sources = user("claude_path = '/opt/claude'\nbuild_prompt = 'BUILD.md'\npreset = 'tasks'");
    let config = config(sources.clone());
    assert_eq!(config.get_for(key::AGENT_PATH, "claude"), "/opt/claude");
    assert_eq!(config.origin(key::PROMPTS_BUILD).to_string(), "~/.config/ralph/config.toml:2");
    assert_eq!(config.get(key::PRESET), "pick");
    assert!(warnings(sources).is_empty());
    let both = error(user("claude_path = 'a'\nagent.claude.path = 'b'"));
    assert!(both.starts_with("`agent.claude.path` is set twice"), "{both}");
}

#[test]
fn variables_are_read_by_kind() {
    let list = |value| {
        let config = config(env("RALPH_AGENT_ALLOWED_TOOLS", value));
        config.get(key::AGENT_ALLOWED_TOOLS).join("|")
    };
    assert_eq!(list("Bash, Read,"), "Bash|Read");
    assert_eq!(list("['a,b', \"c\"]"), "a,b|c");
    assert_eq!(list(""), "");
    assert!(config(env("RALPH_NOTIFY_DESKTOP", "1")).get(key::NOTIFY_DESKTOP));
    assert_eq!(config(env("RALPH_BUDGET_DAY_USD", "2.5")).get(key::BUDGET_DAY_USD), 2.5);
    let ends = config(env("RALPH_LOOP_ENDS_WHEN", "ticked,marker"));
    assert_eq!(ends.get(key::LOOP_ENDS_WHEN), Some(vec!["finished", "marker"]));
    let ends = config(env("RALPH_LOOP_ENDS_WHEN", "preset"));
    assert_eq!(ends.get(key::LOOP_ENDS_WHEN), None);
    assert_eq!(config(env("RALPH_UI_COLOR", "")).origin(key::UI_COLOR), &Origin::Default);

    assert_eq!(
        error(env("RALPH_UI_COLOR", "nver")),
        "RALPH_UI_COLOR: `ui.color` must be one of \"auto\", \"always\", \"never\", not \"nver\"; \
         did you mean \"never\"?"
    );
    assert!(error(env("RALPH_AGENT_ENV", "[1]")).contains("each item of `agent.env`"));
    assert!(error(env("RALPH_AGENT_ENV", "[a")).contains("is not a valid TOML list"));
    assert!(error(env("RALPH_LOOP_JOBS", "0")).contains("at least 1, not \"0\""));
}

#[test]
fn only_near_misses_among_variables_are_mentioned() {
    assert_eq!(
        warnings(env("RALPH_LOOP_MAX_RETRYS", "3")),
        ["unknown variable `RALPH_LOOP_MAX_RETRYS`; did you mean `RALPH_LOOP_MAX_RETRIES`?"]
    );
    let silent = [
        "RALPH_AGENT_ID",
        "RALPH_TASK_ID",
        "RALPH_SOCKET",
        "RALPH_TASK_SCRIPT",
        "RALPH_SCOPE_REPO",
        "RALPH_SCOPE_BRANCH",
        "RALPH_SERVE_TOKEN",
        "RALPH_TEST_LOOP_JOB",
        "RALPH_WIGGUM",
        "RALPH_",
        "HOME",
        "LOOP_JOBS",
    ];
    for name in silent {
        assert!(warnings(env(name, "x")).is_empty(), "{name}");
    }
}

#[test]
fn set_refuses_what_it_does_not_know() {
    assert_eq!(config(set("git.remote=a=b")).get(key::GIT_REMOTE), "a=b");
    assert_eq!(config(set("claude_path=/c")).get_for(key::AGENT_PATH, "claude"), "/c");
    assert_eq!(config(set("sandbox.level=none")).get(key::SANDBOX_LEVEL), "none");
    assert_eq!(config(set("sandbox.writable=/a,/b")).get(key::SANDBOX_WRITABLE), ["/a", "/b"]);
    assert_eq!(
        error(set("loop.max_retrys=3")),
        "--set: unknown setting `loop.max_retrys`; did you mean `loop.max_retries`?"
    );
    assert_eq!(
        error(set("lop.jobs=3")),
        "--set: unknown setting `lop.jobs`; did you mean `loop.jobs`?"
    );
    assert_eq!(
        error(set("zzz=3")),
        "--set: unknown setting `zzz`; `ralph config defaults` lists them all"
    );
    assert_eq!(error(set("loop.jobs")), "--set takes KEY=VALUE, not \"loop.jobs\"");
    assert!(error(set("loop.jobs=")).contains("not \"\""));
}

#[test]
fn the_repo_only_raises_the_level() {
    let level = |own: &str, repos: &str| {
        let own = user(&format!("sandbox.level = '{own}'")).user;
        let sources = Sources { user: own, ..repo(&format!("sandbox.level = '{repos}'")) };
        let loaded = loaded(sources);
        (loaded.config.get(key::SANDBOX_LEVEL).to_owned(), loaded.warnings.len())
    };
    for (own, repos, level_now, warned) in [
        ("auto", "full", "full", 0),
        ("auto", "seatbelt", "seatbelt", 0),
        ("auto", "landlock", "auto", 1),
        ("none", "landlock", "landlock", 0),
        ("landlock", "none", "landlock", 1),
        ("full", "auto", "full", 1),
        ("none", "none", "none", 0),
    ] {
        assert_eq!(level(own, repos), (level_now.to_owned(), warned), "{own} and {repos}");
    }
    assert_eq!(
        warnings(repo("[sandbox]\nlevel = 'none'")),
        [
            "ralph.toml:2:9: `sandbox.level = \"none\"` is ignored: the repo's ralph.toml may only raise \
          it from \"auto\"; to loosen it, use your own config file or --set"
        ]
    );
}

#[test]
fn the_repo_only_closes_the_network_and_lowers_limits() {
    let both = |own: &str, repos: &str, key: &str| {
        let own = user(&format!("[sandbox]\n{own}")).user;
        let loaded = loaded(Sources { user: own, ..repo(&format!("[sandbox]\n{repos}")) });
        (loaded.config.view(key).to_string(), loaded.warnings.len())
    };
    let (policy, allowed) = ("sandbox.network.policy", "sandbox.network.allowed");
    let (processes, memory) = ("sandbox.limits.processes", "sandbox.limits.memory");
    for (own, repos, key, now, warned) in [
        ("", "network.policy = 'deny'", policy, "\"deny\"", 0),
        ("network.policy = 'deny'", "network.policy = 'allow-all'", policy, "\"deny\"", 1),
        ("network.policy = 'allowlist'", "network.policy = 'deny'", policy, "\"deny\"", 0),
        ("network.policy = 'allowlist'", "network.allowed = ['evil.org']", allowed, "[]", 1),
        ("", "network.allowed = ['a.org']", allowed, "[\"a.org\"]", 0),
        ("", "limits.processes = 9000", processes, "4096", 1),
        ("", "limits.processes = 100", processes, "100", 0),
        ("limits.memory = '1GiB'", "limits.memory = ''", memory, "\"1GiB\"", 1),
        ("limits.memory = '1GiB'", "limits.memory = '2GiB'", memory, "\"1GiB\"", 1),
        ("", "limits.memory = '2GiB'", memory, "\"2GiB\"", 0),
    ] {
        assert_eq!(both(own, repos, key), (now.to_owned(), warned), "{own} and {repos}");
    }
}

#[test]
fn gates_of_the_repo_replace_the_users() {
    let own = user("[[gate]]\nname = 'own'\ncommand = 'true'").user;
    let text = "[[gate]]\nname = 'test'\ncommand = 'make'\ntimeout = '10m'\n\
                [[gate]]\nname = 'lint'\ncommand = 'make lint'";
    let config = config(Sources { user: own, ..repo(text) });
    let gates: Vec<_> =
        config.gates().iter().map(|gate| (gate.name.as_str(), gate.timeout())).collect();
    assert_eq!(gates, [("test", Some(Duration::from_secs(600))), ("lint", None)]);
    assert_eq!(config.gates_origin().to_string(), "ralph.toml:1");
    assert!(Config::default().gates().is_empty());
}

#[test]
fn retries_by_number_word_or_preset() {
    let limit = |text: &str| retry_limit(&config(repo(text)));
    assert_eq!(limit(""), RetryLimit::AtMost(3));
    for preset in ["progress", "checklist", "dag", "auto"] {
        assert_eq!(limit(&format!("preset = '{preset}'")), RetryLimit::AtMost(3), "{preset}");
    }
    assert_eq!(limit("preset = 'branches'"), RetryLimit::Unlimited);
    assert_eq!(limit("preset = 'tasks'"), RetryLimit::Unlimited);
    assert_eq!(limit("preset = 'pick'\nloop.max_retries = 7"), RetryLimit::AtMost(7));
    assert_eq!(limit("loop.max_retries = 'unlimited'"), RetryLimit::Unlimited);
    assert_eq!(retry_limit(&config(set("loop.max_retries=0"))), RetryLimit::AtMost(0));
    assert!(error(repo("loop.max_retries = 'unlimted'")).contains("did you mean \"unlimited\"?"));
}
