//! Stages for Sluice in Rust.
//!
//! A stage is a type that implements [`Stage`] and one role: [`Filter`], [`Annotator`], [`Transform`], [`Reader`], [`RandomReader`],
//! [`Gate`] or [`Writer`]. `plugin!` exports them from a `cdylib`, `options!` declares typed options. The crate has no dependencies.
//!
//! ```
//! use sluice::*;
//!
//! sluice::options! {
//!     pub struct Config {
//!         /// Fewest bytes of a document that is kept.
//!         min: i64 => default("10").range(0, 1_000_000),
//!     }
//! }
//!
//! struct Short { config: Config, text: Column }
//!
//! impl Stage for Short {
//!     type Options = Config;
//!     type Worker = ();
//!     const NAME: &'static str = "short";
//!     const SUMMARY: &'static str = "Drops short documents";
//!     const REASONS: &'static [&'static str] = &["too_short"];
//!     fn open(config: Config, _host: Host) -> Result<Short> {
//!         Ok(Short { config, text: Column::default() })
//!     }
//!     fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
//!         self.text = plan.need("text", "utf8?")?;
//!         Ok(())
//!     }
//! }
//!
//! impl Filter for Short {
//!     fn judge(&self, _worker: &mut (), row: Row) -> Result<Verdict> {
//!         let n = row.text(self.text).len() as i64;
//!         let verdict = if n < self.config.min { Verdict::drop("too_short") } else { Verdict::keep() };
//!         Ok(verdict.measured(n as f64, self.config.min as f64))
//!     }
//! }
//!
//! sluice::plugin! { name: "short", version: "0.1.0", license: "MIT", stages: [filter Short] }
//! # fn main() {}
//! ```
//!
//! Panics become internal errors of the stage (build with `panic = "unwind"`, cargo's default). Memory that runs out becomes
//! `Code::NoMemory` where [`Memory`] is the global allocator.
#![warn(missing_docs)]

mod arrow;
mod ask;
mod error;
mod memory;
mod option;
mod random;
mod stage;
pub mod sys;
#[doc(hidden)]
pub mod vtable;

pub use arrow::{Column, Output, Row, Rows};
pub use ask::{Answer, Request};
pub use error::{Code, Error, Result};
pub use memory::Memory;
pub use option::{
    Bytes, Choice, ColumnName, List, Map, Nanos, NoOptions, Node, OptionSpec, OptionType, Options, Path, Range, Text,
};
pub use random::{File, Parts, RandomReader, Scan, Scanned, Survey, Unit};
pub use stage::{
    flags, Annotator, Chunk, Counts, Files, Filter, Gate, Host, Judgement, Level, Line, Mode, Out, Plan, Reader, Records, Stage, State,
    Transform, Verdict, Writer,
};

/// Exports the plugin: `plugin! { name: "x", version: "0.1.0", license: "MIT", stages: [filter X, reader Y] }`.
#[macro_export]
macro_rules! plugin {
    (name: $name:expr, version: $version:expr, license: $license:expr, stages: [$($role:ident $stage:ty),+ $(,)?] $(,)?) => {
        /// What the host looks up.
        #[no_mangle]
        pub extern "C" fn sluice_plugin_v1() -> *const $crate::sys::sluice_plugin {
            static PLUGIN: $crate::vtable::Plugin = $crate::vtable::Plugin::new();
            PLUGIN.get($name, $version, $license, || vec![$($crate::vtable::$role::<$stage>()),+])
        }
    };
}
