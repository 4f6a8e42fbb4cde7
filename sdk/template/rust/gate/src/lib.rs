//! NAME_HERE - a gate: halts the run when too large a share of its documents is short.
//!
//! A gate lets all rows pass. Each task counts its own, the host saves the counts and adds them up at the barrier (`save`, `merge`), and
//! `judge` decides before anything is published. Counts are integers: their sum must not depend on the order.
//!
//! To make it yours, change Config, what is counted, and `judge`. `cargo doc --open` shows the crate `sluice`.

use sluice::{Column, Counts, Gate, Host, Judgement, Mode, Plan, Result, Row, Stage, State};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Fewest bytes of a document that isn't short.
        min_bytes: i64 => default("20").range(0, 1_000_000),
        /// Largest share of short documents, 0 to 1.
        max_share: f64 => default("0.5").range(0, 1).no_output(), // only `judge` looks at it: changing it counts nothing again
    }
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Column,
}

/// One worker's counts.
#[derive(Default)]
struct Seen {
    rows: u64,
    short: u64,
}

fn judge(seen: &Seen, max_share: f64) -> Judgement {
    let share = if seen.rows == 0 { 0.0 } else { seen.short as f64 / seen.rows as f64 };
    if share <= max_share {
        return Judgement::Pass;
    }
    // or Judgement::Warn
    Judgement::Halt(format!(
        "{share} of the documents are short ({} of {}), expected max_share = {max_share} or less. Likely cause: the input changed: see \
         `sluice report`",
        seen.short, seen.rows
    ))
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = Seen;
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Halts the run when too many documents are short";
    const DOC: &'static str = "Judged when all rows are counted, before anything is published.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { max_share = 0.2 }";
    const MODE: Mode = Mode::Ordered;
    const STATE_VERSION: u64 = 1;

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Column::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        Ok(())
    }

    fn save(&self, seen: &Seen, state: &mut State) -> Result<()> {
        state.write_u64(seen.rows)?;
        state.write_u64(seen.short)
    }

    fn merge(&self, seen: &mut Seen, state: &mut State, _version: u64) -> Result<()> {
        seen.rows += state.read_u64()?;
        seen.short += state.read_u64()?;
        Ok(())
    }
}

impl Gate for NameHere {
    fn observe(&self, seen: &mut Seen, row: Row) -> Result<()> {
        seen.rows += 1;
        seen.short += u64::from((row.text(self.text).len() as i64) < self.config.min_bytes);
        Ok(())
    }

    fn judge(&self, seen: &Seen, _counts: &Counts) -> Result<Judgement> {
        Ok(judge(seen, self.config.max_share))
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [gate NameHere] }

#[cfg(test)]
mod tests {
    use super::{judge, Judgement, Seen};

    #[test]
    fn the_limit_itself_passes() {
        assert_eq!(judge(&Seen { rows: 4, short: 2 }, 0.5), Judgement::Pass);
        assert_eq!(judge(&Seen { rows: 0, short: 0 }, 0.0), Judgement::Pass);
        assert!(matches!(judge(&Seen { rows: 4, short: 3 }, 0.5), Judgement::Halt(_)));
    }
}
