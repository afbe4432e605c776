//! What sessions leave for the ones after them: skills, and the words that ask for them.

use super::*;

/// The instructions that session `number` of the newest run was given.
fn instructions(env: &TestEnv, number: u32) -> String {
    run_file(env, &format!("iteration-{number:03}.system.md"))
}

fn skill(name: &str, description: &str) -> (String, String) {
    let text = format!("---\ndescription: {description}\n---\n# {name}\n");
    (format!(".ralph/skills/{name}/SKILL.md"), text)
}

#[test]
fn s1_16_s1_41_a_skill_that_a_session_wrote_is_offered_to_the_next_one_of_the_run() {
    let env = project(&["a", "b"]);
    let (path, text) = skill("migrate", "How to migrate the database");
    let learns = session(&[write(&path, &text), works()]);
    build(&env, &[&learns, &works()], &[]).success();
    let first = instructions(&env, 1);
    assert!(first.contains("## Learning") && !first.contains("migrate"), "{first}");
    let second = instructions(&env, 2);
    assert!(second.contains("- **migrate**: How to migrate the database"), "{second}");
    assert!(env.git(&["show", "--name-only", "--format=", "HEAD^"]).contains(&path));
}

#[test]
fn s1_41_without_learning_nothing_is_asked_for_and_skills_are_still_offered() {
    let env = project(&["a", "b"]);
    let (path, text) = skill("migrate", "How to migrate the database");
    env.write(&path, text);
    build(&env, &[&works(), &works()], &["--no-learn"]).success();
    for number in [1, 2] {
        let prompt = instructions(&env, number);
        assert!(!prompt.contains("## Learning") && prompt.contains("- **migrate**:"), "{prompt}");
    }
}

#[test]
fn five_hundred_skills_stay_within_the_budget_and_say_how_many_are_missing() {
    let env = project(&["a"]);
    for number in 0..500 {
        let about = format!("Skill number {number}, {}", "with many words ".repeat(20));
        let (path, text) = skill(&format!("skill-{number:03}"), &about);
        env.write(&path, text);
    }
    build(&env, &[&works()], &["--set", "prompts.budget_tokens=4000"]).success();
    let prompt = instructions(&env, 1);
    let offered = prompt.lines().filter(|line| line.starts_with("- **skill-")).count();
    assert!(offered > 10 && offered < 500, "{offered}");
    assert!(prompt.contains("see `.ralph/skills/`"), "{prompt}");
    // The instructions and the signals are not counted; they are never cut.
    let (_, list) = prompt.split_once("## Available skills").unwrap();
    let list = list.split_once("\n## ").map_or(list, |(list, _)| list);
    assert!(list.len() <= 4000 * 4 + 200, "{} bytes", list.len());
}
