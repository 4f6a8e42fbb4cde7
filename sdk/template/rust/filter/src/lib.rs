//! NAME_HERE - a filter: drops documents that have fewer words than `min_words`.
//!
//! To make it yours, change Config, the measure, and the reasons. `cargo doc --open` shows the crate `sluice`.

use sluice::{Column, Filter, Host, Plan, Result, Row, Stage, Verdict};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Fewest words of a document that is kept.
        min_words: i64 => default("5").range(0, 1_000_000),
    }
}

/// Words are what stands between white space.
fn measure(text: &str) -> i64 {
    text.split_ascii_whitespace().count() as i64
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Column,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Drops documents of few words";
    const DOC: &'static str = "Words are what stands between white space.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { min_words = 5 }";
    const REASONS: &'static [&'static str] = &["too_short"];

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Column::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        Ok(())
    }
}

impl Filter for NameHere {
    fn judge(&self, _worker: &mut (), row: Row) -> Result<Verdict> {
        let words = measure(row.text(self.text));
        let verdict = if words < self.config.min_words { Verdict::drop("too_short") } else { Verdict::keep() };
        Ok(verdict.measured(words as f64, self.config.min_words as f64))
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [filter NameHere] }

#[cfg(test)]
mod tests {
    #[test]
    fn words_stand_between_white_space() {
        assert_eq!(super::measure(""), 0);
        assert_eq!(super::measure(" one\ttwo\n"), 2);
    }
}
