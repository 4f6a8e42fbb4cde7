//! What a plugin's author implements: `Stage`, and one of the roles.

use crate::arrow::{Column, Declared, Output, Row, Rows};
use crate::ask::Request;
use crate::error::{self, Code, Error, Result};
use crate::option::Options;
use crate::sys;
use std::ffi::{CStr, CString};
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_char, c_void};

/// How the host may cut and spread the work of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Row-local: any rows in any batch on any thread give the same.
    Stateless = 0,
    /// One worker a split, its rows in order, then `flush`.
    Ordered = 1,
    /// One virtual partition at a time, sorted by (key, position).
    Keyed = 2,
    /// One worker, everything in order.
    Global = 3,
}

/// Flags of `Stage::FLAGS`.
pub mod flags {
    /// Not deterministic: results are journalled, never computed again.
    pub const RECORDED: u64 = 1;
    /// Waits for something else than the processor.
    pub const MAY_BLOCK: u64 = 2;
    /// Has a second input, which is delivered to `Stage::side` before the first.
    pub const SIDE_INPUT: u64 = 4;
    /// The second input's rows belong to splits.
    pub const SIDE_BY_SPLIT: u64 = 8;
    /// A transform that may give fewer rows than it takes, without dropping.
    pub const CONSUMES: u64 = 16;
    /// Not listed by default.
    pub const HIDDEN: u64 = 32;
}

/// What all stages have. `Self` is one configured use of the stage: read-only once `prepare` is done, and shared by threads. `Worker` is
/// what changes: each is used by one thread at a time.
pub trait Stage: Sized + Send + Sync + 'static {
    /// Made by `options!`, or `NoOptions`.
    type Options: Options;
    /// State of one worker; `()` for none.
    type Worker: Default + Send + 'static;

    /// `[a-z][a-z0-9_]*`
    const NAME: &'static str;
    /// Changes when what the stage gives changes.
    const VERSION: &'static str = "0.1.0";
    /// One line.
    const SUMMARY: &'static str;
    /// Markdown.
    const DOC: &'static str = "";
    /// Lua, as in a pipeline.
    const EXAMPLE: &'static str = "";
    /// How the work may be spread.
    const MODE: Mode = Mode::Stateless;
    /// See `flags`.
    const FLAGS: u64 = 0;
    /// Why rows are dropped: all that a `Verdict` may name (`[a-z][a-z0-9_]*`).
    const REASONS: &'static [&'static str] = &[];
    /// Annotators: the derived column's name ("words"); its source is the option `over`.
    const PROVIDES: &'static str = "";
    /// Readers: "newline" (a chunk holds whole lines) or "none"; those that read at random: "own" or "sync".
    const CUT: &'static str = "newline";
    /// Transforms: a measure that goes in and comes out equal ("tokens").
    const CONSERVES: &'static str = "";
    /// Version of what `save` writes; 0 = there is no state to save.
    const STATE_VERSION: u64 = 0;
    /// Upper estimate of the bytes that `Self` holds.
    const BYTES_SHARED: u64 = 0;
    /// Upper estimate of the bytes that a worker holds.
    const BYTES_WORKER: u64 = 0;
    /// Ordered stages: bytes held at most for a byte of a split's text.
    const BYTES_PER_INPUT: f64 = 0.0;
    /// Filters, annotators, transforms: rows ask servers, see `ask`.
    const ASKS: bool = false;
    /// Memory that one call takes beside what it is given, with what it gives back, per byte of the columns asked for; 0 = not known.
    const BYTES_PER_BATCH: f64 = 0.0;

    /// Options only, no data. The host lives as long as the stage.
    fn open(options: Self::Options, host: Host) -> Result<Self>;
    /// Asks for columns and declares columns. May be called again.
    fn prepare(&mut self, plan: &mut Plan) -> Result<()>;
    /// A row of the second input (flags::SIDE_INPUT), before the first one's.
    fn side(&self, _worker: &mut Self::Worker, _row: Row) -> Result<()> {
        Err(Error::internal("the stage has no side input"))
    }
    /// With ASKS: what the row asks a server next, in view of `Row::answers`, which has what it was answered so far. None: it has all it
    /// wants; then it is judged, annotated or transformed, which sees the answers too. A function of the row and the answers alone.
    fn ask(&self, _worker: &mut Self::Worker, _row: Row) -> Result<Option<Request>> {
        Ok(None)
    }
    /// Writes a worker's state.
    fn save(&self, _worker: &Self::Worker, _state: &mut State) -> Result<()> {
        Ok(())
    }
    /// Adds a saved state to a worker's (to a new one's when it is loaded).
    fn merge(&self, _worker: &mut Self::Worker, _state: &mut State, _version: u64) -> Result<()> {
        Ok(())
    }
}

/// Keeps or drops rows.
pub trait Filter: Stage {
    /// The verdict on one row.
    fn judge(&self, worker: &mut Self::Worker, row: Row) -> Result<Verdict>;
}

/// Adds or replaces columns; with REASONS it judges too.
pub trait Annotator: Stage {
    /// Pushes one value for each column that `prepare` added.
    fn annotate(&self, worker: &mut Self::Worker, row: Row, out: &mut Out) -> Result<()>;
    /// The verdict on one row, where REASONS are given.
    fn judge(&self, _worker: &mut Self::Worker, _row: Row) -> Result<Verdict> {
        Ok(Verdict::keep())
    }
}

/// Makes other rows out of rows. `_origin` is filled by the crate for rows that `transform` pushes, unless `prepare` added it itself.
pub trait Transform: Stage {
    /// Pushes any number of rows.
    fn transform(&self, worker: &mut Self::Worker, row: Row, out: &mut Out) -> Result<()>;
    /// Ordered stages: the input has ended. Rows pushed here need an `_origin` of their own.
    fn flush(&self, _worker: &mut Self::Worker, _out: &mut Out) -> Result<()> {
        Ok(())
    }
}

/// Turns bytes of files into rows.
pub trait Reader: Stage {
    /// Pushes one row a record, each with `Records::end`, and tells bad ones. `chunk.consumed(n)` says how far it came (all of it).
    fn read(&self, worker: &mut Self::Worker, chunk: &mut Chunk, out: &mut Records) -> Result<()>;
}

/// Observes rows and judges at the barrier. The host adds up what `save` writes by `merge`; counts must not depend on the order.
pub trait Gate: Stage {
    /// Counts a row.
    fn observe(&self, worker: &mut Self::Worker, row: Row) -> Result<()>;
    /// Whether the run goes on.
    fn judge(&self, worker: &Self::Worker, counts: &Counts) -> Result<Judgement>;
}

/// Turns rows into bytes of files that the host owns.
pub trait Writer: Stage {
    /// Writes one row.
    fn write(&self, worker: &mut Self::Worker, row: Row, out: &mut Files) -> Result<()>;
    /// The split has ended.
    fn flush(&self, _worker: &mut Self::Worker, _out: &mut Files) -> Result<()> {
        Ok(())
    }
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::internal(format!("a text with a NUL byte: {text:?}")))
}

fn check(status: i32, what: &str) -> Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(Error::status(status, what))
    }
}

fn absent(what: &str) -> Error {
    Error::internal(format!("the host has no {what}"))
}

// ---- verdicts ---------------------------------------------------------------------------------------------------------------

/// What becomes of a row.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub(crate) reason: Option<&'static str>,
    pub(crate) bad: Option<String>,
    pub(crate) value: f64,
    pub(crate) limit: f64,
    pub(crate) dup_of: Option<String>,
    pub(crate) similarity: f64,
}

impl Verdict {
    /// The row stays.
    pub fn keep() -> Verdict {
        Verdict::default()
    }

    /// The row is dropped for one of the stage's REASONS.
    pub fn drop(reason: &'static str) -> Verdict {
        Verdict { reason: Some(reason), ..Verdict::default() }
    }

    /// The row can't be judged: it is quarantined.
    pub fn bad(reason: &str, detail: &str) -> Verdict {
        Verdict { bad: Some(format!("{reason}: {detail}")), ..Verdict::default() }
    }

    /// What was measured, and what it was compared with.
    pub fn measured(mut self, value: f64, limit: f64) -> Verdict {
        self.value = value;
        self.limit = limit;
        self
    }

    /// The document it duplicates, and how alike they are, 0 to 1.
    pub fn duplicate_of(mut self, id: &str, similarity: f64) -> Verdict {
        self.dup_of = Some(id.to_string());
        self.similarity = similarity;
        self
    }
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// All is well.
    Pass,
    /// The run goes on, and says this: the measure, its bound, the likely cause.
    Warn(String),
    /// The run ends before anything is published.
    Halt(String),
}

// ---- the host ---------------------------------------------------------------------------------------------------------------

/// Services of the host. All may be called from any thread.
#[derive(Clone, Copy)]
pub struct Host {
    api: sys::sluice_host_api,
    host: *mut sys::sluice_host,
}

// SAFETY: the host's functions are thread-safe, and it lives until the stage is closed.
unsafe impl Send for Host {}
unsafe impl Sync for Host {}

/// How loud a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    /// For authors of plugins.
    Debug = 0,
    /// For the log.
    Info = 1,
    /// For the user's attention.
    Warn = 2,
    /// Something failed.
    Error = 3,
}

impl Host {
    /// Takes what the host has of the functions that this crate knows.
    pub(crate) unsafe fn new(api: *const sys::sluice_host_api, host: *mut sys::sluice_host) -> Host {
        let mut copy: sys::sluice_host_api = std::mem::zeroed();
        let n = std::mem::size_of::<sys::sluice_host_api>().min((*api).size as usize);
        std::ptr::copy_nonoverlapping(api as *const u8, &mut copy as *mut _ as *mut u8, n);
        Host { api: copy, host }
    }

    /// A message for the log.
    pub fn log(&self, level: Level, message: &str) {
        if let (Some(log), Ok(text)) = (self.api.log, CString::new(message.replace('\0', " "))) {
            // SAFETY: the text is borrowed for the call.
            unsafe { log(self.host, level as i32, text.as_ptr()) }
        }
    }

    /// A whole file (a `Path` option), decompressed.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let read = self.api.read_file.ok_or_else(|| absent("read_file"))?;
        let path = c_text(path)?;
        let mut data: *const c_void = std::ptr::null();
        let mut size = 0u64;
        let mut err = error::empty();
        // SAFETY: out parameters on the stack; the bytes belong to the host and are copied.
        unsafe {
            let status = read(self.host, path.as_ptr(), &mut data, &mut size, &mut err);
            if status != 0 {
                return Err(error::from_host(status, &err));
            }
            if size == 0 {
                return Ok(Vec::new());
            }
            Ok(std::slice::from_raw_parts(data as *const u8, size as usize).to_vec())
        }
    }

    /// A seed that depends on the pipeline's seed, the stage's name and salt only.
    pub fn seed(&self, salt: u64) -> u64 {
        // SAFETY: a plain call.
        self.api.seed.map_or(salt, |seed| unsafe { seed(self.host, salt) })
    }

    /// A private folder for temporary files.
    pub fn scratch_dir(&self) -> Result<String> {
        let scratch = self.api.scratch_dir.ok_or_else(|| absent("scratch_dir"))?;
        // SAFETY: the text is the host's, and copied.
        let path = unsafe { owned_text(scratch(self.host)) };
        path.ok_or_else(|| Error::new(Code::Io, "there is no scratch folder"))
    }

    /// Bytes that a worker may use for its own buffers.
    pub fn memory_share(&self) -> u64 {
        // SAFETY: a plain call.
        self.api.memory_share.map_or(64 << 20, |share| unsafe { share(self.host) })
    }

    /// True when the run is being stopped: return Code::Cancelled from long loops.
    pub fn cancelled(&self) -> bool {
        // SAFETY: a plain call.
        self.api.cancelled.map_or(false, |cancelled| unsafe { cancelled(self.host) } != 0)
    }
}

unsafe fn owned_text(p: *const c_char) -> Option<String> {
    if p.is_null() {
        None
    } else {
        Some(CStr::from_ptr(p).to_string_lossy().into_owned())
    }
}

// ---- prepare ----------------------------------------------------------------------------------------------------------------

/// Columns asked for and declared, in `Stage::prepare`.
pub struct Plan<'a> {
    raw: &'a mut sys::sluice_plan,
    pub(crate) added: Vec<Declared>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(raw: &'a mut sys::sluice_plan) -> Plan<'a> {
        Plan { raw, added: Vec::new() }
    }

    /// Asks for a column of the input, of this type ("" any, "a|b" either).
    pub fn need(&mut self, name: &str, kind: &str) -> Result<Column> {
        self.need_on(0, name, kind, false)
    }

    /// The same when it may be absent: see `Column::present`.
    pub fn need_optional(&mut self, name: &str, kind: &str) -> Result<Column> {
        self.need_on(0, name, kind, true)
    }

    /// The same for port 1, the side input.
    pub fn need_on(&mut self, port: u32, name: &str, kind: &str, optional: bool) -> Result<Column> {
        let need = self.raw.need.ok_or_else(|| absent("need"))?;
        let (name, kind) = (c_text(name)?, c_text(kind)?);
        let mut index = -1;
        let mut err = error::empty();
        // SAFETY: texts are borrowed, out parameters are on the stack.
        let status = unsafe {
            need(self.raw, port, name.as_ptr(), kind.as_ptr(), i32::from(optional), &mut index, &mut err)
        };
        if status != 0 {
            return Err(error::from_host(status, &err));
        }
        Ok(Column(index))
    }

    /// Asks for a derived column, such as need_derived("words", "rule=uax29", "text").
    pub fn need_derived(&mut self, provider: &str, options: &str, source: &str) -> Result<Column> {
        let need = self.raw.need_derived.ok_or_else(|| absent("need_derived"))?;
        let (provider, options, source) = (c_text(provider)?, c_text(options)?, c_text(source)?);
        let mut index = -1;
        let mut err = error::empty();
        // SAFETY: as above.
        let status = unsafe {
            need(self.raw, 0, provider.as_ptr(), options.as_ptr(), source.as_ptr(), &mut index, &mut err)
        };
        if status != 0 {
            return Err(error::from_host(status, &err));
        }
        Ok(Column(index))
    }

    /// Metadata of a column that was asked for.
    pub fn metadata(&mut self, column: Column, key: &str) -> Option<String> {
        let (metadata, key) = (self.raw.metadata?, c_text(key).ok()?);
        // SAFETY: the text is the host's, and copied.
        unsafe { owned_text(metadata(self.raw, 0, column.0, key.as_ptr())) }
    }

    /// Declares an output column ("int64", "utf8?").
    pub fn add(&mut self, name: &str, kind: &str) -> Result<Output> {
        self.add_with(name, kind, "")
    }

    /// The same with metadata: lines of key=value.
    pub fn add_with(&mut self, name: &str, kind: &str, metadata: &str) -> Result<Output> {
        let add = self.raw.add.ok_or_else(|| absent("add"))?;
        let declared = Declared::parse(name, kind)?;
        let (name, kind, text) = (c_text(name)?, c_text(kind)?, c_text(metadata)?);
        let metadata = if metadata.is_empty() { std::ptr::null() } else { text.as_ptr() };
        let mut err = error::empty();
        // SAFETY: texts are borrowed.
        let status = unsafe { add(self.raw, name.as_ptr(), kind.as_ptr(), metadata, &mut err) };
        if status != 0 {
            return Err(error::from_host(status, &err));
        }
        self.added.push(declared);
        Ok(Output(self.added.len() - 1))
    }

    /// Writers: a kind of output file; `Files::write` names it by the order of calls. codec: "none", "gzip", "zstd".
    pub fn output(&mut self, suffix: &str, codec: &str, level: i32) -> Result<()> {
        let output = self.raw.output.ok_or_else(|| absent("output"))?;
        let (suffix, codec) = (c_text(suffix)?, c_text(codec)?);
        let mut err = error::empty();
        // SAFETY: texts are borrowed.
        let status = unsafe { output(self.raw, suffix.as_ptr(), codec.as_ptr(), level, &mut err) };
        if status != 0 {
            return Err(error::from_host(status, &err));
        }
        Ok(())
    }

    /// A fact for the manifest of every dataset downstream; `json` is one JSON value.
    pub fn note(&mut self, key: &str, json: &str) -> Result<()> {
        let note = self.raw.note.ok_or_else(|| absent("note"))?;
        let (key, json) = (c_text(key)?, c_text(json)?);
        let mut err = error::empty();
        // SAFETY: texts are borrowed.
        let status = unsafe { note(self.raw, key.as_ptr(), json.as_ptr(), &mut err) };
        if status != 0 {
            return Err(error::from_host(status, &err));
        }
        Ok(())
    }

    /// Names and types of all columns of the input.
    pub fn columns(&mut self) -> Result<Vec<(String, String)>> {
        let column = self.raw.column.ok_or_else(|| absent("column"))?;
        let mut all = Vec::new();
        loop {
            let (mut name, mut kind) = (std::ptr::null(), std::ptr::null());
            // SAFETY: the texts are the host's, and copied.
            let (name, kind) = unsafe {
                check(column(self.raw, 0, all.len() as u32, &mut name, &mut kind), "the columns can't be listed")?;
                (owned_text(name).unwrap_or_default(), owned_text(kind).unwrap_or_default())
            };
            if name.is_empty() {
                return Ok(all);
            }
            all.push((name, kind));
        }
    }

    /// Readers that read at random: what the survey of the first file described, and the file's name. None: there is no file yet, or
    /// nothing was described.
    pub fn described(&mut self) -> Result<Option<(String, Vec<u8>)>> {
        let described = self.raw.described.ok_or_else(|| absent("described"))?;
        let (mut uri, mut data, mut n) = (std::ptr::null(), std::ptr::null(), 0);
        let mut err = error::empty();
        // SAFETY: out parameters on the stack; what they point to is the host's, and copied.
        unsafe {
            let status = described(self.raw, &mut uri, &mut data, &mut n, &mut err);
            if status != 0 {
                return Err(error::from_host(status, &err));
            }
            if data.is_null() {
                return Ok(None);
            }
            let bytes = if n == 0 { Vec::new() } else { std::slice::from_raw_parts(data as *const u8, n as usize).to_vec() };
            Ok(Some((owned_text(uri).unwrap_or_default(), bytes)))
        }
    }

    /// Readers: whether a later stage uses the column.
    pub fn wanted(&mut self, name: &str) -> bool {
        match (self.raw.wanted, c_text(name)) {
            // SAFETY: the text is borrowed.
            (Some(wanted), Ok(name)) => unsafe { wanted(self.raw, name.as_ptr()) != 0 },
            _ => true,
        }
    }
}

// ---- what a call gives back -------------------------------------------------------------------------------------------------

/// The host's side of one call.
#[derive(Clone, Copy)]
pub(crate) struct Emit(pub(crate) *mut sys::sluice_emit);

impl Emit {
    fn raw(&self) -> &sys::sluice_emit {
        // SAFETY: the host lends it for the call, and nothing here outlives it.
        unsafe { &*self.0 }
    }

    pub(crate) fn measure(&self, name: &str, delta: i64) -> Result<()> {
        let measure = self.raw().measure.ok_or_else(|| absent("measure"))?;
        let name = c_text(name)?;
        // SAFETY: the text is borrowed.
        check(unsafe { measure(self.0, name.as_ptr(), delta) }, "the host refused a measure")
    }

    pub(crate) fn batch(&self, rows: &mut Rows) -> Result<()> {
        let batch = self.raw().batch.ok_or_else(|| absent("batch"))?;
        let mut array = rows.take()?;
        // SAFETY: the host takes the array, whatever it returns.
        check(unsafe { batch(self.0, &mut array) }, "the host refused a batch")
    }

    pub(crate) fn ask(&self, request: &Request, tag: usize) -> Result<()> {
        let text = request.text()?;
        self.ask_kind(sys::ASK_HTTP, tag, text.as_ptr() as *const c_void, text.len())
    }

    pub(crate) fn ask_kind(&self, kind: u32, tag: usize, payload: *const c_void, n: usize) -> Result<()> {
        let ask = self.raw().ask.ok_or_else(|| absent("ask"))?;
        let size = std::mem::size_of::<sys::sluice_ask>() as u64;
        let what = sys::sluice_ask { size, kind, flags: 0, tag: tag as u64, payload, n: n as u64 };
        // SAFETY: borrowed for the call. Only hosts of 1.1 load a plugin that asks.
        check(unsafe { ask(self.0, &what) }, "the host refused an ask")
    }

    pub(crate) fn unit(&self, unit: &sys::sluice_unit) -> Result<()> {
        let give = self.raw().unit.ok_or_else(|| absent("unit"))?;
        // SAFETY: borrowed for the call.
        check(unsafe { give(self.0, unit) }, "the host refused a unit")
    }

    pub(crate) fn describe(&self, bytes: &[u8]) -> Result<()> {
        let describe = self.raw().describe.ok_or_else(|| absent("describe"))?;
        // SAFETY: borrowed for the call.
        check(unsafe { describe(self.0, bytes.as_ptr() as *const c_void, bytes.len() as u64) }, "the host refused a description")
    }

    pub(crate) fn skipped(&self, rows: u64, bytes: u64, how: &str) -> Result<()> {
        let skipped = self.raw().skipped.ok_or_else(|| absent("skipped"))?;
        let how = c_text(how)?;
        // SAFETY: the text is borrowed.
        check(unsafe { skipped(self.0, rows, bytes, how.as_ptr()) }, "the host refused skipped rows")
    }

    pub(crate) fn verdicts(&self, verdicts: &[sys::sluice_verdict]) -> Result<()> {
        let give = self.raw().verdicts.ok_or_else(|| absent("verdicts"))?;
        // SAFETY: borrowed for the call.
        check(unsafe { give(self.0, verdicts.as_ptr(), verdicts.len() as i64) }, "the host refused verdicts")
    }
}

/// Output rows of annotators and transforms: see `Rows`.
pub struct Out {
    pub(crate) rows: Rows,
    pub(crate) emit: Emit,
}

impl Out {
    /// Adds to a named measure of the stage's ledger.
    pub fn measure(&self, name: &str, delta: i64) -> Result<()> {
        self.emit.measure(name, delta)
    }
}

impl Deref for Out {
    type Target = Rows;
    fn deref(&self) -> &Rows {
        &self.rows
    }
}

impl DerefMut for Out {
    fn deref_mut(&mut self) -> &mut Rows {
        &mut self.rows
    }
}

/// Records of readers: push a row's values, then `end`.
pub struct Records {
    pub(crate) out: Out,
    pub(crate) spans: Option<(Output, Output)>,
    pub(crate) bytes: u64,
}

impl Records {
    /// Ends a row: where its record stands in the file's decoded bytes.
    pub fn end(&mut self, begin: u64, end: u64) -> Result<()> {
        if let Some((first, last)) = self.spans {
            self.out.rows.uint64(first, begin)?;
            self.out.rows.uint64(last, end)?;
        }
        self.bytes += end.saturating_sub(begin) + 64;
        if self.bytes >= 1 << 20 {
            self.bytes = 0;
            self.out.emit.batch(&mut self.out.rows)?;
        }
        Ok(())
    }

    /// A record that can't be read: a reason (`[a-z0-9_]+`) and a detail for people.
    pub fn bad(&mut self, begin: u64, end: u64, reason: &str, detail: &str) -> Result<()> {
        let bad = self.out.emit.raw().bad.ok_or_else(|| absent("bad"))?;
        let (reason, detail) = (c_text(reason)?, c_text(&detail.replace('\0', " "))?);
        // SAFETY: texts are borrowed.
        check(unsafe { bad(self.out.emit.0, begin, end, reason.as_ptr(), detail.as_ptr()) }, "the host refused a bad record")
    }
}

impl Deref for Records {
    type Target = Rows;
    fn deref(&self) -> &Rows {
        &self.out.rows
    }
}

impl DerefMut for Records {
    fn deref_mut(&mut self) -> &mut Rows {
        &mut self.out.rows
    }
}

/// Output files of writers.
pub struct Files {
    pub(crate) emit: Emit,
}

impl Files {
    /// Appends bytes to the current file of a kind (the order of `Plan::output`).
    pub fn write(&mut self, output: u32, bytes: &[u8]) -> Result<()> {
        let write = self.emit.raw().write.ok_or_else(|| absent("write"))?;
        // SAFETY: borrowed for the call.
        let status = unsafe { write(self.emit.0, output, bytes.as_ptr() as *const c_void, bytes.len() as u64) };
        check(status, "the host refused what was written")
    }

    /// Ends the current files, which hold this many rows; the next write begins new ones.
    pub fn roll(&mut self, rows: i64) -> Result<()> {
        let roll = self.emit.raw().roll.ok_or_else(|| absent("roll"))?;
        // SAFETY: a plain call.
        check(unsafe { roll(self.emit.0, rows) }, "the host refused to end a file")
    }

    /// Adds to a named measure of the stage's ledger.
    pub fn measure(&self, name: &str, delta: i64) -> Result<()> {
        self.emit.measure(name, delta)
    }
}

// ---- chunks -----------------------------------------------------------------------------------------------------------------

/// A piece of one file's decoded bytes.
pub struct Chunk<'a> {
    pub(crate) raw: &'a mut sys::sluice_chunk,
}

/// A line of a chunk, without its end, and where it stands in the file's decoded bytes.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Any bytes but a newline.
    pub bytes: &'a [u8],
    /// Of the first byte.
    pub begin: u64,
    /// Behind the last byte.
    pub end: u64,
}

impl<'a> Chunk<'a> {
    /// The bytes.
    pub fn data(&self) -> &'a [u8] {
        if self.raw.n == 0 {
            return &[];
        }
        // SAFETY: the host lends n bytes for the call.
        unsafe { std::slice::from_raw_parts(self.raw.data as *const u8, self.raw.n as usize) }
    }

    /// Where they stand in the file's decoded bytes.
    pub fn offset(&self) -> u64 {
        self.raw.offset
    }

    /// The file.
    pub fn uri(&self) -> String {
        // SAFETY: the text is the host's, and copied.
        unsafe { owned_text(self.raw.uri) }.unwrap_or_default()
    }

    /// The file's index in the split.
    pub fn file(&self) -> u32 {
        self.raw.file
    }

    /// Whether the chunk begins with the file's first byte.
    pub fn first(&self) -> bool {
        self.raw.flags & 1 != 0
    }

    /// Whether the file (or the split's part of it) ends with the chunk.
    pub fn last(&self) -> bool {
        self.raw.flags & 2 != 0
    }

    /// Readers with CUT = "none": the rest is presented again, with more.
    pub fn consumed(&mut self, n: usize) {
        self.raw.consumed = n as u64;
    }

    /// The lines.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        let (data, offset) = (self.data(), self.offset());
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= data.len() {
                return None;
            }
            let n = data[at..].iter().position(|byte| *byte == b'\n').unwrap_or(data.len() - at);
            let begin = offset + at as u64;
            let line = Line { bytes: &data[at..at + n], begin, end: begin + n as u64 };
            at += n + 1;
            Some(line)
        })
    }
}

// ---- state and gates --------------------------------------------------------------------------------------------------------

/// Bytes of a saved state.
pub struct State<'a> {
    pub(crate) raw: &'a mut sys::sluice_io,
}

impl<'a> State<'a> {
    /// Appends bytes (in `save`).
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let write = self.raw.write.ok_or_else(|| absent("write"))?;
        // SAFETY: borrowed for the call.
        let status = unsafe { write(self.raw, bytes.as_ptr() as *const c_void, bytes.len() as u64) };
        check(status, "the state can't be saved")
    }

    /// Reads exactly as many bytes (in `merge`).
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = self.raw.read.ok_or_else(|| absent("read"))?;
        // SAFETY: room for that many bytes.
        let status = unsafe { read(self.raw, bytes.as_mut_ptr() as *mut c_void, bytes.len() as u64) };
        check(status, "the saved state is damaged")
    }

    /// Appends a number.
    pub fn write_u64(&mut self, value: u64) -> Result<()> {
        self.write(&value.to_le_bytes())
    }

    /// Reads a number.
    pub fn read_u64(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.read(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// What is known at a barrier.
pub struct Counts {
    pub(crate) raw: *mut sys::sluice_verdict_io,
}

impl Counts {
    /// Rows that left a node (a `Node` option's value); None when unknown.
    pub fn rows(&self, node: &str) -> Option<u64> {
        // SAFETY: the host lends it for the call.
        let count = unsafe { (*self.raw).count }?;
        let node = c_text(node).ok()?;
        // SAFETY: the text is borrowed.
        u64::try_from(unsafe { count(self.raw, node.as_ptr()) }).ok()
    }
}
