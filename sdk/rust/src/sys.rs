//! The C interface, field by field: a mirror of `sluice.h`. Owns no behaviour; everything here is as unsafe as C.
//!
//! `layout` lists every struct, field, offset and size as compiled; a test holds them against the C compiler's.
#![allow(non_camel_case_types, missing_docs)]

use std::os::raw::{c_char, c_void};

pub type sluice_status = i32;
pub const ABI_MAJOR: u32 = 1;
pub const ABI_MINOR: u32 = 2;
pub const ASK_BYTES: u32 = 1;
pub const ASK_HTTP: u32 = 2;

/// Opaque: one per stage instance.
#[repr(C)]
pub struct sluice_host {
    _private: [u8; 0],
}

macro_rules! mirror {
    ($(struct $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                $(pub $field: $type,)*
            }
        )*

        /// Lines of "struct SIZE NAME" and "field OFFSET SIZE NAME FIELD".
        pub fn layout() -> String {
            let mut out = String::new();
            $({
                let value = std::mem::MaybeUninit::<$name>::uninit();
                let base = value.as_ptr();
                out.push_str(&format!("struct {} {}\n", std::mem::size_of::<$name>(), stringify!($name)));
                $({
                    // SAFETY: only addresses are taken, inside the allocation.
                    let field = unsafe { std::ptr::addr_of!((*base).$field) };
                    let offset = field as usize - base as usize;
                    out.push_str(&format!("field {} {} {} {}\n", offset, size_behind(field), stringify!($name),
                                          stringify!($field).trim_start_matches("r#")));
                })*
            })*
            out
        }
    };
}

fn size_behind<T>(_: *const T) -> usize {
    std::mem::size_of::<T>()
}

type Shared = *mut c_void;
type Worker = *mut c_void;

mirror! {
    struct ArrowArray {
        length: i64,
        null_count: i64,
        offset: i64,
        n_buffers: i64,
        n_children: i64,
        buffers: *mut *const c_void,
        children: *mut *mut ArrowArray,
        dictionary: *mut ArrowArray,
        release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
        private_data: *mut c_void,
    }
    struct sluice_error {
        size: u32,
        code: i32,
        row: i64,
        field: [c_char; 64],
        message: [c_char; 944],
    }
    struct sluice_range {
        lo: f64,
        hi: f64,
    }
    struct sluice_list {
        items: *const *const c_char,
        n: u64,
    }
    struct sluice_map {
        keys: *const *const c_char,
        values: *const *const c_char,
        n: u64,
    }
    struct sluice_option {
        name: *const c_char,
        doc: *const c_char,
        def: *const c_char,
        choices: *const c_char,
        since: *const c_char,
        min: f64,
        max: f64,
        r#type: i32,
        flags: u32,
        offset: u64,
    }
    struct sluice_host_api {
        size: u64,
        abi_major: u32,
        abi_minor: u32,
        alloc: Option<unsafe extern "C" fn(*mut sluice_host, u64) -> *mut c_void>,
        realloc: Option<unsafe extern "C" fn(*mut sluice_host, *mut c_void, u64) -> *mut c_void>,
        free: Option<unsafe extern "C" fn(*mut sluice_host, *mut c_void)>,
        log: Option<unsafe extern "C" fn(*mut sluice_host, i32, *const c_char)>,
        read_file: Option<unsafe extern "C" fn(*mut sluice_host, *const c_char, *mut *const c_void, *mut u64,
                                               *mut sluice_error) -> sluice_status>,
        seed: Option<unsafe extern "C" fn(*mut sluice_host, u64) -> u64>,
        scratch_dir: Option<unsafe extern "C" fn(*mut sluice_host) -> *const c_char>,
        memory_share: Option<unsafe extern "C" fn(*mut sluice_host) -> u64>,
        cancelled: Option<unsafe extern "C" fn(*mut sluice_host) -> i32>,
        map: Option<unsafe extern "C" fn(*mut sluice_host, *const c_char, *mut *const c_void, *mut u64,
                                         *mut sluice_error) -> sluice_status>,
    }
    struct sluice_plan {
        size: u64,
        ctx: *mut c_void,
        need: Option<unsafe extern "C" fn(*mut sluice_plan, u32, *const c_char, *const c_char, i32, *mut i32,
                                          *mut sluice_error) -> sluice_status>,
        need_derived: Option<unsafe extern "C" fn(*mut sluice_plan, u32, *const c_char, *const c_char, *const c_char,
                                                  *mut i32, *mut sluice_error) -> sluice_status>,
        metadata: Option<unsafe extern "C" fn(*mut sluice_plan, u32, i32, *const c_char) -> *const c_char>,
        add: Option<unsafe extern "C" fn(*mut sluice_plan, *const c_char, *const c_char, *const c_char,
                                         *mut sluice_error) -> sluice_status>,
        output: Option<unsafe extern "C" fn(*mut sluice_plan, *const c_char, *const c_char, i32,
                                            *mut sluice_error) -> sluice_status>,
        note: Option<unsafe extern "C" fn(*mut sluice_plan, *const c_char, *const c_char,
                                          *mut sluice_error) -> sluice_status>,
        column: Option<unsafe extern "C" fn(*mut sluice_plan, u32, u32, *mut *const c_char,
                                            *mut *const c_char) -> sluice_status>,
        wanted: Option<unsafe extern "C" fn(*mut sluice_plan, *const c_char) -> i32>,
        described: Option<unsafe extern "C" fn(*mut sluice_plan, *mut *const c_char, *mut *const c_void, *mut u64,
                                               *mut sluice_error) -> sluice_status>,
        described_at: Option<unsafe extern "C" fn(*mut sluice_plan, u64, *mut *const c_char, *mut *const c_void, *mut u64,
                                                  *mut sluice_error) -> sluice_status>,
    }
    struct sluice_batch {
        size: u64,
        port: u32,
        reserved: u32,
        array: *const ArrowArray,
        rows: *const u32,
        n: i64,
    }
    struct sluice_chunk {
        size: u64,
        data: *const c_char,
        n: u64,
        offset: u64,
        uri: *const c_char,
        file: u32,
        flags: u32,
        consumed: u64,
    }
    struct sluice_ask {
        size: u64,
        kind: u32,
        flags: u32,
        tag: u64,
        payload: *const c_void,
        n: u64,
    }
    struct sluice_extent {
        offset: u64,
        n: u64,
    }
    struct sluice_answer {
        size: u64,
        tag: u64,
        status: sluice_status,
        code: u32,
        flags: u32,
        reserved: u32,
        data: *const c_char,
        n: u64,
        r#type: *const c_char,
    }
    struct sluice_answers {
        size: u64,
        items: *const sluice_answer,
        n: u64,
        stride: u64,
        batch: *const sluice_batch,
        scan: *mut sluice_scan,
    }
    struct sluice_file {
        size: u64,
        uri: *const c_char,
        bytes: u64,
        file: u32,
        flags: u32,
    }
    struct sluice_unit {
        size: u64,
        begin: u64,
        end: u64,
        bytes: u64,
        rows: i64,
        skip: *const c_char,
    }
    struct sluice_scan {
        size: u64,
        file: *const sluice_file,
        begin: u64,
        end: u64,
        unit: u64,
        call: u64,
        description: *const c_void,
        description_size: u64,
        more: i32,
        reserved: u32,
    }
    struct sluice_verdict {
        reason: i32,
        dup_of_length: i32,
        value: f64,
        limit: f64,
        dup_of: *const c_char,
        similarity: f64,
    }
    struct sluice_emit {
        size: u64,
        ctx: *mut c_void,
        verdicts: Option<unsafe extern "C" fn(*mut sluice_emit, *const sluice_verdict, i64) -> sluice_status>,
        batch: Option<unsafe extern "C" fn(*mut sluice_emit, *mut ArrowArray) -> sluice_status>,
        bad: Option<unsafe extern "C" fn(*mut sluice_emit, u64, u64, *const c_char, *const c_char) -> sluice_status>,
        write: Option<unsafe extern "C" fn(*mut sluice_emit, u32, *const c_void, u64) -> sluice_status>,
        roll: Option<unsafe extern "C" fn(*mut sluice_emit, i64) -> sluice_status>,
        measure: Option<unsafe extern "C" fn(*mut sluice_emit, *const c_char, i64) -> sluice_status>,
        absent: Option<unsafe extern "C" fn(*mut sluice_emit, *const c_char, u64, *const *const c_char, u64) -> sluice_status>,
        ask: Option<unsafe extern "C" fn(*mut sluice_emit, *const sluice_ask) -> sluice_status>,
        unit: Option<unsafe extern "C" fn(*mut sluice_emit, *const sluice_unit) -> sluice_status>,
        describe: Option<unsafe extern "C" fn(*mut sluice_emit, *const c_void, u64) -> sluice_status>,
        skipped: Option<unsafe extern "C" fn(*mut sluice_emit, u64, u64, *const c_char) -> sluice_status>,
    }
    struct sluice_io {
        size: u64,
        ctx: *mut c_void,
        read: Option<unsafe extern "C" fn(*mut sluice_io, *mut c_void, u64) -> sluice_status>,
        write: Option<unsafe extern "C" fn(*mut sluice_io, *const c_void, u64) -> sluice_status>,
    }
    struct sluice_verdict_io {
        size: u64,
        ctx: *mut c_void,
        count: Option<unsafe extern "C" fn(*mut sluice_verdict_io, *const c_char) -> i64>,
        outcome: i32,
        message: [c_char; 1000],
    }
    struct sluice_stage {
        size: u64,
        name: *const c_char,
        version: *const c_char,
        summary: *const c_char,
        doc: *const c_char,
        example: *const c_char,
        role: u32,
        mode: u32,
        flags: u64,
        options: *const sluice_option,
        n_options: u64,
        option_stride: u64,
        config_size: u64,
        reasons: *const c_char,
        provides: *const c_char,
        cut: *const c_char,
        conserves: *const c_char,
        bytes_shared: u64,
        bytes_worker: u64,
        bytes_per_input: f64,
        state_version: u64,
        open: Option<unsafe extern "C" fn(*const sluice_host_api, *mut sluice_host, *const c_void, *mut Shared,
                                          *mut sluice_error) -> sluice_status>,
        prepare: Option<unsafe extern "C" fn(Shared, *mut sluice_plan, *mut sluice_error) -> sluice_status>,
        worker_open: Option<unsafe extern "C" fn(Shared, *mut Worker, *mut sluice_error) -> sluice_status>,
        process: Option<unsafe extern "C" fn(Worker, *const sluice_batch, *mut sluice_emit,
                                             *mut sluice_error) -> sluice_status>,
        read: Option<unsafe extern "C" fn(Worker, *mut sluice_chunk, *mut sluice_emit,
                                          *mut sluice_error) -> sluice_status>,
        flush: Option<unsafe extern "C" fn(Worker, *mut sluice_emit, *mut sluice_error) -> sluice_status>,
        save: Option<unsafe extern "C" fn(Worker, *mut sluice_io, *mut sluice_error) -> sluice_status>,
        load: Option<unsafe extern "C" fn(Worker, *mut sluice_io, u64, *mut sluice_error) -> sluice_status>,
        merge: Option<unsafe extern "C" fn(Worker, *mut sluice_io, u64, *mut sluice_error) -> sluice_status>,
        judge: Option<unsafe extern "C" fn(Worker, *mut sluice_verdict_io, *mut sluice_error) -> sluice_status>,
        worker_close: Option<unsafe extern "C" fn(Worker)>,
        close: Option<unsafe extern "C" fn(Shared)>,
        bytes_per_batch: f64,
        resume: Option<unsafe extern "C" fn(Worker, *const sluice_answers, *mut sluice_emit,
                                            *mut sluice_error) -> sluice_status>,
        survey: Option<unsafe extern "C" fn(Worker, *const sluice_file, *mut sluice_emit,
                                            *mut sluice_error) -> sluice_status>,
        scan: Option<unsafe extern "C" fn(Worker, *mut sluice_scan, *mut sluice_emit,
                                          *mut sluice_error) -> sluice_status>,
    }
    struct sluice_plugin {
        size: u64,
        abi_major: u32,
        abi_minor_built: u32,
        abi_minor_needed: u32,
        verdict_stride: u32,
        name: *const c_char,
        version: *const c_char,
        license: *const c_char,
        stages: *const *const sluice_stage,
        libraries: *const c_char,
    }
}
