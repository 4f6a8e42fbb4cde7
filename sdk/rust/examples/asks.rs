//! asks - an annotator that asks a server about each text, and once more about the answer where that is even.
use sluice::*;

sluice::options! {
    /// Of the annotator.
    pub struct Config {
        /// Where to ask.
        url: Text => required(),
    }
}

struct Sums {
    config: Config,
    text: Column,
    sum: Output,
}

/// The number behind `"key":` in a JSON text.
fn number(answer: &Answer, key: &str) -> Result<i64> {
    let text = String::from_utf8_lossy(&answer.body);
    let digits = text.split(&format!("\"{key}\":")).nth(1).map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| Error::new(Code::Data, format!("the answer has no {key}: {text}")))
}

impl Stage for Sums {
    type Options = Config;
    type Worker = ();
    const NAME: &'static str = "sums";
    const SUMMARY: &'static str = "Adds what a server says of each text";
    const REASONS: &'static [&'static str] = &["refused"];
    const ASKS: bool = true;
    fn open(config: Config, _host: Host) -> Result<Sums> {
        Ok(Sums { config, text: Column::default(), sum: Output::default() })
    }
    fn prepare(&mut self, plan: &mut Plan) -> Result<()> {
        self.text = plan.need("text", "utf8?")?;
        self.sum = plan.add("sum", "int64")?;
        Ok(())
    }
    fn ask(&self, _worker: &mut (), row: Row) -> Result<Option<Request>> {
        Ok(match row.answers() {
            [] => Some(Request::post(self.config.url.get().unwrap_or(""), "text/plain", row.text(self.text))),
            [first] if !first.refused && number(first, "sum")? % 2 == 0 => {
                Some(Request::post(self.config.url.get().unwrap_or(""), "application/json", first.body.clone()))
            }
            _ => None,
        })
    }
}

impl Annotator for Sums {
    fn annotate(&self, _worker: &mut (), row: Row, out: &mut Out) -> Result<()> {
        match row.answers().last() {
            Some(answer) if !answer.refused => out.int64(self.sum, number(answer, "sum")?),
            _ => out.int64(self.sum, 0),
        }
    }
    fn judge(&self, _worker: &mut (), row: Row) -> Result<Verdict> {
        let refused = row.answers().iter().any(|answer| answer.refused);
        Ok(if refused { Verdict::drop("refused") } else { Verdict::keep() })
    }
}

sluice::plugin! { name: "asks", version: "0.1.0", license: "MIT", stages: [annotator Sums] }
