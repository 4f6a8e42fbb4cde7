//! NAME_HERE - a reader: lines of an id, a tab and a text become documents.
//!
//! The host finds, opens, decompresses and cuts the files; with CUT = "newline", the default, each chunk holds whole lines. A line that
//! is no record is reported with its bytes, and the run goes on.
//!
//! To make it yours, change Config, `record`, and the columns. `cargo doc --open` shows the crate `sluice`.

use sluice::{Chunk, Host, Output, Plan, Reader, Records, Result, Stage};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Longest id; a line with a longer one is no record.
        max_id_bytes: i64 => default("200").range(1, 10_000),
    }
}

/// Id and text of a line, or why it is no record.
fn record(line: &[u8], max_id_bytes: i64) -> std::result::Result<(&str, &str), (&'static str, &'static str)> {
    let line = std::str::from_utf8(line).map_err(|_| ("invalid_utf8", "the line is not UTF-8"))?;
    let (id, text) = line.split_once('\t').ok_or(("no_tab", "the line has no tab between id and text"))?;
    if id.len() as i64 > max_id_bytes {
        return Err(("long_id", "the id is longer than max_id_bytes"));
    }
    Ok((id, text))
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Output,
    id: Output,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Lines of an id, a tab and a text";
    const DOC: &'static str = "Columns: `text` and `id`. Empty lines are skipped. Other lines are quarantined: no_tab, long_id, \
                               invalid_utf8.";
    const EXAMPLE: &'static str = "s.files \"data/*.tsv.zst\" | NAME_HERE {}";

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Output::default(), id: Output::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.add("text", "utf8")?;
        self.id = plan.add("id", "utf8")?;
        Ok(())
    }
}

impl Reader for NameHere {
    fn read(&self, _worker: &mut (), chunk: &mut Chunk, out: &mut Records) -> Result<()> {
        for line in chunk.lines().filter(|line| !line.bytes.is_empty()) {
            match record(line.bytes, self.config.max_id_bytes) {
                Ok((id, text)) => {
                    out.text(self.text, text)?;
                    out.text(self.id, id)?;
                    out.end(line.begin, line.end)?;
                }
                Err((reason, detail)) => out.bad(line.begin, line.end, reason, detail)?,
            }
        }
        Ok(())
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [reader NameHere] }

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn lines_are_id_tab_text() {
        assert_eq!(record(b"a\tb\tc", 5), Ok(("a", "b\tc")));
        assert_eq!(record(b"no tab", 5).unwrap_err().0, "no_tab");
        assert_eq!(record(b"a long id\tx", 5).unwrap_err().0, "long_id");
        assert_eq!(record(b"\xff\tx", 5).unwrap_err().0, "invalid_utf8");
    }
}
