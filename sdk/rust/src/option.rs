//! Typed options: one struct and one table, written by `options!`. The host parses, checks, and fills the struct; it is valid until the
//! stage is closed.

use std::ffi::CStr;
use std::os::raw::c_char;

/// A struct made by `options!`.
///
/// # Safety
/// The table's offsets are those of fields of the types they say. `options!` sees to it.
pub unsafe trait Options: Copy + Send + Sync + 'static {
    /// One row a field.
    fn table() -> Vec<OptionSpec>;
}

/// A stage without options.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NoOptions {
    _unused: u64,
}

// SAFETY: there are no offsets.
unsafe impl Options for NoOptions {
    fn table() -> Vec<OptionSpec> {
        Vec::new()
    }
}

/// Types that an option's field may have: `i64` `f64` `bool` `Text` `Choice` `Bytes` `Nanos` `Path` `ColumnName` `Range` `List` `Map` `Node`.
pub trait OptionType: Copy {
    #[doc(hidden)]
    const TYPE: i32;
}

macro_rules! option_type {
    ($($type:ty = $number:literal,)*) => { $(impl OptionType for $type { const TYPE: i32 = $number; })* };
}

option_type! {
    bool = 1,
    i64 = 2,
    f64 = 3,
    Text = 4,
    Choice = 5,
    Bytes = 6,
    Nanos = 7,
    Path = 8,
    ColumnName = 9,
    Range = 10,
    List = 11,
    Map = 12,
    Node = 13,
}

macro_rules! text_like {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            #[repr(transparent)]
            pub struct $name(*const c_char);

            // SAFETY: the host owns the text until the stage is closed, and never changes it.
            unsafe impl Send for $name {}
            unsafe impl Sync for $name {}

            impl $name {
                /// None when the option is not set and has no default.
                pub fn get(&self) -> Option<&str> {
                    // SAFETY: null, or a NUL-terminated text that the host keeps; options are UTF-8.
                    unsafe { text(self.0) }
                }
            }
        )*
    };
}

text_like! {
    /// A string.
    Text
    /// An absolute path; the file's content enters the task key.
    Path
    /// A column's name.
    ColumnName
    /// The name of another node of the pipeline (gates).
    Node
}

unsafe fn text<'a>(p: *const c_char) -> Option<&'a str> {
    if p.is_null() {
        None
    } else {
        CStr::from_ptr(p).to_str().ok()
    }
}

/// An enum: the index of the chosen word among `choices`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Choice(pub i32);

/// A size in bytes; written 64MiB, 1e6, 2GB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds; written 10s, 5m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Nanos(pub i64);

/// Written lo..hi.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Range {
    /// The smallest value.
    pub lo: f64,
    /// The largest value.
    pub hi: f64,
}

/// A list of strings.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct List {
    items: *const *const c_char,
    n: u64,
}

/// Strings by name.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Map {
    keys: *const *const c_char,
    values: *const *const c_char,
    n: u64,
}

// SAFETY: as for texts.
unsafe impl Send for List {}
unsafe impl Sync for List {}
unsafe impl Send for Map {}
unsafe impl Sync for Map {}

unsafe fn texts<'a>(items: *const *const c_char, n: u64) -> Vec<&'a str> {
    (0..n as usize).filter_map(|k| text(*items.add(k))).collect()
}

impl List {
    /// The strings, in order.
    pub fn items(&self) -> Vec<&str> {
        // SAFETY: n items that the host keeps.
        unsafe { texts(self.items, self.n) }
    }
}

impl Map {
    /// Names and values, in the order given.
    pub fn items(&self) -> Vec<(&str, &str)> {
        // SAFETY: n keys and n values that the host keeps.
        let (keys, values) = unsafe { (texts(self.keys, self.n), texts(self.values, self.n)) };
        keys.into_iter().zip(values).collect()
    }
}

/// A row of the option table; `options!` calls the methods that stand behind `=>`.
#[derive(Clone, Debug)]
pub struct OptionSpec {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) default: Option<String>,
    pub(crate) choices: Option<String>,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) kind: i32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
}

impl OptionSpec {
    #[doc(hidden)]
    pub fn new<T: OptionType>(name: &str, doc: &str, base: usize, field: *const T) -> OptionSpec {
        OptionSpec {
            name: name.trim_start_matches("r#").to_string(),
            doc: doc.split_whitespace().collect::<Vec<_>>().join(" "),
            default: None,
            choices: None,
            min: 0.0,
            max: 0.0,
            kind: T::TYPE,
            flags: 0,
            offset: (field as usize - base) as u64,
        }
    }

    /// As a user would type it.
    pub fn default(mut self, text: &str) -> Self {
        self.default = Some(text.to_string());
        self
    }

    /// Inclusive.
    pub fn range(mut self, min: impl Into<f64>, max: impl Into<f64>) -> Self {
        self.min = min.into();
        self.max = max.into();
        self
    }

    /// "a|b|c", for `Choice`.
    pub fn choices(mut self, words: &str) -> Self {
        self.choices = Some(words.to_string());
        self
    }

    /// May be given without its name; at most one option.
    pub fn positional(mut self) -> Self {
        self.flags |= 1;
        self
    }

    /// Does not affect what is written: changing it runs nothing again.
    pub fn no_output(mut self) -> Self {
        self.flags |= 2;
        self
    }

    /// Must be given.
    pub fn required(mut self) -> Self {
        self.flags |= 8;
        self
    }

    /// A dataset folder that the host writes (writers).
    pub fn output_path(mut self) -> Self {
        self.flags |= 16;
        self
    }
}

/// Declares a struct of options and their table:
///
/// ```
/// sluice::options! {
///     /// Options of my filter.
///     pub struct Config {
///         /// Fewest words of a document that is kept.
///         min_words: i64 => default("5").range(0, 1_000_000),
///     }
/// }
/// ```
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty => $($method:ident($($argument:expr),*)).+),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $vis struct $name {
            $($(#[doc = $doc])+ $vis $field: $type,)*
        }

        // SAFETY: the offsets are taken from the fields themselves, the types from their types.
        unsafe impl $crate::Options for $name {
            fn table() -> Vec<$crate::OptionSpec> {
                let value = std::mem::MaybeUninit::<$name>::uninit();
                let base = value.as_ptr();
                vec![$({
                    let field = unsafe { std::ptr::addr_of!((*base).$field) };
                    $crate::OptionSpec::new(stringify!($field), concat!($($doc, " "),+), base as usize, field)
                        $(.$method($($argument),*))+
                },)*]
            }
        }
    };
}
