//! NAME_HERE - a reader that reads at random: files with an index, of which no more is read than is asked for.
//!
//! A shelf is lines of an id, a tab and a text; then a line for each unit of them, of where it begins and ends (two numbers of ten
//! digits); then a line of where those lines begin. The host opens the files and reads them: `survey` and `scan` ask for bytes,
//! `surveyed` and `scanned` go on when they are there. Units are read by any worker, in any order. What is asked for must depend on the
//! file and the options alone.
//!
//! To make it yours, change Config, `units`, `record`, and the columns. `cargo doc --open` shows the crate `sluice`.

use sluice::{Error, File, Host, Output, Parts, Plan, RandomReader, Result, Scan, Scanned, Stage, Survey, Unit};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Units of fewer bytes are not read: they are skipped.
        least: i64 => default("0").range(0, 1e12),
    }
}

/// Bytes of ten digits and what ends them.
const NUMBER: usize = 11;
/// Bytes of text that one call makes rows of.
const BATCH: usize = 1 << 20;

/// The number at the begin of some bytes.
fn number(bytes: &[u8]) -> Result<u64> {
    let digits = bytes.get(..NUMBER - 1).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| Error::data("a number of the index is damaged"))
}

/// Begin and end of the units of an index, which ends at `index`.
fn units(bytes: &[u8], index: u64) -> Result<Vec<(u64, u64)>> {
    let mut behind = 0;
    let unit = |entry: &[u8]| {
        let (begin, end) = (number(entry)?, number(&entry[NUMBER..])?);
        if begin < behind || end <= begin || end > index {
            return Err(Error::data("a line of the index is damaged"));
        }
        behind = end;
        Ok((begin, end))
    };
    bytes.chunks_exact(2 * NUMBER).map(unit).collect()
}

/// Id and text of a line, or why it is no record.
fn record(line: &[u8]) -> std::result::Result<(&str, &str), (&'static str, &'static str)> {
    let line = std::str::from_utf8(line).map_err(|_| ("invalid_utf8", "the line is not UTF-8"))?;
    line.split_once('\t').ok_or(("no_tab", "the line has no tab between id and text"))
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    out: [Output; 4],
}

/// What a worker keeps from call to call.
#[derive(Default)]
struct Worker {
    index: u64, /* where the index of the survey's file begins; 0 = not known yet */
    unit: Vec<u8>,
    at: usize,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = Worker;
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Shelves: lines of an id, a tab and a text, with an index";
    const DOC: &'static str = "Columns: `text` and `id`. Lines without a tab, or that are not UTF-8, are quarantined: no_tab, invalid_utf8.";
    const EXAMPLE: &'static str = "s.files \"data/*.shelf\" | NAME_HERE { least = 1000 }";
    const BYTES_PER_BATCH: f64 = 3.0;

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, out: [Output::default(); 4] })
    }

    /// `_begin` and `_end` are where a record stands in its file; without them rows are traced to their unit.
    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        let columns = [("text", "utf8"), ("id", "utf8"), ("_begin", "uint64"), ("_end", "uint64")];
        for (output, (name, kind)) in self.out.iter_mut().zip(columns) {
            *output = plan.add(name, kind)?;
        }
        Ok(())
    }
}

impl NameHere {
    fn rows(&self, worker: &mut Worker, scan: &mut Scan, out: &mut Scanned) -> Result<()> {
        let stop = worker.unit.len().min(worker.at + BATCH);
        while worker.at < stop {
            let rest = &worker.unit[worker.at..];
            let n = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let begin = scan.begin() + worker.at as u64;
            let end = begin + n as u64;
            match record(&rest[..n]) {
                Ok((id, text)) => {
                    out.text(self.out[0], text)?;
                    out.text(self.out[1], id)?;
                    out.uint64(self.out[2], begin)?;
                    out.uint64(self.out[3], end)?;
                    out.end(begin, end)?;
                }
                Err((reason, detail)) => out.bad(begin, end, reason, detail)?,
            }
            worker.at = worker.unit.len().min(worker.at + n + 1);
        }
        scan.more(worker.at < worker.unit.len());
        Ok(())
    }
}

impl RandomReader for NameHere {
    fn survey(&self, worker: &mut Worker, file: &File, out: &mut Survey) -> Result<()> {
        worker.index = 0;
        if file.bytes() < NUMBER as u64 {
            return Err(Error::data("the file ends before its last line"));
        }
        out.ask(file.bytes() - NUMBER as u64, NUMBER as u64)
    }

    fn surveyed(&self, worker: &mut Worker, file: &File, parts: &Parts, out: &mut Survey) -> Result<()> {
        let end = file.bytes() - NUMBER as u64;
        if worker.index == 0 {
            worker.index = number(parts.part(0))?;
            if worker.index == 0 || worker.index >= end || (end - worker.index) % (2 * NUMBER as u64) != 0 {
                return Err(Error::data("the last line is damaged, expected where the index begins"));
            }
            return out.ask(worker.index, end - worker.index);
        }
        for (begin, end) in units(parts.part(0), worker.index)? {
            let skip = if end - begin < self.config.least as u64 { Some("small") } else { None };
            out.unit(&Unit { begin, end, skip, ..Unit::default() })?;
        }
        Ok(())
    }

    fn scan(&self, worker: &mut Worker, scan: &mut Scan, out: &mut Scanned) -> Result<()> {
        if scan.call() > 0 {
            return self.rows(worker, scan, out);
        }
        out.ask(scan.begin(), scan.end() - scan.begin())
    }

    /// The bytes are lent for this call, and there may be more rows than go into one.
    fn scanned(&self, worker: &mut Worker, scan: &mut Scan, parts: &Parts, out: &mut Scanned) -> Result<()> {
        worker.unit = parts.part(0).to_vec();
        worker.at = 0;
        self.rows(worker, scan, out)
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [random_reader NameHere] }

#[cfg(test)]
mod tests {
    use super::{record, units};

    #[test]
    fn an_index_is_begins_and_ends() {
        assert_eq!(units(b"0000000000 0000000064\n0000000064 0000000071\n", 71).unwrap(), [(0, 64), (64, 71)]);
        assert!(units(b"0000000000 0000000064\n0000000063 0000000071\n", 71).is_err());
        assert!(units(b"0000000000 0000000072\n", 71).is_err());
        assert!(units(b"000000000x 0000000064\n", 71).is_err());
        assert_eq!(record(b"a\tb\tc"), Ok(("a", "b\tc")));
        assert_eq!(record(b"no tab").unwrap_err().0, "no_tab");
    }
}
