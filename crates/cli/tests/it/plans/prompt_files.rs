//! `PROMPT_build.md` and `PROMPT_plan.md` as `ralph init` writes them, with lines of the user's.

use super::*;

/// What ralph 0.1 wrote.
const BUILD_0_1: &str = include_str!("../../../../engine/src/prompts/build_0_1.md");
const PLAN_0_1: &str = include_str!("../../../../engine/src/prompts/plan_0_1.md");

const MINE: &str = "Never touch the folder vendor/.";

/// A line that only the rules of this preset have.
const RULES: [(&str, &str); 4] = [
    ("dag", "1. Do one task: the assigned one."),
    ("checklist", "7. Do not commit. The loop commits your work when the gates pass."),
    ("progress", "5. Read \"Recent Attempts\" first"),
    ("branches", "You are one session of a loop that works through one branch of a plan."),
];

const BRANCHES: &str = "## Branch: one\nGoal: Do it\n\n- [ ] Write a\n";

/// The first prompt of a run with this preset and this `PROMPT_build.md`, and what the run printed.
fn first_prompt(preset: &str, template: Option<&str>) -> (String, String) {
    let env = match preset {
        "dag" => project(&["a"]),
        "checklist" => with_checklist(),
        "progress" => with_progress(),
        _ => with_plan("IMPLEMENTATION_PLAN.md", BRANCHES),
    };
    env.ralph(&["init"]).success();
    let template = template.map_or_else(|| read(&env, "PROMPT_build.md"), str::to_owned);
    commit_file(&env, "PROMPT_build.md", &format!("{template}\n{MINE}\n"));
    let command = if preset == "branches" { &["loop", "build"][..] } else { &["build"] };
    let path = cassette(&env, &[&only_says("hm")]);
    let script = format!("agent.script.path={}", path.display());
    let more = ["--once", "--agent", "script", "--set", &script, "--set", "loop.strict_exit=false"];
    let ran = env.ralph(&[command, &more].concat());
    let folder = runs(&env).pop().unwrap_or_else(|| panic!("{preset}: {}", ran.stderr));
    let texts = ["system", "prompt"].map(|kind| folder.join(format!("iteration-001.{kind}.md")));
    let prompt = texts.iter().find_map(|path| std::fs::read_to_string(path).ok());
    (prompt.unwrap_or_else(|| panic!("{preset}: {}", ran.stderr)), ran.stderr)
}

/// Its own rules once, no other's, and the user's line.
#[track_caller]
fn has_rules_of(preset: &str, prompt: &str) {
    for (other, line) in RULES {
        assert_eq!(
            prompt.matches(line).count(),
            usize::from(other == preset),
            "{preset}: {prompt}"
        );
    }
    assert_eq!(prompt.matches(MINE).count(), 1, "{preset}: {prompt}");
}

#[test]
fn a_line_added_to_the_prompt_file_keeps_the_rules_of_the_preset() {
    for (preset, _) in RULES {
        let (prompt, printed) = first_prompt(preset, None);
        has_rules_of(preset, &prompt);
        has_not(&printed, "ralph 0.1");
    }
}

#[test]
fn a_line_added_to_the_prompt_file_of_0_1_keeps_the_rules_of_the_preset() {
    for (preset, _) in RULES {
        let (prompt, printed) = first_prompt(preset, Some(BUILD_0_1));
        has_rules_of(preset, &prompt);
        let warned = printed.contains("PROMPT_build.md has rules that ralph 0.1 wrote");
        assert_eq!(warned, preset != "dag", "{preset}: {printed}");
    }
}

#[test]
fn a_line_added_to_the_prompt_file_of_plan_mode_keeps_the_rules_for_branches() {
    for template in [None, Some(PLAN_0_1)] {
        let env = with_plan("IMPLEMENTATION_PLAN.md", BRANCHES);
        env.ralph(&["init"]).success();
        let template = template.map_or_else(|| read(&env, "PROMPT_plan.md"), str::to_owned);
        commit_file(&env, "PROMPT_plan.md", &format!("{template}\n{MINE}\n"));
        let path = cassette(&env, &[&only_says("hm")]);
        let script = format!("agent.script.path={}", path.display());
        let more = ["--once", "--agent", "script", "--set", &script];
        let ran = env.ralph(&[&["loop", "plan"][..], &more].concat());
        assert!(!runs(&env).is_empty(), "{}", ran.stderr);
        let prompt = run_file(&env, "iteration-001.prompt.md");
        has(&prompt, "grouped by branch");
        assert_eq!(prompt.matches("You write no code.").count(), 1, "{prompt}");
        has(&prompt, MINE);
    }
}

#[test]
fn a_prompt_file_of_the_users_own_stays_as_it_is() {
    let env = with_checklist();
    commit_file(&env, "PROMPT_build.md", "Nobody watches this session.\n\nTick one task.\n");
    let ran = build(&env, &[&only_says("hm")], &["1"]);
    let prompt = run_file(&env, "iteration-001.prompt.md");
    assert!(prompt.starts_with("Nobody watches this session.\n\nTick one task.\n\n"), "{prompt}");
    has_not(&prompt, "The loop commits your work when the gates pass.");
    has_not(&ran.stderr, "ralph 0.1");
}
