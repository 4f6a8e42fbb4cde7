//! NAME_HERE - a transform: makes a row of each line of a document that has `min_bytes` or more.
//!
//! A transform gives whole rows: the columns that `prepare` adds are all there are. The crate adds `_origin`, which tells the host from
//! which input row each one came, so that it can be traced.
//!
//! To make it yours, change Config, what is cut, and the columns. `cargo doc --open` shows the crate `sluice`.

use sluice::{flags, Column, Host, Out, Output, Plan, Result, Row, Stage, Transform};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Fewest bytes of a line that becomes a row.
        min_bytes: i64 => default("10").range(1, 1_000_000),
    }
}

/// The lines that are long enough, with their numbers from 1.
fn lines(text: &str, min_bytes: i64) -> impl Iterator<Item = (i64, &str)> {
    (1..).zip(text.split('\n')).filter(move |(_, line)| line.len() as i64 >= min_bytes)
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Column,
    out_text: Output,
    out_line: Output,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "A row for each line of a document";
    const DOC: &'static str = "Columns: `text`, and `line`, its number from 1. Lines end at a newline.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { min_bytes = 10 }";
    const FLAGS: u64 = flags::CONSUMES; // documents without a long line give no row

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Column::default(), out_text: Output::default(), out_line: Output::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        self.out_text = plan.add("text", "utf8")?;
        self.out_line = plan.add("line", "int64")?;
        Ok(())
    }
}

impl Transform for NameHere {
    fn transform(&self, _worker: &mut (), row: Row, out: &mut Out) -> Result<()> {
        for (number, line) in lines(row.text(self.text), self.config.min_bytes) {
            out.text(self.out_text, line)?;
            out.int64(self.out_line, number)?;
        }
        Ok(())
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [transform NameHere] }

#[cfg(test)]
mod tests {
    #[test]
    fn short_lines_are_left_out() {
        let found: Vec<_> = super::lines("a line\n\nb\nanother", 2).collect();
        assert_eq!(found, [(1, "a line"), (4, "another")]);
    }
}
