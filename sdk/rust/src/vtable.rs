//! The functions that the host calls, one set a role. Every one of them catches panics, which become internal errors,
//! and fails with NoMemory when the system refused memory on the way (see memory.rs).
#![allow(missing_docs)]

use crate::arrow::{row_of, rows_of, Column, Declared, Output, Row, Rows};
use crate::ask::{answers_of, Answer};
use crate::error::{self, Error, Result};
use crate::memory;
use crate::option::Options;
use crate::random::*;
use crate::stage::*;
use crate::sys;
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

const ROLE_READER: u32 = 1;
const ROLE_FILTER: u32 = 2;
const ROLE_ANNOTATOR: u32 = 3;
const ROLE_TRANSFORM: u32 = 4;
const ROLE_GATE: u32 = 5;
const ROLE_WRITER: u32 = 6;

/// Bytes of output rows that are collected before they are given to the host.
const BATCH_ROWS: usize = 1 << 14;

/// A stage and what `prepare` found out.
struct Shared<S> {
    stage: S,
    added: Vec<Declared>,
    own: usize, /* how many of the columns the author added */
    row: Option<Column>,
    spans: Option<(Output, Output)>,
}

struct Worker<S: Stage> {
    shared: *const Shared<S>,
    state: S::Worker,
    said: Vec<Vec<Answer>>, /* ASKS: to the rows of the call at hand */
    file: *const sys::sluice_file, /* of the survey at hand */
}

unsafe fn guard(err: *mut sys::sluice_error, body: impl FnOnce() -> Result<()>) -> i32 {
    memory::begin();
    let result = catch_unwind(AssertUnwindSafe(body));
    if memory::failed() {
        return error::out_of_memory(err);
    }
    let error = match result {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => error,
        Err(payload) => {
            let words = payload
                .downcast_ref::<&str>()
                .map(|text| text.to_string())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_string());
            // The payload's own destructor may panic as well.
            std::mem::forget(payload);
            Error::internal(format!("the plugin panicked: {words}"))
        }
    };
    error::give(&error, err)
}

// ---- life -------------------------------------------------------------------------------------------------------------------

unsafe extern "C" fn open<S: Stage>(
    api: *const sys::sluice_host_api, host: *mut sys::sluice_host, config: *const c_void, shared: *mut *mut c_void,
    err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        // A stage without options has no config.
        let options: S::Options = if S::Options::table().is_empty() || config.is_null() {
            std::mem::zeroed()
        } else {
            std::ptr::read(config as *const S::Options)
        };
        let stage = S::open(options, Host::new(api, host))?;
        let boxed = Box::new(Shared { stage, added: Vec::new(), own: 0, row: None, spans: None });
        if !memory::failed() {
            *shared = Box::into_raw(boxed) as *mut c_void;
        }
        Ok(())
    })
}

unsafe extern "C" fn prepare<S: Stage, const ROLE: u32>(
    shared: *mut c_void, plan: *mut sys::sluice_plan, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let shared = &mut *(shared as *mut Shared<S>);
        let mut plan = Plan::new(&mut *plan);
        shared.stage.prepare(&mut plan)?;
        shared.own = plan.added.len();
        let has = |plan: &Plan, name: &str| plan.added.iter().any(|column| column.name == name);
        shared.row = None;
        shared.spans = None;
        if ROLE == ROLE_TRANSFORM && !has(&plan, "_origin") {
            shared.row = Some(plan.need("_row", "uint64")?);
            plan.add("_origin", "uint64")?;
        }
        if ROLE == ROLE_READER && !has(&plan, "_begin") && !has(&plan, "_end") {
            shared.spans = Some((plan.add("_begin", "uint64")?, plan.add("_end", "uint64")?));
        }
        shared.added = plan.added;
        Ok(())
    })
}

unsafe extern "C" fn close<S: Stage>(shared: *mut c_void) {
    let _ = guard(std::ptr::null_mut(), || {
        drop(Box::from_raw(shared as *mut Shared<S>));
        Ok(())
    });
}

unsafe extern "C" fn worker_open<S: Stage>(
    shared: *mut c_void, worker: *mut *mut c_void, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let boxed = Box::new(Worker::<S> { shared: shared as *const Shared<S>, state: S::Worker::default(), said: Vec::new(), file: std::ptr::null() });
        if !memory::failed() {
            *worker = Box::into_raw(boxed) as *mut c_void;
        }
        Ok(())
    })
}

unsafe extern "C" fn worker_close<S: Stage>(worker: *mut c_void) {
    let _ = guard(std::ptr::null_mut(), || {
        drop(Box::from_raw(worker as *mut Worker<S>));
        Ok(())
    });
}

unsafe fn parts<'a, S: Stage>(worker: *mut c_void) -> (&'a Shared<S>, &'a mut S::Worker) {
    let worker = &mut *(worker as *mut Worker<S>);
    (&*worker.shared, &mut worker.state)
}

// ---- state ------------------------------------------------------------------------------------------------------------------

unsafe extern "C" fn save<S: Stage>(worker: *mut c_void, io: *mut sys::sluice_io, err: *mut sys::sluice_error) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        shared.stage.save(state, &mut State { raw: &mut *io })
    })
}

unsafe extern "C" fn merge<S: Stage>(
    worker: *mut c_void, io: *mut sys::sluice_io, version: u64, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        shared.stage.merge(state, &mut State { raw: &mut *io }, version)
    })
}

unsafe extern "C" fn load<S: Stage>(
    worker: *mut c_void, io: *mut sys::sluice_io, version: u64, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        *state = S::Worker::default();
        shared.stage.merge(state, &mut State { raw: &mut *io }, version)
    })
}

// ---- rows -------------------------------------------------------------------------------------------------------------------

/// True when the batch was one of the side input.
unsafe fn took_side<S: Stage>(shared: &Shared<S>, state: &mut S::Worker, batch: &sys::sluice_batch) -> Result<bool> {
    if batch.port == 0 {
        return Ok(false);
    }
    for row in rows_of(batch, &[]) {
        shared.stage.side(state, row)?;
    }
    Ok(true)
}

/// Verdicts as the host wants them, and the texts they point to.
struct Judging {
    verdicts: Vec<sys::sluice_verdict>,
    texts: Vec<String>,
}

impl Judging {
    fn new(n: i64) -> Judging {
        Judging { verdicts: Vec::with_capacity(n as usize), texts: Vec::new() }
    }

    fn push<S: Stage>(&mut self, verdict: Verdict) -> Result<()> {
        let reason = match (verdict.reason, &verdict.bad) {
            (_, Some(_)) => -1,
            (None, None) => 0,
            (Some(reason), None) => 1 + S::REASONS.iter().position(|known| *known == reason).ok_or_else(|| {
                Error::internal(format!("a verdict has the reason '{reason}', which is not among REASONS ({})", S::REASONS.join(", ")))
            })? as i32,
        };
        let mut raw = sys::sluice_verdict {
            reason,
            dup_of_length: 0,
            value: verdict.value,
            limit: verdict.limit,
            dup_of: std::ptr::null(),
            similarity: verdict.similarity,
        };
        if let Some(text) = verdict.bad.or(verdict.dup_of) {
            raw.dup_of_length = i32::try_from(text.len()).map_err(|_| Error::internal("an id of more than 2 GiB"))?;
            raw.dup_of = text.as_ptr() as *const c_char;
            self.texts.push(text);
        }
        self.verdicts.push(raw);
        Ok(())
    }
}

/// Filters, annotators, transforms: what is done with the rows of a batch once all answers are there.
type Rowwise<S> = unsafe fn(&Shared<S>, &mut <S as Stage>::Worker, &sys::sluice_batch, &[Vec<Answer>], Emit) -> Result<()>;

/// Asks what these rows ask next, all of them at once; false: nothing (more).
unsafe fn ask_rows<S: Stage>(
    worker: &mut Worker<S>, batch: &sys::sluice_batch, emit: Emit, rows: impl Iterator<Item = usize>,
) -> Result<bool> {
    let mut asked = false;
    for k in rows {
        if let Some(request) = (*worker.shared).stage.ask(&mut worker.state, row_of(batch, &worker.said, k))? {
            emit.ask(&request, k)?;
            asked = true;
        }
    }
    Ok(asked)
}

unsafe fn process<S: Stage>(
    worker: *mut c_void, batch: *const sys::sluice_batch, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error, rowwise: Rowwise<S>,
) -> i32 {
    guard(err, || {
        let (worker, batch) = (&mut *(worker as *mut Worker<S>), &*batch);
        let shared = &*worker.shared;
        if took_side(shared, &mut worker.state, batch)? {
            return Ok(());
        }
        worker.said.clear();
        if S::ASKS {
            worker.said.resize(batch.n as usize, Vec::new());
            if ask_rows(worker, batch, Emit(emit), 0..batch.n as usize)? {
                return Ok(());
            }
        }
        rowwise(shared, &mut worker.state, batch, &worker.said, Emit(emit))
    })
}

unsafe fn go_on<S: Stage>(
    worker: *mut c_void, answers: *const sys::sluice_answers, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error, rowwise: Rowwise<S>,
) -> i32 {
    guard(err, || {
        let (worker, batch) = (&mut *(worker as *mut Worker<S>), &*(*answers).batch);
        let mut rows = Vec::new();
        for (k, answer) in answers_of(&*answers) {
            worker.said.get_mut(k).ok_or_else(|| Error::internal("an answer to no row"))?.push(answer);
            rows.push(k);
        }
        if ask_rows(worker, batch, Emit(emit), rows.into_iter())? {
            return Ok(());
        }
        rowwise(&*worker.shared, &mut worker.state, batch, &worker.said, Emit(emit))
    })
}

/// The two functions of a role for the host.
macro_rules! calls {
    ($role:ident, $process:ident, $resume:ident, $rowwise:ident) => {
        unsafe extern "C" fn $process<S: $role>(
            worker: *mut c_void, batch: *const sys::sluice_batch, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
        ) -> i32 {
            process::<S>(worker, batch, emit, err, $rowwise::<S>)
        }

        unsafe extern "C" fn $resume<S: $role>(
            worker: *mut c_void, answers: *const sys::sluice_answers, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
        ) -> i32 {
            go_on::<S>(worker, answers, emit, err, $rowwise::<S>)
        }
    };
}
calls!(Filter, filter_process, filter_resume, filter_rows);
calls!(Annotator, annotator_process, annotator_resume, annotator_rows);
calls!(Transform, transform_process, transform_resume, transform_rows);

unsafe fn filter_rows<S: Filter>(
    shared: &Shared<S>, state: &mut S::Worker, batch: &sys::sluice_batch, said: &[Vec<Answer>], emit: Emit,
) -> Result<()> {
    let mut judging = Judging::new(batch.n);
    for row in rows_of(batch, said) {
        judging.push::<S>(shared.stage.judge(state, row)?)?;
    }
    emit.verdicts(&judging.verdicts)
}

unsafe fn annotator_rows<S: Annotator>(
    shared: &Shared<S>, state: &mut S::Worker, batch: &sys::sluice_batch, said: &[Vec<Answer>], emit: Emit,
) -> Result<()> {
    let mut out = Out { rows: Rows::new(&shared.added), emit };
    let mut judging = Judging::new(batch.n);
    for row in rows_of(batch, said) {
        shared.stage.annotate(state, row, &mut out)?;
        if !S::REASONS.is_empty() {
            judging.push::<S>(shared.stage.judge(state, row)?)?;
        }
    }
    if !shared.added.is_empty() {
        out.emit.batch(&mut out.rows)?;
    }
    if !S::REASONS.is_empty() {
        out.emit.verdicts(&judging.verdicts)?;
    }
    Ok(())
}

/// Fills `_origin` of the rows that one call of `transform` pushed; gives rows to the host when they are many.
unsafe fn settle<S: Stage>(shared: &Shared<S>, row: Option<Row>, filled: &mut usize, out: &mut Out) -> Result<()> {
    let n = out.rows.complete(shared.own)?;
    if let Some(column) = shared.row {
        if *filled < n {
            let row = row.ok_or_else(|| {
                Error::internal("rows pushed in flush need an _origin: add the column in prepare, and push it")
            })?;
            let origin = row.uint64(column);
            for _ in *filled..n {
                out.rows.uint64(Output(shared.own), origin)?;
            }
        }
    }
    *filled = n;
    if n >= BATCH_ROWS || (row.is_none() && n > 0) {
        *filled = 0;
        out.emit.batch(&mut out.rows)?;
    }
    Ok(())
}

unsafe fn transform_rows<S: Transform>(
    shared: &Shared<S>, state: &mut S::Worker, batch: &sys::sluice_batch, said: &[Vec<Answer>], emit: Emit,
) -> Result<()> {
    let mut out = Out { rows: Rows::new(&shared.added), emit };
    let mut filled = 0;
    for row in rows_of(batch, said) {
        shared.stage.transform(state, row, &mut out)?;
        settle(shared, Some(row), &mut filled, &mut out)?;
    }
    settle(shared, None, &mut filled, &mut out)
}

unsafe extern "C" fn transform_flush<S: Transform>(
    worker: *mut c_void, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        let mut out = Out { rows: Rows::new(&shared.added), emit: Emit(emit) };
        let mut filled = 0;
        shared.stage.flush(state, &mut out)?;
        settle(shared, None, &mut filled, &mut out)
    })
}

unsafe extern "C" fn reader_read<S: Reader>(
    worker: *mut c_void, chunk: *mut sys::sluice_chunk, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        let out = Out { rows: Rows::new(&shared.added), emit: Emit(emit) };
        let mut records = Records { out, spans: shared.spans, bytes: 0 };
        let mut chunk = Chunk { raw: &mut *chunk };
        shared.stage.read(state, &mut chunk, &mut records)?;
        if records.out.rows.complete(shared.added.len())? > 0 {
            records.out.emit.batch(&mut records.out.rows)?;
        }
        Ok(())
    })
}

unsafe extern "C" fn random_survey<S: RandomReader>(
    worker: *mut c_void, file: *const sys::sluice_file, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let worker = &mut *(worker as *mut Worker<S>);
        worker.file = file;
        (*worker.shared).stage.survey(&mut worker.state, &File(&*file), &mut Survey { emit: Emit(emit) })
    })
}

/// One call of a scan: what it pushed is given when it returns.
unsafe fn scan_call<S: RandomReader>(
    shared: &Shared<S>, emit: *mut sys::sluice_emit, call: impl FnOnce(&mut Scanned) -> Result<()>,
) -> Result<()> {
    let out = Out { rows: Rows::new(&shared.added), emit: Emit(emit) };
    let mut scanned = Scanned { records: Records { out, spans: None, bytes: 0 } };
    call(&mut scanned)?;
    let out = &mut scanned.records.out;
    if out.rows.complete(shared.added.len())? > 0 {
        out.emit.batch(&mut out.rows)?;
    }
    Ok(())
}

unsafe extern "C" fn random_scan<S: RandomReader>(
    worker: *mut c_void, scan: *mut sys::sluice_scan, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        scan_call(shared, emit, |out| shared.stage.scan(state, &mut Scan(&mut *scan), out))
    })
}

unsafe extern "C" fn random_resume<S: RandomReader>(
    worker: *mut c_void, answers: *const sys::sluice_answers, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (worker, said) = (&mut *(worker as *mut Worker<S>), Parts(&*answers));
        let shared = &*worker.shared;
        if (*answers).scan.is_null() {
            return shared.stage.surveyed(&mut worker.state, &File(&*worker.file), &said, &mut Survey { emit: Emit(emit) });
        }
        scan_call(shared, emit, |out| shared.stage.scanned(&mut worker.state, &mut Scan(&mut *(*answers).scan), &said, out))
    })
}

unsafe extern "C" fn gate_process<S: Gate>(
    worker: *mut c_void, batch: *const sys::sluice_batch, _emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        let batch = &*batch;
        if took_side(shared, state, batch)? {
            return Ok(());
        }
        for row in rows_of(batch, &[]) {
            shared.stage.observe(state, row)?;
        }
        Ok(())
    })
}

unsafe extern "C" fn gate_judge<S: Gate>(
    worker: *mut c_void, io: *mut sys::sluice_verdict_io, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        let judgement = shared.stage.judge(state, &Counts { raw: io })?;
        let (outcome, message) = match &judgement {
            Judgement::Pass => (0, ""),
            Judgement::Warn(message) => (1, message.as_str()),
            Judgement::Halt(message) => (2, message.as_str()),
        };
        (*io).outcome = outcome;
        let room = &mut (*io).message;
        error::put_text(message, room);
        Ok(())
    })
}

unsafe extern "C" fn writer_process<S: Writer>(
    worker: *mut c_void, batch: *const sys::sluice_batch, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        let batch = &*batch;
        if took_side(shared, state, batch)? {
            return Ok(());
        }
        let mut files = Files { emit: Emit(emit) };
        for row in rows_of(batch, &[]) {
            shared.stage.write(state, row, &mut files)?;
        }
        Ok(())
    })
}

unsafe extern "C" fn writer_flush<S: Writer>(
    worker: *mut c_void, emit: *mut sys::sluice_emit, err: *mut sys::sluice_error,
) -> i32 {
    guard(err, || {
        let (shared, state) = parts::<S>(worker);
        shared.stage.flush(state, &mut Files { emit: Emit(emit) })
    })
}

// ---- descriptors, made once and never freed ---------------------------------------------------------------------------------

fn leak(text: &str) -> *const c_char {
    CString::new(text).expect("a text of the descriptor has a NUL byte").into_raw()
}

fn leak_or_null(text: &str) -> *const c_char {
    if text.is_empty() {
        std::ptr::null()
    } else {
        leak(text)
    }
}

fn table<O: Options>() -> (*const sys::sluice_option, u64) {
    let specs = O::table();
    let options: Vec<sys::sluice_option> = specs
        .iter()
        .map(|spec| sys::sluice_option {
            name: leak(&spec.name),
            doc: leak(&spec.doc),
            def: spec.default.as_deref().map_or(std::ptr::null(), leak),
            choices: spec.choices.as_deref().map_or(std::ptr::null(), leak),
            since: std::ptr::null(),
            min: spec.min,
            max: spec.max,
            r#type: spec.kind,
            flags: spec.flags,
            offset: spec.offset,
        })
        .collect();
    if options.is_empty() {
        return (std::ptr::null(), 0);
    }
    let options = Box::leak(options.into_boxed_slice());
    (options.as_ptr(), options.len() as u64)
}

fn base<S: Stage, const ROLE: u32>() -> sys::sluice_stage {
    let (options, n_options) = table::<S::Options>();
    let saves = S::STATE_VERSION > 0;
    sys::sluice_stage {
        size: std::mem::size_of::<sys::sluice_stage>() as u64,
        name: leak(S::NAME),
        version: leak(S::VERSION),
        summary: leak(S::SUMMARY),
        doc: leak_or_null(S::DOC),
        example: leak_or_null(S::EXAMPLE),
        role: ROLE,
        mode: S::MODE as u32,
        flags: S::FLAGS | if S::ASKS { flags::RECORDED | flags::MAY_BLOCK } else { 0 },
        options,
        n_options,
        option_stride: std::mem::size_of::<sys::sluice_option>() as u64,
        config_size: if n_options == 0 { 0 } else { std::mem::size_of::<S::Options>() as u64 },
        reasons: leak_or_null(&S::REASONS.join("|")),
        provides: leak_or_null(S::PROVIDES),
        cut: if ROLE == ROLE_READER { leak(S::CUT) } else { std::ptr::null() },
        conserves: leak_or_null(S::CONSERVES),
        bytes_shared: S::BYTES_SHARED,
        bytes_worker: S::BYTES_WORKER,
        bytes_per_input: S::BYTES_PER_INPUT,
        state_version: S::STATE_VERSION,
        open: Some(open::<S>),
        prepare: Some(prepare::<S, ROLE>),
        worker_open: Some(worker_open::<S>),
        process: None,
        read: None,
        flush: None,
        save: if saves { Some(save::<S>) } else { None },
        load: if saves { Some(load::<S>) } else { None },
        merge: if saves { Some(merge::<S>) } else { None },
        judge: None,
        worker_close: Some(worker_close::<S>),
        close: Some(close::<S>),
        bytes_per_batch: S::BYTES_PER_BATCH,
        resume: None,
        survey: None,
        scan: None,
    }
}

type Resume = unsafe extern "C" fn(*mut c_void, *const sys::sluice_answers, *mut sys::sluice_emit, *mut sys::sluice_error) -> i32;

fn resume_of<S: Stage>(resume: Resume) -> Option<Resume> {
    if S::ASKS {
        Some(resume)
    } else {
        None
    }
}

pub fn filter<S: Filter>() -> sys::sluice_stage {
    sys::sluice_stage { process: Some(filter_process::<S>), resume: resume_of::<S>(filter_resume::<S>), ..base::<S, ROLE_FILTER>() }
}

pub fn annotator<S: Annotator>() -> sys::sluice_stage {
    sys::sluice_stage { process: Some(annotator_process::<S>), resume: resume_of::<S>(annotator_resume::<S>), ..base::<S, ROLE_ANNOTATOR>() }
}

pub fn transform<S: Transform>() -> sys::sluice_stage {
    let flush: unsafe extern "C" fn(*mut c_void, *mut sys::sluice_emit, *mut sys::sluice_error) -> i32 = transform_flush::<S>;
    sys::sluice_stage {
        process: Some(transform_process::<S>),
        resume: resume_of::<S>(transform_resume::<S>),
        flush: if S::MODE == Mode::Stateless { None } else { Some(flush) },
        ..base::<S, ROLE_TRANSFORM>()
    }
}

pub fn reader<S: Reader>() -> sys::sluice_stage {
    sys::sluice_stage { read: Some(reader_read::<S>), ..base::<S, ROLE_READER>() }
}

pub fn random_reader<S: RandomReader>() -> sys::sluice_stage {
    let survey: unsafe extern "C" fn(*mut c_void, *const sys::sluice_file, *mut sys::sluice_emit, *mut sys::sluice_error) -> i32 =
        random_survey::<S>;
    let sync = S::CUT == "sync";
    sys::sluice_stage {
        cut: leak(if sync { "sync" } else { "own" }),
        prepare: Some(prepare::<S, 0>), /* no places of rows but those that the author declares */
        survey: if sync { None } else { Some(survey) },
        scan: Some(random_scan::<S>),
        resume: Some(random_resume::<S>),
        ..base::<S, ROLE_READER>()
    }
}

pub fn gate<S: Gate>() -> sys::sluice_stage {
    sys::sluice_stage { process: Some(gate_process::<S>), judge: Some(gate_judge::<S>), ..base::<S, ROLE_GATE>() }
}

pub fn writer<S: Writer>() -> sys::sluice_stage {
    sys::sluice_stage { process: Some(writer_process::<S>), flush: Some(writer_flush::<S>), ..base::<S, ROLE_WRITER>() }
}

/// The body of `sluice_plugin_v1`: makes the descriptor the first time. Null when that panics, which the host reports.
pub struct Plugin(std::sync::Once, std::sync::atomic::AtomicPtr<sys::sluice_plugin>);

impl Plugin {
    pub const fn new() -> Plugin {
        Plugin(std::sync::Once::new(), std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()))
    }

    pub fn get(
        &self, name: &str, version: &str, license: &str, stages: impl FnOnce() -> Vec<sys::sluice_stage>,
    ) -> *const sys::sluice_plugin {
        use std::sync::atomic::Ordering;
        let make = AssertUnwindSafe(|| {
            self.0.call_once_force(|_| {
                let stages = stages();
                let asks = stages.iter().any(|stage| stage.resume.is_some());
                let mut pointers: Vec<*const sys::sluice_stage> =
                    stages.into_iter().map(|stage| Box::leak(Box::new(stage)) as *const sys::sluice_stage).collect();
                pointers.push(std::ptr::null());
                let plugin = sys::sluice_plugin {
                    size: std::mem::size_of::<sys::sluice_plugin>() as u64,
                    abi_major: sys::ABI_MAJOR,
                    abi_minor_built: sys::ABI_MINOR,
                    abi_minor_needed: u32::from(asks), /* asks came with 1.1 */
                    verdict_stride: std::mem::size_of::<sys::sluice_verdict>() as u32,
                    name: leak(name),
                    version: leak(version),
                    license: leak(license),
                    stages: Box::leak(pointers.into_boxed_slice()).as_ptr(),
                    libraries: std::ptr::null(),
                };
                self.1.store(Box::leak(Box::new(plugin)), Ordering::Release);
            })
        });
        let _ = catch_unwind(make);
        self.1.load(Ordering::Acquire)
    }
}

impl Default for Plugin {
    fn default() -> Self {
        Plugin::new()
    }
}
