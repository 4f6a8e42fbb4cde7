//! kinds - three stages that use what the templates of `sluice new` don't: every type of option and of column, verdicts of an annotator,
//! nulls, an ordered transform with state and `_origin` of its own, a reader that cuts its input itself.
use sluice::*;

sluice::options! {
    /// One option of each type.
    pub struct Config {
        /// A bool.
        flag: bool => default("true"),
        /// An int.
        count: i64 => default("-7").range(-10, 10),
        /// A float.
        share: f64 => default("0.25").range(0, 1),
        /// A string; unset by default.
        label: Text => no_output(),
        /// An enum.
        mode: Choice => default("second").choices("first|second|third"),
        /// A size.
        size: Bytes => default("2KiB").range(0, 1e9),
        /// A duration.
        wait: Nanos => default("3s").range(0, 1e18),
        /// A range.
        between: Range => default("0.5..2").range(0, 10),
        /// A list.
        words: List => default("a,b"),
        /// A map.
        names: Map => default("x=1"),
        /// The column that holds the text.
        over: ColumnName => default("text"),
    }
}

/// Adds a column of each type.
struct Kinds {
    config: Config,
    host: Host,
    text: Column,
    score: Column,
    out: [Output; 12],
}

impl Stage for Kinds {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "kinds";
    const SUMMARY: &'static str = "Adds a column of each type";
    const EXAMPLE: &'static str = "docs | s.kinds { count = 3 }";
    const REASONS: &'static [&'static str] = &["empty", "copy"];
    const BYTES_WORKER: u64 = 4096;

    fn open(config: Config, host: Host) -> Result<Self> {
        if config.between.hi == 10.0 {
            return Err(Error::config("between", "found 10 as the upper end, expected less"));
        }
        host.log(Level::Debug, "opened");
        Ok(Kinds { config, host, text: Column::default(), score: Column::default(), out: [Output::default(); 12] })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need(self.config.over.get().unwrap_or("text"), "utf8?")?;
        self.score = plan.need_optional("score", "float64?")?;
        let columns = [
            ("flag", "bool"),
            ("count", "int64"),
            ("share", "float64"),
            ("label", "utf8?"),
            ("mode", "utf8"),
            ("size", "uint64"),
            ("wait", "int64"),
            ("between", "float32"),
            ("words", "utf8"),
            ("lengths", "list<uint32>?"),
            ("small", "int32?"),
            ("places", "list<uint64>"),
        ];
        for (output, (name, kind)) in self.out.iter_mut().zip(columns) {
            *output = plan.add_with(name, kind, "made_by=kinds")?;
        }
        plan.note("kinds", "{\"columns\":12}")
    }
}

impl Annotator for Kinds {
    fn annotate(&self, _worker: &mut (), row: Row, out: &mut Out) -> Result<()> {
        let (config, to, text) = (&self.config, &self.out, row.text(self.text));
        let score = if row.is_null(self.score) { 1.0 } else { row.float64(self.score) };
        if self.host.cancelled() {
            return Err(Error::new(Code::Cancelled, "the run is being stopped"));
        }
        out.bool(to[0], config.flag != text.is_empty())?;
        out.int64(to[1], config.count)?;
        out.float64(to[2], config.share * score)?;
        match config.label.get() {
            Some(label) => out.text(to[3], label)?,
            None => out.null(to[3])?,
        }
        out.text(to[4], ["first", "second", "third"][config.mode.0 as usize])?;
        out.uint64(to[5], config.size.0)?;
        out.int64(to[6], config.wait.0)?;
        out.float32(to[7], (config.between.lo + config.between.hi) as f32)?;
        let names: Vec<String> = config.names.items().iter().map(|(key, value)| format!("{key}={value}")).collect();
        out.text(to[8], &format!("{} {}", config.words.items().join("+"), names.join(";")))?;
        if text.is_empty() {
            out.null(to[9])?;
            out.null(to[10])?;
        } else {
            let lengths: Vec<u32> = text.split(' ').map(|word| word.len() as u32).collect();
            out.list_u32(to[9], &lengths)?;
            out.int32(to[10], -(lengths.len() as i32))?;
        }
        let places: Vec<u64> = text.match_indices('e').map(|(at, _)| at as u64).collect();
        out.list_u64(to[11], &places)
    }

    fn judge(&self, _worker: &mut (), row: Row) -> Result<Verdict> {
        Ok(match row.text(self.text) {
            "" => Verdict::drop("empty").measured(0.0, 1.0),
            "copy" => Verdict::drop("copy").duplicate_of("the first", 0.75),
            "odd" => Verdict::bad("odd_text", "this one can't be judged"),
            _ => Verdict::keep(),
        })
    }
}

/// Joins each document with the next one: ordered, with a state and origins of its own.
struct Pairs {
    text: Column,
    row: Column,
    out: [Output; 2],
}

#[derive(Default)]
struct Waiting {
    text: Option<(String, u64)>,
}

impl Stage for Pairs {
    type Options = NoOptions;
    type Worker = Waiting;
    const NAME: &'static str = "pairs";
    const SUMMARY: &'static str = "Joins each document with the next one";
    const EXAMPLE: &'static str = "docs | s.pairs {}";
    const MODE: Mode = Mode::Ordered;
    const FLAGS: u64 = flags::CONSUMES;
    const STATE_VERSION: u64 = 1;
    const BYTES_PER_INPUT: f64 = 1.0;

    fn open(_options: NoOptions, _host: Host) -> Result<Self> {
        Ok(Pairs { text: Column::default(), row: Column::default(), out: [Output::default(); 2] })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        self.row = plan.need("_row", "uint64")?;
        self.out = [plan.add("text", "utf8")?, plan.add("_origin", "list<uint64>")?];
        Ok(())
    }

    fn save(&self, waiting: &Waiting, state: &mut State) -> Result<()> {
        let (text, row) = waiting.text.as_ref().map_or(("", u64::MAX), |(text, row)| (text.as_str(), *row));
        state.write_u64(row)?;
        state.write_u64(text.len() as u64)?;
        state.write(text.as_bytes())
    }

    fn merge(&self, waiting: &mut Waiting, state: &mut State, _version: u64) -> Result<()> {
        let row = state.read_u64()?;
        let n = state.read_u64()?;
        if n > 1 << 31 {
            return Err(Error::data("the saved state is damaged"));
        }
        let mut bytes = vec![0; n as usize];
        state.read(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::data("the saved state is damaged"))?;
        waiting.text = if row == u64::MAX { None } else { Some((text, row)) };
        Ok(())
    }
}

impl Transform for Pairs {
    fn transform(&self, waiting: &mut Waiting, row: Row, out: &mut Out) -> Result<()> {
        let (text, number) = (row.text(self.text), row.uint64(self.row));
        match waiting.text.take() {
            None => waiting.text = Some((text.to_string(), number)),
            Some((first, before)) => {
                out.text(self.out[0], &format!("{first}|{text}"))?;
                out.list_u64(self.out[1], &[before, number])?;
                out.measure("pairs", 1)?;
            }
        }
        Ok(())
    }

    fn flush(&self, waiting: &mut Waiting, out: &mut Out) -> Result<()> {
        if let Some((text, number)) = waiting.text.take() {
            out.text(self.out[0], &text)?;
            out.list_u64(self.out[1], &[number])?;
        }
        Ok(())
    }
}

/// Reads paragraphs: what stands between empty lines.
struct Paragraphs {
    out: Output,
}

impl Stage for Paragraphs {
    type Options = NoOptions;
    type Worker = ();
    const NAME: &'static str = "paragraphs";
    const SUMMARY: &'static str = "Reads what stands between empty lines";
    const EXAMPLE: &'static str = "s.files \"*.txt\" | s.paragraphs {}";
    const CUT: &'static str = "none";

    fn open(_options: NoOptions, _host: Host) -> Result<Self> {
        Ok(Paragraphs { out: Output::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.out = plan.add("text", "utf8")?;
        Ok(())
    }
}

impl Reader for Paragraphs {
    fn read(&self, _worker: &mut (), chunk: &mut Chunk, out: &mut Records) -> Result<()> {
        let data = chunk.data();
        let mut at = 0;
        while at < data.len() {
            let found = data[at..].windows(2).position(|pair| pair == b"\n\n");
            let n = match found {
                Some(n) => n,
                None if chunk.last() => data.len() - at,
                None => break,
            };
            let (begin, bytes) = (chunk.offset() + at as u64, &data[at..at + n]);
            match std::str::from_utf8(bytes) {
                _ if bytes.is_empty() => {}
                Ok(text) => {
                    out.text(self.out, text)?;
                    out.end(begin, begin + n as u64)?;
                }
                Err(_) => out.bad(begin, begin + n as u64, "invalid_utf8", "the paragraph is not UTF-8")?,
            }
            at += n + found.map_or(0, |_| 2);
        }
        chunk.consumed(at);
        Ok(())
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "kinds", version: "0.1.0", license: "MIT", stages: [annotator Kinds, transform Pairs, reader Paragraphs] }
