//! Detects lints, type checks and format checks of a project, from the names and texts of the files at its top. Proposes
//! only what the project shows, and runs nothing.

#[cfg(test)]
mod tests;

use crate::detection::{DOTNET, Top, node_runner, python_runner, recipe};

/// A check, and the file that shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Check {
    /// `lint`, `types` or `format`: the name of its gate.
    pub(crate) kind: &'static str,
    pub(crate) command: String,
    pub(crate) from: String,
}

const LINT: &str = "lint";
const TYPES: &str = "types";
const FORMAT: &str = "format";

/// What a kind of project shows: kind, command and file.
type Shown = Vec<(&'static str, String, String)>;

/// Kinds of projects whose checks depend on more than the names of files.
const TOOLS: [fn(&Top) -> Shown; 7] = [cargo, node, deno, python, go, gradle, maven];

type Row =
    (&'static str, &'static str, &'static [&'static str], &'static str, &'static [&'static str]);

/// The others: kind and command, the files that show it (the first that is there), a word in its text, and which file
/// has to be beside it. A name that begins with a dot is an ending.
const ROWS: [Row; 16] = [
    (LINT, "mix credo", &["mix.exs"], ":credo", &[]),
    (TYPES, "mix dialyzer", &["mix.exs"], ":dialyxir", &[]),
    (FORMAT, "mix format --check-formatted", &[".formatter.exs"], "", &[]),
    (LINT, "vendor/bin/phpcs", &["phpcs.xml", "phpcs.xml.dist"], "", &[]),
    (TYPES, "vendor/bin/phpstan analyze", &PHPSTAN, "", &[]),
    (TYPES, "vendor/bin/psalm", &["psalm.xml", "psalm.xml.dist"], "", &[]),
    (FORMAT, "vendor/bin/php-cs-fixer check", &PHP_CS_FIXER, "", &[]),
    (FORMAT, "vendor/bin/pint --test", &["pint.json"], "", &[]),
    (LINT, "bundle exec rubocop", &[".rubocop.yml"], "", &[]),
    (LINT, "bundle exec standardrb", &[".standard.yml"], "", &[]),
    (TYPES, "bundle exec srb tc", &["sorbet/"], "", &[]),
    (FORMAT, "zig fmt --check .", &["build.zig"], "", &[]),
    (LINT, "swiftlint lint --strict", &[".swiftlint.yml"], "", &[]),
    // Without the file, the tool would format by rules that nobody chose.
    (FORMAT, "dotnet format --verify-no-changes", &[".editorconfig"], "", &DOTNET),
    (FORMAT, "dune build @fmt", &[".ocamlformat"], "", &["dune-project"]),
    (LINT, "pre-commit run --all-files", &[".pre-commit-config.yaml"], "", &[]),
];
const PHPSTAN: [&str; 3] = ["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"];
const PHP_CS_FIXER: [&str; 2] = [".php-cs-fixer.dist.php", ".php-cs-fixer.php"];

/// Names of recipes in Makefiles and justfiles, by kind.
const RECIPES: [(&str, &[&str]); 3] = [
    (LINT, &["lint", "check"]),
    (TYPES, &["typecheck", "type-check", "types", "mypy"]),
    (FORMAT, &["format-check", "fmt-check", "check-format", "check-fmt"]),
];

/// Every check that the project shows. A handwritten recipe stands for all tools of its kind.
pub(crate) fn checks(top: &Top) -> Vec<Check> {
    let mut found: Vec<Check> = Vec::new();
    for (kind, names) in RECIPES {
        let recipe = names.iter().find_map(|name| recipe(top, name));
        found.extend(recipe.map(|(command, from)| Check { kind, command, from: from.to_owned() }));
    }
    let by_hand: Vec<&str> = found.iter().map(|check| check.kind).collect();
    let rows = ROWS.iter().filter_map(|(kind, command, files, word, beside)| {
        let is_there = |name: &&str| match name.starts_with('.') {
            true => top.ending(name).is_some(),
            false => top.has(name),
        };
        let file = top.first(files).filter(|file| top.text(file).contains(word))?;
        let fits = beside.is_empty() || beside.iter().any(is_there);
        fits.then(|| (*kind, (*command).to_owned(), file.to_owned()))
    });
    for (kind, command, from) in TOOLS.iter().flat_map(|tool| tool(top)).chain(rows) {
        if !by_hand.contains(&kind) && found.iter().all(|check| check.command != command) {
            found.push(Check { kind, command, from });
        }
    }
    let order = [LINT, TYPES, FORMAT];
    found.sort_by_key(|check| order.iter().position(|kind| *kind == check.kind));
    found
}

/// A row if the text of `file` names `word`.
fn with_word(top: &Top, file: &str, word: &str, kind: &'static str, command: &str) -> Shown {
    let named = top.text(file).contains(word);
    named.then(|| (kind, command.to_owned(), file.to_owned())).into_iter().collect()
}

fn cargo(top: &Top) -> Shown {
    if !top.has("Cargo.toml") {
        return vec![];
    }
    let manifest: toml::Table = top.text("Cargo.toml").parse().unwrap_or_default();
    let both = manifest.contains_key("workspace") && manifest.contains_key("package");
    let all = if both { " --workspace" } else { "" };
    let lint = format!("cargo clippy{all} --all-targets -- -D warnings");
    let from = |names: &[&'static str]| top.first(names).unwrap_or("Cargo.toml").to_owned();
    vec![
        (LINT, lint, from(&["clippy.toml", ".clippy.toml"])),
        (FORMAT, "cargo fmt --all --check".to_owned(), from(&["rustfmt.toml", ".rustfmt.toml"])),
    ]
}

fn node(top: &Top) -> Shown {
    let Ok(package) = serde_json::from_str::<serde_json::Value>(top.text("package.json")) else {
        return vec![];
    };
    let runner = node_runner(top, &package);
    let has = |name: &str| {
        let script = package.get("scripts").and_then(|scripts| scripts.get(name));
        script.and_then(|script| script.as_str()).is_some_and(|script| !script.trim().is_empty())
    };
    let depends = |name: &str| {
        let lists = ["dependencies", "devDependencies"];
        lists.iter().any(|list| package.get(list).and_then(|all| all.get(name)).is_some())
    };
    let scripts: [(&'static str, &[&str]); 3] = [
        (LINT, &["lint", "lint:check"]),
        (TYPES, &["typecheck", "type-check", "check-types", "check:types", "types", "tsc"]),
        (
            FORMAT,
            &[
                "format:check",
                "check:format",
                "format-check",
                "check-format",
                "fmt:check",
                "prettier:check",
            ],
        ),
    ];
    let mut shown: Shown = Vec::new();
    for (kind, names) in scripts {
        let script = names.iter().find(|name| has(name));
        shown.extend(
            script.map(|name| (kind, format!("{} run {name}", runner.name), "package.json".into())),
        );
    }
    let config = |start: &str| top.0.keys().find(|name| name.starts_with(start)).cloned();
    let tools = [
        (LINT, config("eslint.config.").or(config(".eslintrc")), depends("eslint"), "eslint ."),
        (LINT, config("biome.json"), depends("@biomejs/biome"), "biome check"),
        (TYPES, config("tsconfig.json"), depends("typescript"), "tsc --noEmit"),
        (
            FORMAT,
            config(".prettierrc").or(config("prettier.config.")),
            depends("prettier"),
            "prettier --check .",
        ),
    ];
    for (kind, file, installed, command) in tools {
        let is_new = shown.iter().all(|(known, ..)| *known != kind);
        if let Some(file) = file.filter(|_| installed && is_new) {
            shown.push((kind, format!("{} {command}", runner.exec), file));
        }
    }
    shown
}

fn deno(top: &Top) -> Shown {
    let Some(file) = top.first(&["deno.json", "deno.jsonc"]) else { return vec![] };
    let row = |kind, command: &str| (kind, command.to_owned(), file.to_owned());
    vec![row(LINT, "deno lint"), row(TYPES, "deno check ."), row(FORMAT, "deno fmt --check")]
}

fn python(top: &Top) -> Shown {
    let project = top.text("pyproject.toml");
    let named = |tool: &str, files: &[&'static str]| -> Option<String> {
        let by_file = top.first(files).map(str::to_owned);
        let table = format!("[tool.{tool}");
        let by_table = project.contains(&table).then(|| "pyproject.toml".to_owned());
        let lists = ["requirements-dev.txt", "requirements.txt"];
        let listed = lists.into_iter().find(|list| {
            top.text(list).lines().any(|line| {
                line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next() == Some(tool)
            })
        });
        by_file.or(by_table).or(listed.map(str::to_owned))
    };
    let runner = python_runner(top);
    let mut shown: Shown = Vec::new();
    let mut row = |kind, command: &str, from: Option<String>| {
        shown.extend(from.map(|from| (kind, format!("{runner}{command}"), from)));
    };
    let ruff = named("ruff", &["ruff.toml", ".ruff.toml"]);
    let black = named("black", &[]);
    row(LINT, "ruff check", ruff.clone());
    row(LINT, "flake8", named("flake8", &[".flake8"]).filter(|_| ruff.is_none()));
    row(TYPES, "mypy .", named("mypy", &["mypy.ini", ".mypy.ini"]));
    row(TYPES, "pyright", named("pyright", &["pyrightconfig.json"]));
    row(FORMAT, "black --check .", black.clone());
    row(FORMAT, "ruff format --check", ruff.filter(|_| black.is_none()));
    shown
}

fn go(top: &Top) -> Shown {
    if !top.has("go.mod") {
        return vec![];
    }
    let files = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"];
    let (lint, from) = match top.first(&files) {
        Some(file) => ("golangci-lint run", file),
        None => ("go vet ./...", "go.mod"),
    };
    vec![
        (LINT, lint.to_owned(), from.to_owned()),
        (FORMAT, "test -z \"$(gofmt -l .)\"".to_owned(), "go.mod".to_owned()),
    ]
}

fn gradle(top: &Top) -> Shown {
    let gradle = if top.has("gradlew") { "./gradlew" } else { "gradle" };
    let file = ["build.gradle", "build.gradle.kts"].into_iter().find(|file| top.has(file));
    let Some(file) = file else { return vec![] };
    let mut shown = with_word(top, file, "checkstyle", LINT, &format!("{gradle} checkstyleMain"));
    shown.extend(with_word(top, file, "detekt", LINT, &format!("{gradle} detekt")));
    shown.extend(with_word(top, file, "spotless", FORMAT, &format!("{gradle} spotlessCheck")));
    shown
}

fn maven(top: &Top) -> Shown {
    let maven = if top.has("mvnw") { "./mvnw" } else { "mvn" };
    let (lint, format) = (format!("{maven} checkstyle:check"), format!("{maven} spotless:check"));
    let mut shown = with_word(top, "pom.xml", "maven-checkstyle-plugin", LINT, &lint);
    shown.extend(with_word(top, "pom.xml", "spotless-maven-plugin", FORMAT, &format));
    shown
}
