//! Detects the test command of a project, and how its tools are started, from the names and texts of the files at its top.

use std::collections::BTreeMap;
use std::path::Path;

use ralph_engine::untrusted;
use ralph_engine::worktree_files;

/// The files at the top of a project and in the folders of [`WORTH_LISTING`]: their names, folders with a slash
/// at the end, and the texts of the files in [`WORTH_READING`].
#[derive(Debug, Default)]
pub(crate) struct Top(pub(crate) BTreeMap<String, String>);

/// Files whose text helps to detect the test command.
pub(crate) const WORTH_READING: [&str; 22] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    "deno.json",
    "deno.jsonc",
    "composer.json",
    "Gemfile",
    "build.zig",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "mix.exs",
];

/// Folders in which the names of files help to detect the test command.
pub(crate) const WORTH_LISTING: [&str; 1] = ["tests"];

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct DetectedCommand {
    pub(crate) command: String,
    pub(crate) from: String,
}

impl Top {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(crate) fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// The command, if one of these files shows it.
    fn shows(&self, files: &[&'static str], command: &str) -> Option<(String, &'static str)> {
        self.first(files).map(|file| (command.to_owned(), file))
    }

    fn beginning(&self, start: &str) -> Option<&str> {
        let from = self.0.range(start.to_owned()..).map(|(name, _)| name.as_str());
        from.take_while(|name| name.starts_with(start)).find(|name| name.ends_with(".py"))
    }

    pub(crate) fn ending(&self, end: &str) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| name.ends_with(end))
    }
}

type Rule = fn(&Top) -> Option<(String, &str)>;

/// One row per kind of project: the tools of the languages in the first table, recipes such as make targets in
/// the second.
const LANGUAGES: [Rule; 14] = [
    cargo,
    node,
    deno,
    python,
    |top| top.shows(&["go.mod"], "go test ./..."),
    |top| top.shows(&["gradlew"], "./gradlew test").or_else(|| top.shows(&GRADLE, "gradle test")),
    |top| top.shows(&["mvnw"], "./mvnw test").or_else(|| top.shows(&["pom.xml"], "mvn test")),
    |top| top.shows(&["mix.exs"], "mix test"),
    composer,
    bundler,
    zig,
    |top| top.shows(&["Package.swift"], "swift test"),
    dotnet,
    |top| top.shows(&["dune-project"], "dune test"),
];
const GRADLE: [&str; 3] = ["build.gradle", "build.gradle.kts", "settings.gradle.kts"];
/// The endings of project files.
pub(crate) const DOTNET: [&str; 4] = [".sln", ".slnx", ".csproj", ".fsproj"];
const RECIPES: [Rule; 2] = [|top| make_target(top, "test"), |top| just_recipe(top, "test")];

/// Every test command that the project shows, the best one first.
///
/// With one language its own command comes first: it needs no other tool, and its output is well known. With
/// several languages, only a handwritten recipe can test all of them.
pub(crate) fn test_commands(top: &Top) -> Vec<DetectedCommand> {
    let find = |rules: &[Rule]| -> Vec<DetectedCommand> {
        let found = rules.iter().filter_map(|rule| rule(top));
        found.map(|(command, from)| DetectedCommand { command, from: from.to_owned() }).collect()
    };
    let (mut first, mut then) = (find(&LANGUAGES), find(&RECIPES));
    if first.len() > 1 {
        std::mem::swap(&mut first, &mut then);
    }
    first.extend(then);
    first
}

fn cargo(top: &Top) -> Option<(String, &str)> {
    let manifest: toml::Table = top.0.get("Cargo.toml")?.parse().unwrap_or_default();
    // With a package beside the workspace, plain `cargo test` skips the members.
    let all = manifest.contains_key("workspace") && manifest.contains_key("package");
    Some((format!("cargo test{}", if all { " --workspace" } else { "" }), "Cargo.toml"))
}

fn node(top: &Top) -> Option<(String, &str)> {
    let package: serde_json::Value = serde_json::from_str(top.text("package.json")).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?.trim();
    // The placeholder that `npm init` writes.
    if script.is_empty() || script.contains("no test specified") {
        return None;
    }
    let command = node_runner(top, &package).test;
    // It watches files forever unless CI is set.
    let server = if script.contains("react-scripts test") { "CI=true " } else { "" };
    Some((format!("{server}{command}"), "package.json"))
}

pub(crate) struct NodeRunner {
    pub(crate) name: &'static str,
    /// The script `test`.
    test: &'static str,
    /// A program of the project's dependencies.
    pub(crate) exec: &'static str,
}

/// The one that `package.json` names, or else the one whose lock file is there.
pub(crate) fn node_runner(top: &Top, package: &serde_json::Value) -> NodeRunner {
    let named = package.get("packageManager").and_then(|name| name.as_str()).unwrap_or_default();
    let is = |name: &str, locks: &[&str]| match named.split('@').next() {
        Some("") | None => top.first(locks).is_some(),
        Some(manager) => manager == name,
    };
    if is("pnpm", &["pnpm-lock.yaml"]) {
        NodeRunner { name: "pnpm", test: "pnpm test", exec: "pnpm exec" }
    } else if is("yarn", &["yarn.lock"]) {
        NodeRunner { name: "yarn", test: "yarn test", exec: "yarn" }
    } else if is("bun", &["bun.lock", "bun.lockb"]) {
        // `bun test` would run bun's own test runner instead of the script.
        NodeRunner { name: "bun", test: "bun run test", exec: "bunx" }
    } else {
        NodeRunner { name: "npm", test: "npm test", exec: "npx" }
    }
}

/// What starts a program in the environment of a Python project; empty without a tool for that.
pub(crate) fn python_runner(top: &Top) -> &'static str {
    match top.first(&["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"]) {
        Some("uv.lock") => "uv run ",
        Some("poetry.lock") => "poetry run ",
        Some("pdm.lock") => "pdm run ",
        Some(_) => "pipenv run ",
        None if top.text("pyproject.toml").contains("[tool.hatch.envs") => "hatch run ",
        None => "",
    }
}

fn python(top: &Top) -> Option<(String, &str)> {
    const PROJECT: [&str; 5] =
        ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt"];
    let named =
        PROJECT.into_iter().chain(["tox.ini"]).find(|file| top.text(file).contains("pytest"));
    let with_tests = || {
        let named = top.beginning("tests/test_").or_else(|| top.beginning("test_"));
        let file = top.first(&["tests/", "test/"]).and_then(|_| top.first(&PROJECT));
        file.or(named.filter(|file| file.ends_with(".py"))).map(|file| (file, ""))
    };
    let (from, django) = top
        .first(&["pytest.ini", ".pytest.ini", "conftest.py"])
        .or(named)
        .map(|file| (file, ""))
        .or_else(|| top.first(&["manage.py"]).map(|file| (file, "manage.py test")))
        .or_else(with_tests)?;
    let runner = python_runner(top);
    // As a module it finds packages that are not installed; `python` alone is missing on many systems.
    let command = match (runner, django) {
        ("", "") => "python3 -m pytest".to_owned(),
        ("", django) => format!("python3 {django}"),
        (runner, "") => format!("{runner}pytest"),
        (runner, django) => format!("{runner}python {django}"),
    };
    Some((command, from))
}

fn dotnet(top: &Top) -> Option<(String, &str)> {
    let file = DOTNET.into_iter().find_map(|end| top.ending(end))?;
    Some(("dotnet test".to_owned(), file))
}

fn deno(top: &Top) -> Option<(String, &str)> {
    let file = top.first(&["deno.json", "deno.jsonc"])?;
    // The file that `deno init` writes has no test task, and the runner needs none.
    let config: serde_json::Value = serde_json::from_str(top.text(file)).unwrap_or_default();
    let task = config.get("tasks").and_then(|tasks| tasks.get("test")).is_some();
    Some((if task { "deno task test" } else { "deno test" }.to_owned(), file))
}

fn composer(top: &Top) -> Option<(String, &str)> {
    let config: serde_json::Value =
        serde_json::from_str(top.text("composer.json")).unwrap_or_default();
    if config.get("scripts").and_then(|scripts| scripts.get("test")).is_some() {
        return Some(("composer test".to_owned(), "composer.json"));
    }
    let pest = top.text("composer.json").contains("pestphp/pest");
    let file = top.first(&["phpunit.xml", "phpunit.xml.dist"]).or_else(|| {
        (pest || top.text("composer.json").contains("phpunit/phpunit")).then_some("composer.json")
    })?;
    Some((if pest { "vendor/bin/pest" } else { "vendor/bin/phpunit" }.to_owned(), file))
}

fn bundler(top: &Top) -> Option<(String, &str)> {
    let file = top.first(&["Gemfile"])?;
    let command = if top.first(&[".rspec", "spec/"]).is_some() {
        "bundle exec rspec"
    } else if top.has("bin/") && top.has("config/") && top.text(file).contains("rails") {
        "bin/rails test"
    } else if top.has("Rakefile") && top.first(&["test/"]).is_some() {
        "bundle exec rake test"
    } else {
        return None;
    };
    Some((command.to_owned(), file))
}

fn zig(top: &Top) -> Option<(String, &str)> {
    // Without such a step `zig build test` fails.
    let has_step = top.text("build.zig").contains("\"test\"");
    has_step.then(|| ("zig build test".to_owned(), "build.zig"))
}

pub(crate) fn recipe<'t>(top: &'t Top, name: &str) -> Option<(String, &'t str)> {
    make_target(top, name).or_else(|| just_recipe(top, name))
}

fn make_target<'t>(top: &'t Top, name: &str) -> Option<(String, &'t str)> {
    let file = top.first(&["GNUmakefile", "makefile", "Makefile"])?;
    let is_target = |line: &str| {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        !line.starts_with(char::is_whitespace)
            && !rest.trim_start_matches(':').starts_with('=')
            && targets.split_whitespace().any(|target| target == name)
    };
    top.text(file).lines().any(is_target).then(|| (format!("make {name}"), file))
}

fn just_recipe<'t>(top: &'t Top, name: &str) -> Option<(String, &'t str)> {
    let file = top.first(&["justfile", "Justfile", ".justfile"])?;
    let is_recipe = |line: &str| {
        let Some((head, rest)) = line.split_once(':') else { return false };
        let mut words = head.trim_start_matches('@').split_whitespace();
        // A recipe with parameters cannot be called without arguments.
        !line.starts_with(char::is_whitespace)
            && !rest.starts_with('=')
            && words.next() == Some(name)
            && words.all(|word| word.starts_with('*') || word.contains('='))
    };
    top.text(file).lines().any(is_recipe).then(|| (format!("just {name}"), file))
}

/// The files of a folder that help to detect its commands.
pub(crate) fn read_top(root: &Path, folder: &Path) -> Top {
    let mut top = Top::default();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(mut name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        if path.is_dir() {
            name.push('/');
        }
        let text = if WORTH_READING.contains(&name.as_str()) {
            let text = worktree_files::read_text(root, &path, untrusted::SMALL);
            text.ok().flatten().unwrap_or_default()
        } else {
            String::new()
        };
        top.0.insert(name, text);
    }
    for listed in WORTH_LISTING {
        let entries = std::fs::read_dir(folder.join(listed)).into_iter().flatten();
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        top.0.extend(names.map(|name| (format!("{listed}/{name}"), String::new())));
    }
    top
}

/// The test commands that the worktree shows, the best one first.
pub(crate) fn found_commands(worktree: &Path) -> Vec<DetectedCommand> {
    test_commands(&read_top(worktree, worktree))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and texts, and the command that they show.
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

    fn best(files: &[(&str, &str)]) -> Option<String> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        test_commands(&Top(files.collect())).into_iter().next().map(|found| found.command)
    }

    #[test]
    fn each_kind_of_project_has_its_command() {
        let scripts = r#"{"scripts":{"test":"vitest run"}}"#;
        let table: &[Case<'_>] = &[
            (&[], None),
            (&[("README.md", "")], None),
            (&[("Cargo.toml", "[package]\nname = \"a\"")], Some("cargo test")),
            (&[("Cargo.toml", "[workspace]"), (".config/", "")], Some("cargo test")),
            (&[("Cargo.toml", "[workspace]\n[package]")], Some("cargo test --workspace")),
            (&[("Cargo.toml", "not toml [")], Some("cargo test")),
            (&[("package.json", scripts)], Some("npm test")),
            (&[("package.json", scripts), ("package-lock.json", "")], Some("npm test")),
            (&[("package.json", scripts), ("pnpm-lock.yaml", "")], Some("pnpm test")),
            (&[("package.json", scripts), ("yarn.lock", "")], Some("yarn test")),
            (&[("package.json", scripts), ("bun.lockb", "")], Some("bun run test")),
            (
                &[
                    (
                        "package.json",
                        r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"jest"}}"#,
                    ),
                    ("yarn.lock", ""),
                ],
                Some("pnpm test"),
            ),
            (
                &[("package.json", r#"{"scripts":{"test":"react-scripts test"}}"#)],
                Some("CI=true npm test"),
            ),
            (
                &[(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                None,
            ),
            (&[("package.json", r#"{"scripts":{"test":" "}}"#)], None),
            (&[("package.json", r#"{"scripts":{"build":"tsc"}}"#)], None),
            (&[("package.json", r#"{"scripts":["test"]}"#)], None),
            (&[("package.json", "{")], None),
            (&[("pytest.ini", "")], Some("python3 -m pytest")),
            (&[("conftest.py", "")], Some("python3 -m pytest")),
            (&[("pyproject.toml", "[tool.pytest.ini_options]")], Some("python3 -m pytest")),
            (&[("pyproject.toml", "[project]")], None),
            (&[("pyproject.toml", "[project]"), ("tests/", "")], Some("python3 -m pytest")),
            (&[("requirements-dev.txt", "pytest==8")], Some("python3 -m pytest")),
            (&[("pyproject.toml", "pytest"), ("uv.lock", "")], Some("uv run pytest")),
            (&[("pyproject.toml", "pytest"), ("poetry.lock", "")], Some("poetry run pytest")),
            (&[("manage.py", ""), ("requirements.txt", "django")], Some("python3 manage.py test")),
            (&[("tests/", "")], None),
            (&[("tests/", ""), ("tests/test_a.py", "")], Some("python3 -m pytest")),
            (&[("tests/", ""), ("tests/test_a.sh", "")], None),
            (&[("test_calc.py", ""), ("calc.py", "")], Some("python3 -m pytest")),
            (&[("setup.cfg", "[tool:pytest]")], Some("python3 -m pytest")),
            (&[("tox.ini", "[pytest]")], Some("python3 -m pytest")),
            (&[("go.mod", "")], Some("go test ./...")),
            (&[("gradlew", ""), ("build.gradle", "")], Some("./gradlew test")),
            (&[("build.gradle.kts", "")], Some("gradle test")),
            (&[("mvnw", ""), ("pom.xml", "")], Some("./mvnw test")),
            (&[("pom.xml", "")], Some("mvn test")),
            (&[("mix.exs", "")], Some("mix test")),
            (&[("Package.swift", "")], Some("swift test")),
            (&[("App.sln", "")], Some("dotnet test")),
            (&[("App.Tests.csproj", "")], Some("dotnet test")),
            (&[("deno.json", "{}")], Some("deno test")),
            (&[("deno.jsonc", "// odd\n{")], Some("deno test")),
            (&[("deno.json", r#"{"tasks":{"test":"deno test -A"}}"#)], Some("deno task test")),
            (&[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#)], Some("composer test")),
            (&[("composer.json", "{}"), ("phpunit.xml.dist", "")], Some("vendor/bin/phpunit")),
            (
                &[("composer.json", r#"{"require-dev":{"pestphp/pest":"3"}}"#)],
                Some("vendor/bin/pest"),
            ),
            (&[("composer.json", "{}")], None),
            (&[("Gemfile", ""), (".rspec", "")], Some("bundle exec rspec")),
            (&[("Gemfile", ""), ("spec/", "")], Some("bundle exec rspec")),
            (
                &[("Gemfile", "gem 'rails'"), ("bin/", ""), ("config/", ""), ("test/", "")],
                Some("bin/rails test"),
            ),
            (&[("Gemfile", ""), ("Rakefile", ""), ("test/", "")], Some("bundle exec rake test")),
            (&[("Gemfile", "")], None),
            (&[("build.zig", "b.step(\"test\", \"Run tests\")")], Some("zig build test")),
            (&[("build.zig", "pub fn build")], None),
            (&[("dune-project", "")], Some("dune test")),
            (&[("Makefile", "all:\n\techo\ntest: all\n\t./t\n")], Some("make test")),
            (&[("makefile", "check test:\n\t./t\n")], Some("make test")),
            (&[("GNUmakefile", "test::\n\t./t\n")], Some("make test")),
            (&[("Makefile", ".PHONY: test\nall:\n\ttest: x\n")], None),
            (&[("Makefile", "test := 1\ntest ::= 2\ntests:\n")], None),
            (&[("justfile", "test:\n    cargo test\n")], Some("just test")),
            (&[("Justfile", "@test *args: build\n    x\n")], Some("just test")),
            (&[(".justfile", "test name='a':\n    x\n")], Some("just test")),
            (&[("justfile", "test name:\n    x\n")], None),
            (&[("justfile", "test := 'a'\n")], None),
        ];
        for (files, expected) in table {
            assert_eq!(best(files).as_deref(), *expected, "{files:?}");
        }
    }

    /// What is found, in its order, with the files that show it.
    fn all(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let found = test_commands(&Top(files.collect()));
        found.into_iter().map(|found| (found.command, found.from)).collect()
    }

    fn pair(command: &str, from: &str) -> (String, String) {
        (command.to_owned(), from.to_owned())
    }

    #[test]
    fn one_language_comes_before_a_recipe() {
        let files = [("Makefile", "test:\n"), ("Cargo.toml", "")];
        assert_eq!(all(&files), [pair("cargo test", "Cargo.toml"), pair("make test", "Makefile")]);
    }

    #[test]
    fn a_recipe_comes_before_several_languages() {
        let scripts = r#"{"scripts":{"test":"jest"}}"#;
        let files = [("justfile", "test:\n"), ("Cargo.toml", ""), ("package.json", scripts)];
        let expected = [
            pair("just test", "justfile"),
            pair("cargo test", "Cargo.toml"),
            pair("npm test", "package.json"),
        ];
        assert_eq!(all(&files), expected);
        let files = [("Cargo.toml", ""), ("package.json", scripts)];
        assert_eq!(all(&files)[0], pair("cargo test", "Cargo.toml"), "without a recipe");
    }
}
