//! The program `ralph`. All of it is in the library, so that cargo compiles it beside its dependencies.

fn main() -> std::process::ExitCode {
    ralph_cli::main()
}
