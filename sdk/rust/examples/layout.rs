//! Prints the layout of the mirrored structs; a test compares it with the C compiler's.
fn main() {
    print!("{}", sluice::sys::layout());
}
