//! NAME_HERE - a writer: documents as lines of an id, a tab and a text.
//!
//! The writer turns rows into bytes; the host compresses them, owns the files and publishes them as a dataset. Where a file ends may
//! depend on the rows alone, never on how they are cut into batches.
//!
//! To make it yours, change Config and `line`. `cargo doc --open` shows the crate `sluice`.

use sluice::{Choice, Column, Files, Host, Mode, Path, Plan, Result, Row, Stage, Writer};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Dataset folder that is written.
        path: Path => output_path().positional().required(),
        /// Rows after which a file is ended.
        rows_per_file: i64 => default("1000000").range(1, 1e12),
        /// Codec of the files.
        compression: Choice => default("zstd").choices("none|gzip|zstd"),
    }
}

const CODECS: [&str; 3] = ["none", "gzip", "zstd"];

/// A row's line: tabs and line ends inside a field become spaces.
fn line(id: &str, text: &str) -> String {
    let field = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    format!("{}\t{}\n", field(id), field(text))
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    id: Column,
    text: Column,
}

/// One worker's place in the open file.
#[derive(Default)]
struct Place {
    rows: i64,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = Place;
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Lines of an id, a tab and a text";
    const DOC: &'static str = "Tabs and line ends inside a field become spaces.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { \"out/lines\" }";
    const MODE: Mode = Mode::Ordered;

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, id: Column::default(), text: Column::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.id = plan.need("id", "utf8?")?;
        self.text = plan.need("text", "utf8?")?;
        plan.output(".tsv", CODECS[self.config.compression.0 as usize], 0)
    }
}

impl Writer for NameHere {
    fn write(&self, place: &mut Place, row: Row, out: &mut Files) -> Result<()> {
        out.write(0, line(row.text(self.id), row.text(self.text)).as_bytes())?;
        place.rows += 1;
        if place.rows == self.config.rows_per_file {
            out.roll(place.rows)?;
            place.rows = 0;
        }
        Ok(())
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [writer NameHere] }

#[cfg(test)]
mod tests {
    #[test]
    fn a_row_is_a_line() {
        assert_eq!(super::line("a", "b\tc\nd"), "a\tb c d\n");
    }
}
