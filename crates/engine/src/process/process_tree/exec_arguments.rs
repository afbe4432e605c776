//! The arguments and environment of a program in the form that the system takes. They are built beforehand, because
//! nothing may allocate between the start of a process and that of its program.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ports::CommandSpec;
use crate::process::mark::{self, Mark};

/// Where programs are searched without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

pub(super) struct Words {
    pub(super) folder: CString,
    /// Candidate paths of the program, in search order.
    pub(super) files: Vec<File>,
    pub(super) arguments: List,
    pub(super) environment: List,
}

/// One of the files that may be the program.
pub(super) struct File {
    pub(super) path: CString,
    /// The arguments of the shell, for a script that does not say what it is run by.
    pub(super) as_script: Addresses,
}

/// Words, and the list of their addresses.
pub(super) struct List {
    words: Vec<CString>,
    addresses: Addresses,
}

/// Addresses of words with a zero behind the last.
pub(super) struct Addresses(Vec<usize>);

impl Addresses {
    fn of<'a>(words: impl Iterator<Item = &'a CStr>) -> Self {
        Self(words.map(|word| word.as_ptr() as usize).chain([0]).collect())
    }

    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.0.as_ptr().cast()
    }
}

impl List {
    fn of(words: impl Iterator<Item = io::Result<CString>>) -> io::Result<Self> {
        let words = words.collect::<io::Result<Vec<CString>>>()?;
        let addresses = Addresses::of(words.iter().map(CString::as_c_str));
        Ok(Self { words, addresses })
    }

    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr()
    }
}

impl Words {
    pub(super) fn of(spec: &CommandSpec, mark: &Mark) -> io::Result<Self> {
        let marked = (OsStr::new(mark::VARIABLE), OsStr::new(mark.as_str()));
        let given = spec.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        // Of variables of one name the last counts.
        let environment: BTreeMap<&OsStr, &OsStr> = given.chain([marked]).collect();
        let arguments = [&spec.program].into_iter().chain(&spec.args);
        let arguments = List::of(arguments.map(|argument| word(argument)))?;
        let path = environment.get(OsStr::new("PATH")).copied();
        let files = places(&spec.program, path.unwrap_or(OsStr::new(DEFAULT_PATH)));
        let files = files.into_iter().map(|place| {
            let path = word(&place)?;
            let rest = arguments.words.iter().skip(1).map(CString::as_c_str);
            let as_script = Addresses::of([c"sh", path.as_c_str()].into_iter().chain(rest));
            Ok(File { path, as_script })
        });
        Ok(Self {
            folder: word(spec.folder.as_os_str())?,
            files: files.collect::<io::Result<Vec<File>>>()?,
            environment: List::of(
                environment
                    .iter()
                    .map(|(name, value)| word(&[*name, *value].join(OsStr::new("=")))),
            )?,
            arguments,
        })
    }
}

fn word(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}

/// Candidate paths of a program: a path stays as it is, a name is searched.
fn places(program: &OsStr, path: &OsStr) -> Vec<std::ffi::OsString> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let folders = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    folders.map(|folder| Path::new(folder).join(program).into_os_string()).collect()
}
