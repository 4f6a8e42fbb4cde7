//! parts - readers that read at random. `read_parts` reads files of parts with an index at their end: for each part, where it ends and what
//! its greatest number is (u64 each, little-endian), then the number of parts. Parts are lines. `read_cells` finds records by searching:
//! cells of 32 bytes that begin with '#'.
use sluice::*;

sluice::options! {
    /// Of read_parts.
    pub struct Config {
        /// Parts whose numbers are all below are not read.
        above: i64 => default("0").range(0, 1e15),
    }
}

struct Parted {
    config: Config,
    out: Option<Output>,
}

#[derive(Default)]
struct Index {
    asked: bool,    /* for the index itself, not for its size alone */
    texts: Vec<u8>, /* of a unit, which takes more than one call */
    at: usize,
}

const LINES_A_CALL: usize = 64;

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default())
}

impl Stage for Parted {
    type Options = Config;
    type Worker = Index;
    const NAME: &'static str = "read_parts";
    const SUMMARY: &'static str = "Files of parts with an index";
    const EXAMPLE: &'static str = "s.files \"*.parts\" | s.read_parts { above = 100 }";
    fn open(config: Config, _host: Host) -> Result<Parted> {
        Ok(Parted { config, out: None })
    }
    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        // The survey describes the file by the number of its parts, which an empty plan does not know.
        let n = plan.described()?.map_or(0, |(_, said)| number(&said));
        plan.note("parts", &n.to_string())?;
        self.out = Some(plan.add("text", "utf8")?);
        Ok(())
    }
}

impl Parted {
    fn lines(&self, index: &mut Index, scan: &mut Scan, out: &mut Scanned) -> Result<()> {
        let column = self.out.ok_or_else(|| Error::internal("prepare comes first"))?;
        for _ in 0..LINES_A_CALL {
            let rest = &index.texts[index.at..];
            if rest.is_empty() {
                break;
            }
            let n = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let begin = scan.begin() + index.at as u64;
            match std::str::from_utf8(&rest[..n]) {
                Ok(text) => {
                    out.text(column, text)?;
                    out.end(begin, begin + n as u64)?;
                }
                Err(_) => out.bad(begin, begin + n as u64, "invalid_utf8", "the line is not UTF-8")?,
            }
            index.at = (index.at + n + 1).min(index.texts.len());
        }
        scan.more(index.at < index.texts.len());
        Ok(())
    }
}

impl RandomReader for Parted {
    fn survey(&self, index: &mut Index, file: &File, out: &mut Survey) -> Result<()> {
        index.asked = false;
        if file.bytes() < 8 {
            return Err(Error::data("the file ends before its index"));
        }
        out.ask(file.bytes() - 8, 8)
    }
    fn surveyed(&self, index: &mut Index, file: &File, parts: &Parts, out: &mut Survey) -> Result<()> {
        let found = parts.part(0);
        if !index.asked {
            let size = number(found).checked_mul(16).filter(|size| *size > 0 && *size <= file.bytes() - 8);
            let size = size.ok_or_else(|| Error::data(format!("{}: the number of parts is damaged", file.uri())))?;
            index.asked = true;
            return out.ask(file.bytes() - 8 - size, size);
        }
        let mut begin = 0;
        for entry in found.chunks_exact(16) {
            let (end, greatest) = (number(entry), number(&entry[8..]));
            let skip = if greatest < self.config.above as u64 { Some("greatest") } else { None };
            out.unit(&Unit { begin, end, skip, ..Unit::default() })?;
            begin = end;
        }
        out.describe(&(found.len() as u64 / 16).to_le_bytes())
    }
    fn scan(&self, index: &mut Index, scan: &mut Scan, out: &mut Scanned) -> Result<()> {
        if scan.call() > 0 {
            return self.lines(index, scan, out);
        }
        if scan.unit() >= number(scan.description()) {
            return Err(Error::internal("a unit that the survey did not describe"));
        }
        out.ask(scan.begin(), scan.end() - scan.begin())
    }
    fn scanned(&self, index: &mut Index, scan: &mut Scan, parts: &Parts, out: &mut Scanned) -> Result<()> {
        index.texts = parts.part(0).to_vec();
        index.at = 0;
        self.lines(index, scan, out)
    }
}

struct Cells {
    out: [Output; 3],
}

const CELL: u64 = 32;

impl Stage for Cells {
    type Options = NoOptions;
    type Worker = ();
    const NAME: &'static str = "read_cells";
    const SUMMARY: &'static str = "Cells of 32 bytes, found by searching";
    const EXAMPLE: &'static str = "s.files \"*.cells\" | s.read_cells {}";
    const CUT: &'static str = "sync";
    fn open(_options: NoOptions, _host: Host) -> Result<Cells> {
        Ok(Cells { out: [Output::default(); 3] })
    }
    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.out = [plan.add("text", "utf8")?, plan.add("_begin", "uint64")?, plan.add("_end", "uint64")?];
        Ok(())
    }
}

impl RandomReader for Cells {
    /// The range, and as much behind it as its last cell may reach.
    fn scan(&self, _worker: &mut (), scan: &mut Scan, out: &mut Scanned) -> Result<()> {
        out.ask(scan.begin(), (scan.end() + CELL - 1).min(scan.file().bytes()) - scan.begin())
    }
    fn scanned(&self, _worker: &mut (), scan: &mut Scan, parts: &Parts, out: &mut Scanned) -> Result<()> {
        let bytes = parts.part(0);
        let own = (scan.end() - scan.begin()) as usize;
        let mut at = 0;
        while let Some(n) = bytes[at..own.max(at)].iter().position(|byte| *byte == b'#') {
            at += n;
            let begin = scan.begin() + at as u64;
            let cell = bytes.get(at..at + CELL as usize).ok_or_else(|| Error::data("the file ends inside a cell"))?;
            match std::str::from_utf8(cell) {
                Ok(text) => {
                    out.text(self.out[0], text[1..].trim_end())?;
                    out.uint64(self.out[1], begin)?;
                    out.uint64(self.out[2], begin + CELL)?;
                    out.end(begin, begin + CELL)?;
                }
                Err(_) => out.bad(begin, begin + CELL, "invalid_utf8", "the cell is not UTF-8")?,
            }
            at += CELL as usize;
        }
        Ok(())
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "parts", version: "0.1.0", license: "MIT", stages: [random_reader Parted, random_reader Cells] }
