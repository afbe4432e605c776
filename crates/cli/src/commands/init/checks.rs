//! Detects lints, type checks and format checks of a project, from the names and texts of the files at its top. Proposes
//! only what the project shows, and runs nothing.

#[cfg(test)]
mod tests;

use super::detect::{Top, node_runner, python_runner, recipe};

/// A check, and the file that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// One row per kind of project.
const TOOLS: [fn(&Top) -> Shown; 15] = [
    cargo, node, deno, python, go, gradle, maven, mix, php, ruby, zig, swift, dotnet, dune,
    pre_commit,
];

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
    for (kind, command, from) in TOOLS.iter().flat_map(|tool| tool(top)) {
        if !by_hand.contains(&kind) && found.iter().all(|check| check.command != command) {
            found.push(Check { kind, command, from });
        }
    }
    let order = [LINT, TYPES, FORMAT];
    found.sort_by_key(|check| order.iter().position(|kind| *kind == check.kind));
    found
}

/// A row if one of these files is there: the first of them shows it.
fn with_file(top: &Top, files: &[&str], kind: &'static str, command: &str) -> Shown {
    let file = top.first(files);
    file.map(|file| (kind, command.to_owned(), file.to_owned())).into_iter().collect()
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
    let mut shown = with_file(top, &files, LINT, "golangci-lint run");
    if shown.is_empty() {
        shown.push((LINT, "go vet ./...".to_owned(), "go.mod".to_owned()));
    }
    shown.push((FORMAT, "test -z \"$(gofmt -l .)\"".to_owned(), "go.mod".to_owned()));
    shown
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

fn mix(top: &Top) -> Shown {
    let mut shown = with_word(top, "mix.exs", ":credo", LINT, "mix credo");
    shown.extend(with_word(top, "mix.exs", ":dialyxir", TYPES, "mix dialyzer"));
    shown.extend(with_file(top, &[".formatter.exs"], FORMAT, "mix format --check-formatted"));
    shown
}

fn php(top: &Top) -> Shown {
    let mut shown = with_file(top, &["phpcs.xml", "phpcs.xml.dist"], LINT, "vendor/bin/phpcs");
    let phpstan = ["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"];
    shown.extend(with_file(top, &phpstan, TYPES, "vendor/bin/phpstan analyze"));
    shown.extend(with_file(top, &["psalm.xml", "psalm.xml.dist"], TYPES, "vendor/bin/psalm"));
    let fixer = [".php-cs-fixer.dist.php", ".php-cs-fixer.php"];
    shown.extend(with_file(top, &fixer, FORMAT, "vendor/bin/php-cs-fixer check"));
    shown.extend(with_file(top, &["pint.json"], FORMAT, "vendor/bin/pint --test"));
    shown
}

fn ruby(top: &Top) -> Shown {
    let mut shown = with_file(top, &[".rubocop.yml"], LINT, "bundle exec rubocop");
    shown.extend(with_file(top, &[".standard.yml"], LINT, "bundle exec standardrb"));
    shown.extend(with_file(top, &["sorbet/"], TYPES, "bundle exec srb tc"));
    shown
}

fn zig(top: &Top) -> Shown {
    with_file(top, &["build.zig"], FORMAT, "zig fmt --check .")
}

fn swift(top: &Top) -> Shown {
    with_file(top, &[".swiftlint.yml"], LINT, "swiftlint lint --strict")
}

fn dotnet(top: &Top) -> Shown {
    let project =
        [".sln", ".slnx", ".csproj", ".fsproj"].into_iter().find_map(|end| top.ending(end));
    // Without one, the tool would format by rules that nobody chose.
    match project {
        Some(_) => with_file(top, &[".editorconfig"], FORMAT, "dotnet format --verify-no-changes"),
        None => vec![],
    }
}

fn dune(top: &Top) -> Shown {
    let files: &[&str] = if top.has("dune-project") { &[".ocamlformat"] } else { &[] };
    with_file(top, files, FORMAT, "dune build @fmt")
}

fn pre_commit(top: &Top) -> Shown {
    with_file(top, &[".pre-commit-config.yaml"], LINT, "pre-commit run --all-files")
}
