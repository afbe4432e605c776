//! Limits what a template may do. A session can write a template, and a few lines of Jinja could use all memory or
//! never end: so its steps are counted, its output is limited, and no value can grow out of another.

use std::io::{self, Write};

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind};

/// How many steps a template may take. One that shows every variable takes about a hundred.
const STEPS: u64 = 10_000;

/// The longest text that a template may write, in bytes.
pub(super) const OUTPUT: usize = 4 << 20;

/// Filters and functions that produce much output from little input. Two of them are added back with a limit.
const REMOVED: [&str; 7] = ["batch", "format", "indent", "join", "pprint", "replace", "slice"];

pub(super) fn set(environment: &mut Environment<'_>) {
    environment.set_fuel(Some(STEPS));
    for filter in REMOVED {
        environment.remove_filter(filter);
    }
    for function in ["namespace", "debug"] {
        environment.remove_global(function);
    }
    environment.add_filter("replace", replace);
    environment.add_filter("indent", indent);
}

/// What a template may not contain: in it, a value would grow without writing anything.
pub(super) struct Forbidden {
    pub(super) message: String,
    pub(super) span: Span,
}

/// The first forbidden part of a template. Invalid templates are not checked.
pub(super) fn forbidden(text: &str) -> Option<Forbidden> {
    let mut block: Option<&str> = None;
    let mut starts = false;
    let mut assigned = false;
    for token in tokenize(text, false, SyntaxConfig::default()) {
        let Ok((token, span)) = token else { return None };
        let found = |message: &str| Some(Forbidden { message: message.to_owned(), span });
        let sets = matches!(block, Some("set" | "with"));
        match token {
            Token::BlockStart => (starts, assigned) = (true, false),
            Token::Ident(name) if starts => {
                (starts, block) = (false, Some(name));
                if matches!(name, "filter" | "macro" | "call") {
                    return found(&format!("a prompt cannot use {{% {name} %}}"));
                }
            }
            Token::BlockEnd => {
                if block == Some("set") && !assigned {
                    return found("a prompt cannot use {% set %} without \"=\"");
                }
                block = None;
            }
            Token::Ident("recursive") if block == Some("for") => {
                return found("a prompt cannot use a recursive loop");
            }
            Token::Assign => assigned = true,
            Token::Mul | Token::Pow => return found("a prompt cannot multiply"),
            Token::Tilde
            | Token::Plus
            | Token::Pipe
            | Token::ParenOpen
            | Token::BracketOpen
            | Token::BraceOpen
                if sets =>
            {
                return found("a prompt can set a variable only to a plain value");
            }
            _ => {}
        }
    }
    None
}

fn replace(value: &str, from: &str, to: &str) -> Result<String, Error> {
    let grown = value.matches(from).count().saturating_mul(to.len());
    fits(value.len().saturating_add(grown))?;
    Ok(value.replace(from, to))
}

fn indent(value: &str, width: Option<usize>, first: Option<bool>) -> Result<String, Error> {
    let width = width.unwrap_or(4);
    let lines: Vec<&str> = value.split('\n').collect();
    fits(value.len().saturating_add(lines.len().saturating_mul(width)))?;
    let blanks = " ".repeat(width);
    let indented = lines.iter().enumerate().map(|(at, line)| {
        let stays = line.is_empty() || (at == 0 && first != Some(true));
        format!("{}{line}", if stays { "" } else { &blanks })
    });
    Ok(indented.collect::<Vec<_>>().join("\n"))
}

fn fits(length: usize) -> Result<(), Error> {
    match length <= OUTPUT {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidOperation, too_long())),
    }
}

/// What the user reads where the output of a template is longer than it may be.
fn too_long() -> String {
    format!("the prompt would be longer than {} MiB", OUTPUT >> 20)
}

pub(super) fn words(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::OutOfFuel => {
            Some(format!("the prompt takes more than {STEPS} steps: does a loop run too long?"))
        }
        ErrorKind::WriteFailure => Some(too_long()),
        _ => None,
    }
}

#[derive(Debug, Default)]
pub(super) struct Page(Vec<u8>);

impl Page {
    pub(super) fn text(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned())
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > OUTPUT {
            return Err(io::Error::other(too_long()));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
