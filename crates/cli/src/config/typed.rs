//! Settings by type: `config.get(key::LOOP_JOBS)` is a number because the row of `loop.jobs` says so. A key that no
//! code uses does not compile without a warning, so a setting that nothing reads cannot exist.

use std::marker::PhantomData;
use std::time::Duration;

use ralph_core::task::RetryLimit;

use super::value::{self, View};

/// The name of a setting whose value is a `T`. A name that contains `<agent>` stands for one setting per agent.
pub(crate) struct Key<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

// Derived, these would ask the same of `T`.
impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> Key<T> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.name
    }
}

/// How the value of a setting is read.
pub(crate) trait Typed {
    type Value<'a>: Default;

    /// The value; nothing if it is of another kind, which a test over the table rules out.
    fn read(view: View<'_>) -> Option<Self::Value<'_>>;
}

/// Text, a path, or the word of a choice.
pub(crate) struct Text;
pub(crate) struct Whole;
pub(crate) struct Amount;
pub(crate) struct Bool;
pub(crate) struct List;
/// A length of time; none if it is `""`.
pub(crate) struct Time;
/// A number of bytes; none if it is `""`.
pub(crate) struct Size;
/// A `T`, or nothing if the preset decides.
pub(crate) struct OrPreset<T>(PhantomData<T>);

/// Types that a view holds as they are.
macro_rules! held {
    ($($kind:ident = $value:ty;)+) => {
        $(impl Typed for $kind {
            type Value<'a> = $value;

            fn read(view: View<'_>) -> Option<Self::Value<'_>> {
                match view {
                    View::$kind(value) => Some(value),
                    _ => None,
                }
            }
        })+
    };
}

held! {
    Text = &'a str;
    Whole = u64;
    Amount = f64;
    Bool = bool;
    List = Vec<&'a str>;
}

impl Typed for Time {
    type Value<'a> = Option<Duration>;

    fn read(view: View<'_>) -> Option<Option<Duration>> {
        Text::read(view).map(value::duration)
    }
}

impl Typed for Size {
    type Value<'a> = Option<u64>;

    fn read(view: View<'_>) -> Option<Option<u64>> {
        Text::read(view).map(value::size)
    }
}

impl Typed for RetryLimit {
    type Value<'a> = Self;

    fn read(view: View<'_>) -> Option<Self> {
        match view {
            View::Whole(number) => Some(Self::AtMost(u32::try_from(number).unwrap_or(u32::MAX))),
            View::Text("unlimited") => Some(Self::Unlimited),
            _ => None,
        }
    }
}

impl<T: Typed> Typed for OrPreset<T> {
    type Value<'a> = Option<T::Value<'a>>;

    fn read(view: View<'_>) -> Option<Self::Value<'_>> {
        match view {
            View::Text("preset") => Some(None),
            view => T::read(view).map(Some),
        }
    }
}
