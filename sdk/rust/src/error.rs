//! Errors: a code that the host acts on, and a message for people.

use crate::sys;

/// What the host does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The user's options are wrong; only before any data.
    Config = 1,
    /// A column is missing or of the wrong type; only before any data.
    Schema = 2,
    /// This batch is bad: the host finds the row and quarantines it.
    Data = 3,
    /// Transient: the host may call again with the same input.
    Retry = 4,
    /// Out of memory; never decides a row's fate.
    NoMemory = 5,
    /// The run is being stopped.
    Cancelled = 6,
    /// A defect of the plugin.
    Internal = 7,
    /// A file or device failed.
    Io = 8,
    /// A contract is broken for good; only gates.
    Halt = 9,
}

/// Code, the option or column at fault ("" for none), and a message: what was found, what was expected, what to do.
#[derive(Clone, Debug)]
pub struct Error {
    pub(crate) status: i32,
    pub(crate) field: String,
    pub(crate) message: String,
    pub(crate) row: i64,
}

/// What functions of a stage return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of any code.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { status: code as i32, field: String::new(), message: message.into(), row: -1 }
    }

    /// The user's options are wrong.
    pub fn config(option: &str, message: impl Into<String>) -> Error {
        Error { field: option.to_string(), ..Error::new(Code::Config, message) }
    }

    /// The batch holds a row that can't be processed: the host finds and quarantines it.
    pub fn data(message: impl Into<String>) -> Error {
        Error::new(Code::Data, message)
    }

    /// A defect of the plugin.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Code::Internal, message)
    }

    /// Names the option or column at fault.
    pub fn with_field(mut self, field: &str) -> Error {
        self.field = field.to_string();
        self
    }

    /// A status that the host gave, without words of its own.
    pub(crate) fn status(status: i32, message: &str) -> Error {
        Error { status, field: String::new(), message: message.to_string(), row: -1 }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Cuts at a character.
fn put(text: &str, into: &mut [std::os::raw::c_char]) {
    let mut n = text.len().min(into.len() - 1);
    while !text.is_char_boundary(n) {
        n -= 1;
    }
    for (to, from) in into.iter_mut().zip(text.as_bytes()[..n].iter()) {
        *to = *from as std::os::raw::c_char;
    }
    into[n] = 0;
}

pub(crate) fn put_text(text: &str, into: &mut [std::os::raw::c_char]) {
    put(text, into)
}

/// An error as the host gave it.
pub(crate) fn empty() -> sys::sluice_error {
    sys::sluice_error {
        size: std::mem::size_of::<sys::sluice_error>() as u32,
        code: 0,
        row: -1,
        field: [0; 64],
        message: [0; 944],
    }
}

pub(crate) fn from_host(status: i32, error: &sys::sluice_error) -> Error {
    Error { status, field: text_of(&error.field), message: text_of(&error.message), row: error.row }
}

fn text_of(chars: &[std::os::raw::c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Without allocating; `out` may be null.
pub(crate) unsafe fn out_of_memory(out: *mut sys::sluice_error) -> i32 {
    if let Some(out) = out.as_mut() {
        out.code = Code::NoMemory as i32;
        out.row = -1;
        put("", &mut out.field);
        put("out of memory", &mut out.message);
    }
    Code::NoMemory as i32
}

/// Fills the caller's error; `out` may be null.
pub(crate) unsafe fn give(error: &Error, out: *mut sys::sluice_error) -> i32 {
    if let Some(out) = out.as_mut() {
        out.code = error.status;
        out.row = error.row;
        put(&error.field, &mut out.field);
        put(&error.message, &mut out.message);
    }
    error.status
}
