//! Which checks a project shows.

use super::*;

fn shown(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let found = checks(&Top(files.collect()));
    found
        .iter()
        .map(|check| format!("{}: {} ({})", check.kind, check.command, check.from))
        .collect()
}

#[test]
fn each_kind_of_project_shows_its_checks_and_nothing_that_it_lacks() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let table: &[Case<'_>] = &[
        (&[], &[]),
        (&[("README.md", "")], &[]),
        (
            &[("Cargo.toml", "[package]"), ("rustfmt.toml", "")],
            &[
                "lint: cargo clippy --all-targets -- -D warnings (Cargo.toml)",
                "format: cargo fmt --all --check (rustfmt.toml)",
            ],
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts":{"lint":"eslint .","type-check":"tsc","format:check":"x","types":""}}"#,
                ),
                ("pnpm-lock.yaml", ""),
                ("tsconfig.json", ""),
            ],
            &[
                "lint: pnpm run lint (package.json)",
                "types: pnpm run type-check (package.json)",
                "format: pnpm run format:check (package.json)",
            ],
        ),
        (
            &[
                ("package.json", r#"{"devDependencies":{"typescript":"5","eslint":"9"}}"#),
                ("tsconfig.json", ""),
                ("eslint.config.mjs", ""),
                (".prettierrc", ""),
            ],
            &["lint: npx eslint . (eslint.config.mjs)", "types: npx tsc --noEmit (tsconfig.json)"],
        ),
        (&[("package.json", "{")], &[]),
        (
            &[("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n"), ("uv.lock", "")],
            &[
                "lint: uv run ruff check (pyproject.toml)",
                "types: uv run mypy . (pyproject.toml)",
                "format: uv run ruff format --check (pyproject.toml)",
            ],
        ),
        (
            &[("requirements-dev.txt", "ruff==0.9\nblack\n"), ("pyrightconfig.json", "")],
            &[
                "lint: ruff check (requirements-dev.txt)",
                "types: pyright (pyrightconfig.json)",
                "format: black --check . (requirements-dev.txt)",
            ],
        ),
        (
            &[("go.mod", "")],
            &["lint: go vet ./... (go.mod)", "format: test -z \"$(gofmt -l .)\" (go.mod)"],
        ),
        (
            &[("go.mod", ""), (".golangci.yml", ""), ("Makefile", "lint: deps\n\tx\nfmt-check:\n")],
            &["lint: make lint (Makefile)", "format: make fmt-check (Makefile)"],
        ),
        (
            &[("deno.json", "{}")],
            &[
                "lint: deno lint (deno.json)",
                "types: deno check . (deno.json)",
                "format: deno fmt --check (deno.json)",
            ],
        ),
        (
            &[("build.gradle.kts", "id(\"com.diffplug.spotless\")"), ("gradlew", "")],
            &["format: ./gradlew spotlessCheck (build.gradle.kts)"],
        ),
        (
            &[("pom.xml", "<artifactId>maven-checkstyle-plugin</artifactId>")],
            &["lint: mvn checkstyle:check (pom.xml)"],
        ),
        (
            &[("mix.exs", "{:credo, \"1\"}"), (".formatter.exs", "")],
            &["lint: mix credo (mix.exs)", "format: mix format --check-formatted (.formatter.exs)"],
        ),
        (&[("phpstan.neon", "")], &["types: vendor/bin/phpstan analyze (phpstan.neon)"]),
        (&[(".rubocop.yml", "")], &["lint: bundle exec rubocop (.rubocop.yml)"]),
        (&[("App.sln", "")], &[]),
        (
            &[("App.sln", ""), (".editorconfig", "")],
            &["format: dotnet format --verify-no-changes (.editorconfig)"],
        ),
        (
            &[(".pre-commit-config.yaml", "")],
            &["lint: pre-commit run --all-files (.pre-commit-config.yaml)"],
        ),
        (&[("justfile", "lint:\n  x\ntypecheck arg:\n  x\n")], &["lint: just lint (justfile)"]),
    ];
    for (files, expected) in table {
        assert_eq!(shown(files), *expected, "{files:?}");
    }
}
