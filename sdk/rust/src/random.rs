//! Readers that read at random: they ask for the bytes that they want, and make rows of units of a file.

use crate::error::{Error, Result};
use crate::stage::{c_text, Emit, Records, Stage};
use crate::sys;
use std::ffi::CStr;
use std::ops::{Deref, DerefMut};
use std::os::raw::c_void;

/// Reads files unit by unit (row groups, frames, indexed records): `CUT` is "own", which is the default here. With "sync" there is no
/// survey: `scan` is given a range of bytes, finds the first record that begins in it, and reads all those that do.
///
/// A call that wants bytes asks for them and returns; `surveyed` or `scanned` goes on when they are there, and may ask again. The bytes
/// are those of the file as it is stored: codecs are the reader's affair. What survey and scan ask and give depends on the file and the
/// options alone. Declare `_begin` and `_end` in `prepare` where a record's bytes are known; else rows are traced to their unit.
pub trait RandomReader: Stage {
    /// Finds out of what units a file consists: asks for bytes, or tells all of them, in ascending order.
    fn survey(&self, _worker: &mut Self::Worker, _file: &File, _out: &mut Survey) -> Result<()> {
        Err(Error::internal("a reader with CUT \"own\" has survey and surveyed"))
    }
    /// The same, once the bytes are there.
    fn surveyed(&self, _worker: &mut Self::Worker, _file: &File, _parts: &Parts, _out: &mut Survey) -> Result<()> {
        Err(Error::internal("survey asks, and there is no surveyed"))
    }
    /// Begins a unit, or goes on with it where `scan.more(true)` was said: about a mebibyte of text a call.
    fn scan(&self, worker: &mut Self::Worker, scan: &mut Scan, out: &mut Scanned) -> Result<()>;
    /// The same, once the bytes are there.
    fn scanned(&self, worker: &mut Self::Worker, scan: &mut Scan, parts: &Parts, out: &mut Scanned) -> Result<()>;
}

/// A file as it is stored.
#[derive(Clone, Copy)]
pub struct File<'a>(pub(crate) &'a sys::sluice_file);

impl File<'_> {
    /// Its name, for messages.
    pub fn uri(&self) -> String {
        // SAFETY: the text is the host's, and copied.
        unsafe { CStr::from_ptr(self.0.uri) }.to_string_lossy().into_owned()
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }
}

/// What was asked for, in the order of asking.
pub struct Parts<'a>(pub(crate) &'a sys::sluice_answers);

impl<'a> Parts<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.n as usize
    }

    /// Never: who asks for nothing is not answered.
    pub fn is_empty(&self) -> bool {
        self.0.n == 0
    }

    /// The bytes of one, lent for the call.
    pub fn part(&self, k: usize) -> &'a [u8] {
        assert!(k < self.len(), "an answer that is not there");
        // SAFETY: the host gives n answers of stride bytes each, and lends their bytes for the call.
        unsafe {
            let one = &*((self.0.items as *const u8).add(k * self.0.stride as usize) as *const sys::sluice_answer);
            if one.n == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(one.data as *const u8, one.n as usize)
            }
        }
    }
}

/// A unit of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unit<'a> {
    /// Its first byte, which decides who reads it.
    pub begin: u64,
    /// Behind its last byte.
    pub end: u64,
    /// What a scan of it holds at once when it is decoded; 0 = no more than it asks for.
    pub bytes: u64,
    /// If they are known: then what its scan gives, calls bad and skips comes to that, or the file is damaged.
    pub rows: Option<u64>,
    /// Why it need not be read (`[a-z0-9_]+`): what an option asks for can't be in it.
    pub skip: Option<&'a str>,
}

/// What a survey gives.
pub struct Survey {
    pub(crate) emit: Emit,
}

impl Survey {
    /// Asks for bytes of the file.
    pub fn ask(&mut self, offset: u64, n: u64) -> Result<()> {
        self.emit.ask_bytes(offset, n)
    }

    /// Tells of the next unit.
    pub fn unit(&mut self, unit: &Unit) -> Result<()> {
        let skip = unit.skip.map(c_text).transpose()?;
        let rows = unit.rows.map_or(Ok(-1), i64::try_from).map_err(|_| Error::data("a unit has too many rows"))?;
        self.emit.unit(&sys::sluice_unit {
            size: std::mem::size_of::<sys::sluice_unit>() as u64,
            begin: unit.begin,
            end: unit.end,
            bytes: unit.bytes,
            rows,
            skip: skip.as_ref().map_or(std::ptr::null(), |text| text.as_ptr()),
        })
    }

    /// What scans of the file are to know (`Scan::description`), and `Plan::described` of the first file.
    pub fn describe(&mut self, bytes: &[u8]) -> Result<()> {
        self.emit.describe(bytes)
    }
}

/// The unit at hand; with CUT "sync" the range.
pub struct Scan<'a>(pub(crate) &'a mut sys::sluice_scan);

impl Scan<'_> {
    /// The file.
    pub fn file(&self) -> File<'_> {
        // SAFETY: the host lends it with the scan.
        File(unsafe { &*self.0.file })
    }

    /// Its first byte.
    pub fn begin(&self) -> u64 {
        self.0.begin
    }

    /// Behind its last byte.
    pub fn end(&self) -> u64 {
        self.0.end
    }

    /// Its number in the file, from 0.
    pub fn unit(&self) -> u64 {
        self.0.unit
    }

    /// How many calls there were before for this unit.
    pub fn call(&self) -> u64 {
        self.0.call
    }

    /// What the survey described.
    pub fn description(&self) -> &[u8] {
        if self.0.description_size == 0 {
            return &[];
        }
        // SAFETY: the host lends it with the scan.
        unsafe { std::slice::from_raw_parts(self.0.description as *const u8, self.0.description_size as usize) }
    }

    /// Whether there is more in the unit: then `scan` is called again.
    pub fn more(&mut self, more: bool) {
        self.0.more = i32::from(more);
    }
}

/// What a scan gives: push a row's values, then `end` (with any bytes, where `prepare` declared no `_begin`).
pub struct Scanned {
    pub(crate) records: Records,
}

impl Scanned {
    /// Asks for bytes of the file.
    pub fn ask(&mut self, offset: u64, n: u64) -> Result<()> {
        self.records.out.emit.ask_bytes(offset, n)
    }

    /// Rows and bytes of the unit that an option rules out; `how` is one word.
    pub fn skipped(&mut self, rows: u64, bytes: u64, how: &str) -> Result<()> {
        self.records.out.emit.skipped(rows, bytes, how)
    }
}

impl Deref for Scanned {
    type Target = Records;
    fn deref(&self) -> &Records {
        &self.records
    }
}

impl DerefMut for Scanned {
    fn deref_mut(&mut self) -> &mut Records {
        &mut self.records
    }
}

impl Emit {
    fn ask_bytes(&self, offset: u64, n: u64) -> Result<()> {
        let extent = sys::sluice_extent { offset, n };
        let payload = &extent as *const sys::sluice_extent as *const c_void;
        self.ask_kind(sys::ASK_BYTES, 0, payload, std::mem::size_of::<sys::sluice_extent>())
    }
}
