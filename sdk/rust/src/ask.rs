//! What a row asks of a server, and what it was answered.

use crate::error::{Error, Result};
use crate::sys;
use std::ffi::CStr;

/// A request. Equal ones of one stage are one: it is made once, and its answer kept in the run's journal. So nothing in it may change
/// from run to run: no times, no numbers of attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A GET of a URL.
    pub fn get(url: &str) -> Request {
        Request { method: "GET".to_string(), url: url.to_string(), ..Request::default() }
    }

    /// A POST of a body of some content type ("application/json").
    pub fn post(url: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Request {
        let request = Request { method: "POST".to_string(), url: url.to_string(), headers: Vec::new(), body: body.into() };
        request.header("Content-Type", content_type)
    }

    /// Another method.
    pub fn method(mut self, method: &str) -> Request {
        self.method = method.to_string();
        self
    }

    /// One more header, a line.
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// As the host takes it.
    pub(crate) fn text(&self) -> Result<Vec<u8>> {
        let line = |text: &str| !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f);
        let word = |text: &str| !text.is_empty() && line(text) && !text.contains(' ');
        if !word(&self.method) || !word(&self.url) || !self.headers.iter().all(|(name, value)| word(name) && line(value)) {
            return Err(Error::internal("a request has a method, URL or header that is empty, or with a space or a control byte in it"));
        }
        let mut out = format!("{} {}\n", self.method, self.url);
        for (name, value) in &self.headers {
            out.push_str(&format!("{name}: {value}\n"));
        }
        out.push('\n');
        let mut out = out.into_bytes();
        out.extend_from_slice(&self.body);
        Ok(out)
    }
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub code: u32,
    /// Refused for good (a status 4xx).
    pub refused: bool,
    /// The content type; "" = none said.
    pub content_type: String,
    /// Any bytes.
    pub body: Vec<u8>,
}

/// The answers of a call, each with its row's place among the selected ones.
pub(crate) unsafe fn answers_of(all: &sys::sluice_answers) -> Vec<(usize, Answer)> {
    (0..all.n as usize)
        .map(|k| {
            let one = &*((all.items as *const u8).add(k * all.stride as usize) as *const sys::sluice_answer);
            let body = if one.n == 0 { &[] } else { std::slice::from_raw_parts(one.data as *const u8, one.n as usize) };
            let content_type = if one.r#type.is_null() { String::new() } else { CStr::from_ptr(one.r#type).to_string_lossy().into_owned() };
            (one.tag as usize, Answer { code: one.code, refused: one.status != 0, content_type, body: body.to_vec() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_texts() {
        let request = Request::post("http://h/x", "text/plain", "a\nb").header("X-A", "1 2");
        assert_eq!(request.text().unwrap(), b"POST http://h/x\nContent-Type: text/plain\nX-A: 1 2\n\na\nb");
        assert_eq!(Request::get("http://h/").text().unwrap(), b"GET http://h/\n\n");
        assert!(Request::get("http://h/ HTTP/1.1\nX: y").text().is_err());
        assert!(Request::get("http://h/").header("A", "b\r\nC: d").text().is_err());
        assert!(Request::get("").text().is_err());
    }
}
