//! NAME_HERE - a judge: asks a server about each document and adds what it answers, the column `score`.
//!
//! To make it yours, change what is asked (`ask`) and what is made of an answer (`score_of`). A stage opens no connection: the host asks, many at
//! once. `cargo doc --open` shows the crate `sluice`.

use sluice::{Annotator, Answer, Code, Column, Error, Host, Out, Output, Plan, Request, Result, Row, Stage, Text};

sluice::options! {
    /// The host parses the options, checks them and puts them here.
    pub struct Config {
        /// Where to ask: the text is posted to it.
        url: Text => required(),
    }
}

/// The number behind `"score":` in what was answered.
fn score_of(body: &str) -> Option<f64> {
    let rest = body.split("\"score\":").nth(1)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// One configured use of the stage. Read-only once `prepare` is done: many threads use it.
struct NameHere {
    config: Config,
    text: Column,
    score: Output,
}

impl Stage for NameHere {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "NAME_HERE";
    const SUMMARY: &'static str = "Adds the score that a server gives a document";
    const DOC: &'static str = "Posts the text to `url`, which answers {\"score\": NUMBER}, and adds the column `score`.";
    const EXAMPLE: &'static str = "docs | NAME_HERE { url = \"http://localhost:8000/score\", ask = { hosts = { \"localhost:8000\" } } }";
    const ASKS: bool = true;

    fn open(config: Config, _host: Host) -> Result<Self> {
        Ok(NameHere { config, text: Column::default(), score: Output::default() })
    }

    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        self.score = plan.add("score", "float64")?;
        Ok(())
    }

    /// What is asked about a row; asked again with what was answered, until it asks nothing. Equal requests are one: they are made once, and the
    /// answer is kept. So nothing in it may change from run to run, such as a time.
    fn ask(&self, _worker: &mut (), row: Row) -> Result<Option<Request>> {
        let url = self.config.url.get().unwrap_or("");
        Ok(if row.answers().is_empty() { Some(Request::post(url, "text/plain", row.text(self.text))) } else { None })
    }
}

impl Annotator for NameHere {
    /// An error of data sets the row aside as a bad one.
    fn annotate(&self, _worker: &mut (), row: Row, out: &mut Out) -> Result<()> {
        let answer: Option<&Answer> = row.answers().last().filter(|answer| !answer.refused);
        let score = answer.and_then(|answer| score_of(&String::from_utf8_lossy(&answer.body)));
        out.float64(self.score, score.ok_or_else(|| Error::new(Code::Data, "the server gives the text no score"))?)
    }
}

/// Memory that runs out becomes an error of the stage.
#[global_allocator]
static MEMORY: sluice::Memory = sluice::Memory;

sluice::plugin! { name: "NAME_HERE", version: "0.1.0", license: "MIT", stages: [annotator NameHere] }

#[cfg(test)]
mod tests {
    #[test]
    fn scores_are_found() {
        assert_eq!(super::score_of("{\"score\":0.25,\"more\":1}"), Some(0.25));
        assert_eq!(super::score_of("no"), None);
    }
}
