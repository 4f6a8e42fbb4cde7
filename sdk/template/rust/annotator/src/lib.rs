//! NAME_HERE - an annotator: adds the column `long_words`, how many words of a document have `min_length` bytes or more.
//!
//! To make it yours, change Config, the measure, and the columns that `prepare` asks for and adds. `cargo doc --open` shows the crate
//! `sluice`.

use sluice::{Annotator, Column, Host, Out, Output, Plan, Result, Row, Stage};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Fewest bytes of a word that counts.
        min_length: i64 => default("7").range(1, 1000),
    }
}

/// Words are what stands between white space.
fn measure(text: &str, min_length: i64) -> i64 {
    text.split_ascii_whitespace().filter(|word| word.len() as i64 >= min_length).count() as i64
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Column,
    long_words: Output,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Counts the long words of a document";
    const DOC: &'static str = "Adds the column `long_words`. Words are what stands between white space.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { min_length = 7 }";

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Column::default(), long_words: Output::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        self.long_words = plan.add("long_words", "int64")?;
        Ok(())
    }
}

impl Annotator for NameHere {
    fn annotate(&self, _worker: &mut (), row: Row, out: &mut Out) -> Result<()> {
        out.int64(self.long_words, measure(row.text(self.text), self.config.min_length))
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [annotator NameHere] }

#[cfg(test)]
mod tests {
    #[test]
    fn long_words_are_counted() {
        assert_eq!(super::measure("", 3), 0);
        assert_eq!(super::measure("an example of it", 7), 1);
    }
}
