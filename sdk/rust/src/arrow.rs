//! Columns: views of what the host lends, and builders of what it is given.

use crate::ask::Answer;
use crate::error::{Code, Error, Result};
use crate::sys;
use std::os::raw::c_void;

// ---- views ------------------------------------------------------------------------------------------------------------------

/// A column that `prepare` asked for; pass it to `Row`'s methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column(pub(crate) i32);

impl Column {
    /// False for an optional column that the input hasn't.
    pub fn present(self) -> bool {
        self.0 >= 0
    }
}

/// One row of a batch. Borrowed for the call.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(crate) array: &'a sys::ArrowArray,
    pub(crate) row: usize,
    pub(crate) answers: &'a [Answer],
}

impl<'a> Row<'a> {
    /// To what `Stage::ask` asked for this row, in the order of asking.
    pub fn answers(&self) -> &'a [Answer] {
        self.answers
    }

    /// A column's array; a column that isn't there is a defect, which the host is told.
    fn array(&self, column: Column) -> &'a sys::ArrowArray {
        assert!(column.0 >= 0 && i64::from(column.0) < self.array.n_children, "a column that was not asked for");
        // SAFETY: the host gives as many children as were asked for, for the length of the call.
        unsafe { &**self.array.children.add(column.0 as usize) }
    }

    unsafe fn value<T: Copy>(array: &'a sys::ArrowArray, buffer: usize, at: usize) -> T {
        *(*array.buffers.add(buffer) as *const T).add(at)
    }

    /// Whether the value is null (or the optional column absent).
    pub fn is_null(&self, column: Column) -> bool {
        if column.0 < 0 {
            return true;
        }
        let array = self.array(column);
        // SAFETY: validity has a bit a row where it is there.
        unsafe {
            let validity = *array.buffers as *const u8;
            array.null_count != 0 && !validity.is_null() && *validity.add(self.row >> 3) >> (self.row & 7) & 1 == 0
        }
    }

    /// A utf8, json or binary value's bytes; a null is empty.
    pub fn bytes(&self, column: Column) -> &'a [u8] {
        if self.is_null(column) {
            return &[];
        }
        let array = self.array(column);
        // SAFETY: offsets are ascending and inside the data.
        unsafe {
            let begin: i32 = Self::value(array, 1, self.row);
            let end: i32 = Self::value(array, 1, self.row + 1);
            if begin == end {
                return &[];
            }
            let data = *array.buffers.add(2) as *const u8;
            std::slice::from_raw_parts(data.add(begin as usize), (end - begin) as usize)
        }
    }

    /// A utf8 or json value; a null is "".
    pub fn text(&self, column: Column) -> &'a str {
        // SAFETY: the host checks that utf8 and json columns are UTF-8 before a plugin sees them.
        unsafe { std::str::from_utf8_unchecked(self.bytes(column)) }
    }

    /// An int64 value; of a null: 0.
    pub fn int64(&self, column: Column) -> i64 {
        if self.is_null(column) {
            return 0;
        }
        // SAFETY: the column has the type that was asked for.
        unsafe { Self::value(self.array(column), 1, self.row) }
    }

    /// A uint64 value; of a null: 0.
    pub fn uint64(&self, column: Column) -> u64 {
        self.int64(column) as u64
    }

    /// A float64 value; of a null: 0.
    pub fn float64(&self, column: Column) -> f64 {
        f64::from_bits(self.uint64(column))
    }

    /// A bool; of a null: false.
    pub fn bool(&self, column: Column) -> bool {
        // SAFETY: bools are bits.
        !self.is_null(column) && unsafe { Self::value::<u8>(self.array(column), 1, self.row >> 3) } >> (self.row & 7) & 1 != 0
    }

    unsafe fn list<T>(&self, column: Column) -> &'a [T] {
        if self.is_null(column) {
            return &[];
        }
        let array = self.array(column);
        let begin: i32 = Self::value(array, 1, self.row);
        let end: i32 = Self::value(array, 1, self.row + 1);
        if begin == end {
            return &[];
        }
        let items = *(**array.children).buffers.add(1) as *const T;
        std::slice::from_raw_parts(items.add(begin as usize), (end - begin) as usize)
    }

    /// The items of a `list<uint64>` or spans value (begin | end << 32).
    pub fn list_u64(&self, column: Column) -> &'a [u64] {
        // SAFETY: the column has the type that was asked for.
        unsafe { self.list(column) }
    }

    /// The items of a `list<uint32>` value.
    pub fn list_u32(&self, column: Column) -> &'a [u32] {
        // SAFETY: as above.
        unsafe { self.list(column) }
    }
}

/// The selected rows of a batch, with what each was answered; `said` is empty where nobody was asked.
pub(crate) unsafe fn rows_of<'a>(batch: &'a sys::sluice_batch, said: &'a [Vec<Answer>]) -> impl Iterator<Item = Row<'a>> + 'a {
    (0..batch.n as usize).map(move |k| row_of(batch, said, k))
}

/// The k-th selected row.
pub(crate) unsafe fn row_of<'a>(batch: &'a sys::sluice_batch, said: &'a [Vec<Answer>], k: usize) -> Row<'a> {
    let row = if batch.rows.is_null() { k } else { *batch.rows.add(k) as usize };
    Row { array: &*batch.array, row, answers: said.get(k).map_or(&[], |answers| answers.as_slice()) }
}

// ---- builders ---------------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Fixed(usize),
    Text,
    List(usize),
}

/// A declared output column.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    kind: Kind,
    nullable: bool,
}

impl Declared {
    pub(crate) fn parse(name: &str, kind: &str) -> Result<Declared> {
        let (base, nullable) = match kind.strip_suffix('?') {
            Some(base) => (base, true),
            None => (kind, false),
        };
        let kind = match base {
            "bool" => Kind::Bool,
            "int8" | "uint8" => Kind::Fixed(1),
            "int16" | "uint16" => Kind::Fixed(2),
            "int32" | "uint32" | "float32" => Kind::Fixed(4),
            "int64" | "uint64" | "float64" => Kind::Fixed(8),
            "utf8" | "binary" | "json" => Kind::Text,
            "list<uint32>" | "list<int32>" | "list<float32>" => Kind::List(4),
            "list<uint64>" | "list<int64>" | "list<float64>" | "spans" => Kind::List(8),
            _ => {
                return Err(Error::new(
                    Code::Schema,
                    format!("the crate sluice can't build a column of the type {base}; it builds numbers, bool, utf8, binary, json, \
                             spans and lists of 32 and 64 bit numbers"),
                )
                .with_field(name))
            }
        };
        Ok(Declared { name: name.to_string(), kind, nullable })
    }
}

/// A place of an output column, in the order of `Plan::add`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output(pub(crate) usize);

/// A growing column.
struct Building {
    declared: Declared,
    n: usize,
    nulls: usize,
    ends: Vec<i32>,
    data: Vec<u8>,
    validity: Vec<u8>,
}

impl Building {
    fn new(declared: Declared) -> Building {
        Building { declared, n: 0, nulls: 0, ends: vec![0], data: Vec::new(), validity: Vec::new() }
    }

    fn mark(&mut self, there: bool) {
        if self.declared.nullable {
            if self.n % 8 == 0 {
                self.validity.push(0);
            }
            if there {
                self.validity[self.n / 8] |= 1 << (self.n % 8);
            }
        }
        self.nulls += usize::from(!there);
        self.n += 1;
    }

    fn wrong(&self, what: &str) -> Error {
        Error::internal(format!("{what} for the column '{}', which was declared with another type", self.declared.name))
    }

    fn fixed(&mut self, bytes: &[u8], what: &str) -> Result<()> {
        if self.declared.kind != Kind::Fixed(bytes.len()) {
            return Err(self.wrong(what));
        }
        self.data.extend_from_slice(bytes);
        self.mark(true);
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        if self.declared.kind != Kind::Bool {
            return Err(self.wrong("a bool"));
        }
        if self.n % 8 == 0 {
            self.data.push(0);
        }
        if value {
            self.data[self.n / 8] |= 1 << (self.n % 8);
        }
        self.mark(true);
        Ok(())
    }

    fn end(&mut self, unit: usize) -> Result<()> {
        let end = i32::try_from(self.data.len() / unit)
            .map_err(|_| Error::new(Code::Data, format!("the column '{}' would hold more than 2 GiB in one batch", self.declared.name)))?;
        self.ends.push(end);
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<()> {
        if self.declared.kind != Kind::Text {
            return Err(self.wrong("a text"));
        }
        self.data.extend_from_slice(bytes);
        self.end(1)?;
        self.mark(true);
        Ok(())
    }

    fn list(&mut self, bytes: impl Iterator<Item = u8>, unit: usize) -> Result<()> {
        if self.declared.kind != Kind::List(unit) {
            return Err(self.wrong("a list"));
        }
        self.data.extend(bytes);
        self.end(unit)?;
        self.mark(true);
        Ok(())
    }

    fn null(&mut self) -> Result<()> {
        if !self.declared.nullable {
            return Err(self.wrong("a null"));
        }
        match self.declared.kind {
            Kind::Bool if self.n % 8 == 0 => self.data.push(0),
            Kind::Bool => {}
            Kind::Fixed(width) => self.data.resize(self.data.len() + width, 0),
            Kind::Text => self.end(1)?,
            Kind::List(unit) => self.end(unit)?,
        }
        self.mark(false);
        Ok(())
    }

    fn into_array(self) -> sys::ArrowArray {
        let validity = if self.nulls > 0 { Some(self.validity) } else { None };
        let ends = self.ends.iter().flat_map(|end| end.to_ne_bytes()).collect();
        match self.declared.kind {
            Kind::Bool | Kind::Fixed(_) => array(self.n, self.nulls, vec![validity, Some(self.data)], Vec::new()),
            Kind::Text => array(self.n, self.nulls, vec![validity, Some(ends), Some(self.data)], Vec::new()),
            Kind::List(unit) => {
                let items = array(self.data.len() / unit, 0, vec![None, Some(self.data)], Vec::new());
                array(self.n, self.nulls, vec![validity, Some(ends)], vec![items])
            }
        }
    }
}

/// What an array's private_data owns. Buffers are of u64, so that they are aligned for every type.
struct Owned {
    _buffers: Vec<Vec<u64>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut sys::ArrowArray>,
}

unsafe extern "C" fn release(array: *mut sys::ArrowArray) {
    let owned = Box::from_raw((*array).private_data as *mut Owned);
    for child in &owned.children {
        if let Some(release) = (**child).release {
            release(*child);
        }
        drop(Box::from_raw(*child));
    }
    (*array).release = None;
}

fn array(n: usize, nulls: usize, buffers: Vec<Option<Vec<u8>>>, children: Vec<sys::ArrowArray>) -> sys::ArrowArray {
    let mut owned = Box::new(Owned {
        _buffers: Vec::new(),
        pointers: Vec::new(),
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
    });
    for buffer in buffers {
        match buffer {
            None => owned.pointers.push(std::ptr::null()),
            Some(bytes) => {
                // One word more, so that an empty buffer has an address too.
                let mut words = vec![0u64; bytes.len() / 8 + 1];
                // SAFETY: words holds at least as many bytes.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr() as *mut u8, bytes.len()) };
                owned.pointers.push(words.as_ptr() as *const c_void);
                owned._buffers.push(words);
            }
        }
    }
    sys::ArrowArray {
        length: n as i64,
        null_count: nulls as i64,
        offset: 0,
        n_buffers: owned.pointers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned.pointers.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(release),
        private_data: Box::into_raw(owned) as *mut c_void,
    }
}

/// Output rows, column by column: push one value for each column, then go on to the next row.
pub struct Rows {
    columns: Vec<Building>,
}

impl Rows {
    pub(crate) fn new(declared: &[Declared]) -> Rows {
        Rows { columns: declared.iter().cloned().map(Building::new).collect() }
    }

    fn column(&mut self, output: Output) -> Result<&mut Building> {
        let n = self.columns.len();
        self.columns.get_mut(output.0).ok_or_else(|| Error::internal(format!("output column {} of {n}", output.0)))
    }

    /// A value of a utf8 or json column.
    pub fn text(&mut self, output: Output, value: &str) -> Result<()> {
        self.column(output)?.text(value.as_bytes())
    }

    /// A value of a binary column.
    pub fn binary(&mut self, output: Output, value: &[u8]) -> Result<()> {
        self.column(output)?.text(value)
    }

    /// A value of an int64 column.
    pub fn int64(&mut self, output: Output, value: i64) -> Result<()> {
        self.column(output)?.fixed(&value.to_ne_bytes(), "an int64")
    }

    /// A value of a uint64 column.
    pub fn uint64(&mut self, output: Output, value: u64) -> Result<()> {
        self.column(output)?.fixed(&value.to_ne_bytes(), "a uint64")
    }

    /// A value of an int32 column.
    pub fn int32(&mut self, output: Output, value: i32) -> Result<()> {
        self.column(output)?.fixed(&value.to_ne_bytes(), "an int32")
    }

    /// A value of a float64 column.
    pub fn float64(&mut self, output: Output, value: f64) -> Result<()> {
        self.column(output)?.fixed(&value.to_ne_bytes(), "a float64")
    }

    /// A value of a float32 column.
    pub fn float32(&mut self, output: Output, value: f32) -> Result<()> {
        self.column(output)?.fixed(&value.to_ne_bytes(), "a float32")
    }

    /// A value of a bool column.
    pub fn bool(&mut self, output: Output, value: bool) -> Result<()> {
        self.column(output)?.bool(value)
    }

    /// A value of a `list<uint32>` column.
    pub fn list_u32(&mut self, output: Output, items: &[u32]) -> Result<()> {
        self.column(output)?.list(items.iter().flat_map(|item| item.to_ne_bytes()), 4)
    }

    /// A value of a `list<uint64>` or spans column.
    pub fn list_u64(&mut self, output: Output, items: &[u64]) -> Result<()> {
        self.column(output)?.list(items.iter().flat_map(|item| item.to_ne_bytes()), 8)
    }

    /// A null of a column declared with `?`.
    pub fn null(&mut self, output: Output) -> Result<()> {
        self.column(output)?.null()
    }

    /// Rows that are complete in the first `columns` columns; an error when one of those has more or fewer values.
    pub(crate) fn complete(&self, columns: usize) -> Result<usize> {
        let n = self.columns.first().map_or(0, |column| column.n);
        for column in &self.columns[..columns.min(self.columns.len())] {
            if column.n != n {
                return Err(Error::internal(format!(
                    "the column '{}' has {} values, '{}' has {n}: push one of each column for every row",
                    column.declared.name, column.n, self.columns[0].declared.name
                )));
            }
        }
        Ok(n)
    }

    /// The struct array that the host takes; release it if the host never gets it.
    pub(crate) fn take(&mut self) -> Result<sys::ArrowArray> {
        let n = self.complete(self.columns.len())?;
        let declared: Vec<Declared> = self.columns.iter().map(|column| column.declared.clone()).collect();
        let fresh = declared.into_iter().map(Building::new).collect();
        let columns: Vec<Building> = std::mem::replace(&mut self.columns, fresh);
        Ok(array(n, 0, vec![None], columns.into_iter().map(Building::into_array).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(rows: &mut Rows) -> sys::ArrowArray {
        rows.take().unwrap()
    }

    fn free(mut array: sys::ArrowArray) {
        // SAFETY: made here, released once.
        unsafe { array.release.unwrap()(&mut array) };
        assert!(array.release.is_none());
    }

    #[test]
    fn what_is_pushed_is_read_back() {
        let declared = [("t", "utf8?"), ("b", "bool"), ("i", "int64?"), ("f", "float64"), ("l", "list<uint64>"), ("k", "list<uint32>")];
        let declared: Vec<Declared> = declared.iter().map(|(name, kind)| Declared::parse(name, kind).unwrap()).collect();
        let mut rows = Rows::new(&declared);
        for k in 0..20u64 {
            if k % 3 == 0 {
                rows.null(Output(0)).unwrap();
                rows.null(Output(2)).unwrap();
            } else {
                rows.text(Output(0), &"é".repeat(k as usize)).unwrap();
                rows.int64(Output(2), -(k as i64)).unwrap();
            }
            rows.bool(Output(1), k % 2 == 1).unwrap();
            rows.float64(Output(3), k as f64 / 4.0).unwrap();
            rows.list_u64(Output(4), &vec![k; k as usize % 4]).unwrap();
            rows.list_u32(Output(5), &[k as u32, 1]).unwrap();
        }
        let array = built(&mut rows);
        assert_eq!((array.length, array.n_children, array.null_count), (20, 6, 0));
        for k in 0..20usize {
            let row = Row { array: &array, row: k, answers: &[] };
            assert_eq!(row.is_null(Column(0)), k % 3 == 0);
            assert_eq!(row.text(Column(0)), if k % 3 == 0 { String::new() } else { "é".repeat(k) });
            assert_eq!(row.int64(Column(2)), if k % 3 == 0 { 0 } else { -(k as i64) });
            assert_eq!(row.bool(Column(1)), k % 2 == 1);
            assert_eq!(row.float64(Column(3)), k as f64 / 4.0);
            assert_eq!(row.list_u64(Column(4)), vec![k as u64; k % 4]);
            assert_eq!(row.list_u32(Column(5)), [k as u32, 1]);
        }
        free(array);
        // The builder is empty again.
        let array = built(&mut rows);
        assert_eq!(array.length, 0);
        free(array);
    }

    #[test]
    fn mistakes_are_errors() {
        let mut rows = Rows::new(&[Declared::parse("a", "int64").unwrap(), Declared::parse("b", "utf8").unwrap()]);
        assert!(rows.text(Output(0), "x").is_err());
        assert!(rows.int32(Output(0), 1).is_err());
        assert!(rows.null(Output(1)).is_err());
        assert!(rows.int64(Output(2), 1).is_err());
        rows.int64(Output(0), 1).unwrap();
        assert!(rows.take().err().unwrap().to_string().contains("'b' has 0 values, 'a' has 1"));
        assert!(Declared::parse("c", "struct<a:int64>").unwrap_err().to_string().contains("can't build"));
    }
}
