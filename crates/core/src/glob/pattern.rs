//! One pattern of paths: how git reads a line of a `.gitignore`, and which paths it matches.
//!
//! The rules are those of git's `wildmatch`, byte by byte, with its oddities; a test compares the two. Git
//! accepts patterns that can match nothing, such as `a[b`. Here they are refused, because whoever wrote one
//! relies on it.

use thiserror::Error;

/// Why a pattern is refused: it could not match any path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("it is empty")]
    Empty,
    /// Git takes such a line for a comment.
    #[error("git reads it as a comment; write \\# for a name that begins with #")]
    Comment,
    #[error("it has a [ without its ]; write \\[ for the character itself")]
    OpenSet,
    #[error("[:{0}:] is not a class; the classes are {known}", known = CLASSES.map(|(name, _)| name).join(", "))]
    UnknownClass(String),
    #[error("it ends with a backslash; write \\\\ for the character itself")]
    OpenEscape,
    #[error("no path in a repository has an empty part, `.` or `..`")]
    NoSuchPart,
}

/// A pattern, ready to be compared with paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) negated: bool,
    folders_only: bool,
    /// It is about a name at any depth, and not about a path from the top.
    any_depth: bool,
    /// What a path has to begin with; the rest is for the steps.
    literal: Vec<u8>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Byte(u8),
    /// `?`
    Any,
    /// `[…]`
    Set(Set),
    /// `*`: any text within one name.
    Star,
    /// `**` between slashes: any text.
    Deep,
    /// In front of the `**` of `**/`: both may be left out.
    MaySkipDeep,
}

/// Which of the 256 bytes.
type Set = Box<[bool; 256]>;

type IsOf = fn(u8) -> bool;

const CLASSES: [(&str, IsOf); 12] = [
    ("alnum", |byte| byte.is_ascii_alphanumeric()),
    ("alpha", |byte| byte.is_ascii_alphabetic()),
    ("blank", |byte| byte == b' ' || byte == b'\t'),
    ("cntrl", |byte| byte.is_ascii_control()),
    ("digit", |byte| byte.is_ascii_digit()),
    ("graph", |byte| byte.is_ascii_graphic()),
    ("lower", |byte| byte.is_ascii_lowercase()),
    ("print", |byte| byte == b' ' || byte.is_ascii_graphic()),
    ("punct", |byte| byte.is_ascii_punctuation()),
    // Git's own: neither form feed nor vertical tab.
    ("space", |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')),
    ("upper", |byte| byte.is_ascii_uppercase()),
    ("xdigit", |byte| byte.is_ascii_hexdigit()),
];

impl Pattern {
    /// Reads a pattern as a line of a `.gitignore`.
    pub(super) fn read(text: &str) -> Result<Self, PatternError> {
        if text.starts_with('#') {
            return Err(PatternError::Comment);
        }
        let line = without_spaces_at_end(text);
        let negated = line.starts_with('!');
        let line = line.strip_prefix('!').unwrap_or(line);
        let folders_only = line.ends_with('/');
        let line = line.strip_suffix('/').unwrap_or(line);
        if line.is_empty() {
            return Err(PatternError::Empty);
        }
        let any_depth = !line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        let plain = line.find(['*', '?', '[', '\\']).unwrap_or(line.len());
        let (literal, rest) = line.split_at(if any_depth { 0 } else { plain });
        let literal = literal.as_bytes().to_vec();
        let steps = Reader { rest: rest.as_bytes(), at: 0 }.steps(any_depth)?;
        let pattern = Self { negated, folders_only, any_depth, literal, steps };
        match pattern.has_impossible_part() {
            true => Err(PatternError::NoSuchPart),
            false => Ok(pattern),
        }
    }

    /// Whether it matches a file, or a folder that the file is in.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.as_bytes();
        let ends = (1..path.len()).filter(|at| path[*at] == b'/');
        ends.clone().any(|end| self.matches_entry(&path[..end]))
            || (!self.folders_only && self.matches_entry(path))
    }

    /// Whether it matches this very file or folder, or, where it is about a name, this name.
    pub(super) fn matches_entry(&self, path: &[u8]) -> bool {
        if self.any_depth {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            return self.takes(name);
        }
        path.strip_prefix(&*self.literal).is_some_and(|rest| self.takes(rest))
    }

    /// Whether the steps take all of a text. All positions that can be reached are followed at once, so that
    /// the time is bounded by the product of both lengths, whatever the pattern is.
    fn takes(&self, text: &[u8]) -> bool {
        let mut reached = vec![false; self.steps.len() + 1];
        reached[0] = true;
        self.follow_empty(&mut reached);
        for byte in text {
            let mut next = vec![false; reached.len()];
            for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| reached[*at]) {
                let within_name = *byte != b'/';
                match step {
                    Step::Byte(wanted) => next[at + 1] |= wanted == byte,
                    Step::Any => next[at + 1] |= within_name,
                    Step::Set(set) => next[at + 1] |= within_name && set[usize::from(*byte)],
                    Step::Star => next[at] |= within_name,
                    Step::Deep => next[at] = true,
                    Step::MaySkipDeep => {}
                }
            }
            self.follow_empty(&mut next);
            reached = next;
        }
        reached.last().copied().unwrap_or_default()
    }

    /// Marks what is reached without taking anything.
    fn follow_empty(&self, reached: &mut [bool]) {
        for (at, step) in self.steps.iter().enumerate() {
            if !reached[at] {
                continue;
            }
            match step {
                Step::Star | Step::Deep => reached[at + 1] = true,
                Step::MaySkipDeep => {
                    reached[at + 1] = true;
                    // Past `**` and the slash behind it.
                    reached[at + 3] = true;
                }
                Step::Byte(_) | Step::Any | Step::Set(_) => {}
            }
        }
    }

    fn has_impossible_part(&self) -> bool {
        let literal = self.literal.iter().map(|byte| Step::Byte(*byte));
        let all: Vec<Step> = literal.chain(self.steps.iter().cloned()).collect();
        let dot = Step::Byte(b'.');
        all.split(|step| *step == Step::Byte(b'/')).any(|part| {
            part.is_empty() || (part.len() <= 2 && part.iter().all(|step| *step == dot))
        })
    }
}

/// A line without the spaces at its end, unless a backslash keeps one.
fn without_spaces_at_end(line: &str) -> &str {
    let mut end = 0;
    let mut escaped = false;
    for (at, letter) in line.char_indices() {
        if escaped || letter != ' ' {
            end = at + letter.len_utf8();
        }
        escaped = !escaped && letter == '\\';
    }
    &line[..end]
}

struct Reader<'t> {
    rest: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn steps(mut self, any_depth: bool) -> Result<Vec<Step>, PatternError> {
        let mut steps = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'*' => self.stars(any_depth, &mut steps),
                b'?' => steps.push(Step::Any),
                b'[' => steps.push(Step::Set(self.set()?)),
                b'\\' => match self.next() {
                    Some(byte) => steps.push(Step::Byte(byte)),
                    None => return Err(PatternError::OpenEscape),
                },
                byte => steps.push(Step::Byte(byte)),
            }
        }
        Ok(steps)
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.rest.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// What follows without being taken.
    fn ahead(&self, by: usize) -> Option<u8> {
        self.rest.get(self.at + by).copied()
    }

    /// The first star is taken. Several between slashes are any text, else they are as one.
    fn stars(&mut self, any_depth: bool, steps: &mut Vec<Step>) {
        let before = self.at.checked_sub(2).and_then(|at| self.rest.get(at));
        let several = self.ahead(0) == Some(b'*');
        while self.ahead(0) == Some(b'*') {
            self.at += 1;
        }
        let slash_before = before.is_none_or(|byte| *byte == b'/');
        let slash_behind = match self.ahead(0) {
            None | Some(b'/') => true,
            Some(b'\\') => self.ahead(1) == Some(b'/'),
            Some(_) => false,
        };
        if any_depth || !several || !slash_before || !slash_behind {
            steps.push(Step::Star);
            return;
        }
        if self.ahead(0) == Some(b'/') {
            steps.push(Step::MaySkipDeep);
        }
        steps.push(Step::Deep);
    }

    /// A set, whose bracket is taken.
    fn set(&mut self) -> Result<Set, PatternError> {
        let mut set: Set = Box::new([false; 256]);
        let mut add = |byte: u8| set[usize::from(byte)] = true;
        let negated = matches!(self.ahead(0), Some(b'!' | b'^'));
        self.at += usize::from(negated);
        // The beginning of a range, if what was there last can be one.
        let mut from: Option<u8> = None;
        let mut first = true;
        loop {
            let byte = self.next().ok_or(PatternError::OpenSet)?;
            match byte {
                b']' if !first => break,
                b'\\' => {
                    let byte = self.next().ok_or(PatternError::OpenSet)?;
                    add(byte);
                    from = Some(byte);
                }
                b'-' if from.is_some() && self.ahead(0).is_some_and(|next| next != b']') => {
                    let mut to = self.next().ok_or(PatternError::OpenSet)?;
                    if to == b'\\' {
                        to = self.next().ok_or(PatternError::OpenSet)?;
                    }
                    (from.unwrap_or(to)..=to).for_each(&mut add);
                    from = None;
                }
                b'[' if self.ahead(0) == Some(b':') => {
                    from = match self.class()? {
                        Some(is_of) => {
                            (0..=u8::MAX).filter(|byte| is_of(*byte)).for_each(&mut add);
                            None
                        }
                        None => {
                            add(b'[');
                            Some(b'[')
                        }
                    };
                }
                byte => {
                    add(byte);
                    from = Some(byte);
                }
            }
            first = false;
        }
        Ok(if negated { Box::new(set.map(|is_in| !is_in)) } else { set })
    }

    /// A class such as `[:digit:]`, whose bracket is taken; `None` if it is a plain bracket.
    fn class(&mut self) -> Result<Option<IsOf>, PatternError> {
        let rest = &self.rest[self.at + 1..];
        let Some(end) = rest.iter().position(|byte| *byte == b']') else {
            return Err(PatternError::OpenSet);
        };
        let Some(name) = rest[..end].strip_suffix(b":") else { return Ok(None) };
        self.at += end + 2;
        let known = CLASSES.iter().find(|(class, _)| class.as_bytes() == name);
        let unknown = || PatternError::UnknownClass(String::from_utf8_lossy(name).into_owned());
        known.map(|(_, is_of)| Some(*is_of)).ok_or_else(unknown)
    }
}
