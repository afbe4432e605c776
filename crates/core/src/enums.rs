//! Enums that list their variants, with a word for each, and checked texts with a type of their own.

/// Makes an enum whose variants have words, and all that follows from that. A variant without a word has its own name.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident $(= $word:literal)?),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$of])* $variant),+ }

        #[allow(dead_code, reason = "not every enum needs both")]
        impl $name {
            /// All of them, in order.
            $vis const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// Its word.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $crate::words!(@ $variant $($word)?)),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::enums::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
                found.ok_or_else(|| $crate::enums::UnknownWord(text.to_owned()))
            }
        }
    };
    (@ $variant:ident) => { stringify!($variant) };
    (@ $variant:ident $word:literal) => { $word };
}

/// What every checked text has: a type with one `String` and a `new` that checks it.
macro_rules! checked_text {
    ($name:ident, $error:ty) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

/// A word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a word of this version")]
pub struct UnknownWord(pub String);
