//! Memory that runs out is an error of the stage, not the end of the process, as far as that is possible: Rust's standard library ends
//! the process when an allocation fails. So `Memory` serves what the system refuses from a small reserve and remembers it; the call
//! that the host made then ends with `Code::NoMemory`, and what it had made is freed. One allocation larger than the reserve still ends
//! the process (isolated, which plugins are by default, that is the stage's child).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// The allocator: `#[global_allocator] static MEMORY: sluice::Memory = sluice::Memory;`
pub struct Memory;

const RESERVE: usize = 256 << 10;

#[repr(align(64))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

// SAFETY: pieces are handed out once each, by an atomic counter.
unsafe impl Sync for Reserve {}

static PLACE: Reserve = Reserve(UnsafeCell::new([0; RESERVE]));
/// Bytes handed out << 32 | pieces in use. When none is in use the reserve is whole again.
static USED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// Forgets failures of earlier calls of this thread.
pub(crate) fn begin() {
    FAILED.with(|failed| failed.set(false));
}

/// Whether the system has refused memory since `begin`.
pub(crate) fn failed() -> bool {
    FAILED.with(|failed| failed.get())
}

fn base() -> usize {
    PLACE.0.get() as usize
}

fn reserved(p: *mut u8) -> bool {
    (p as usize).wrapping_sub(base()) < RESERVE
}

fn take(layout: Layout) -> *mut u8 {
    let _ = FAILED.try_with(|failed| failed.set(true));
    let mut used = USED.load(Ordering::Acquire);
    loop {
        let begin = ((base() + (used >> 32) as usize + layout.align() - 1) & !(layout.align() - 1)) - base();
        let end = match begin.checked_add(layout.size()) {
            Some(end) if end <= RESERVE => end,
            _ => return std::ptr::null_mut(),
        };
        let next = (end as u64) << 32 | ((used & 0xffff_ffff) + 1);
        match USED.compare_exchange_weak(used, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return (base() + begin) as *mut u8,
            Err(now) => used = now,
        }
    }
}

fn put_back() {
    let mut used = USED.load(Ordering::Acquire);
    loop {
        let next = if used & 0xffff_ffff == 1 { 0 } else { used - 1 };
        match USED.compare_exchange_weak(used, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => used = now,
        }
    }
}

// SAFETY: pieces of the reserve are disjoint, aligned, and as large as asked for; all else is the system allocator's.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let p = System.alloc(layout);
        if p.is_null() {
            take(layout)
        } else {
            p
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let p = System.alloc_zeroed(layout);
        if !p.is_null() {
            return p;
        }
        let p = take(layout);
        if !p.is_null() {
            std::ptr::write_bytes(p, 0, layout.size());
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if reserved(p) {
            put_back();
        } else {
            System.dealloc(p, layout);
        }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !reserved(p) {
            let moved = System.realloc(p, layout, size);
            if !moved.is_null() {
                return moved;
            }
        }
        // The old piece stays as it is when there is no room.
        let wanted = Layout::from_size_align_unchecked(size, layout.align());
        let moved = if reserved(p) { self.alloc(wanted) } else { take(wanted) };
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(p, moved, layout.size().min(size));
            self.dealloc(p, layout);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_whole_again_when_all_is_given_back() {
        begin();
        assert!(!failed());
        let layout = Layout::from_size_align(1000, 64).unwrap();
        // SAFETY: pieces are given back with their layouts.
        unsafe {
            let (a, b) = (take(layout), take(Layout::new::<u8>()));
            assert!(failed() && reserved(a) && reserved(b) && a as usize % 64 == 0 && b as usize >= a as usize + 1000);
            let c = Memory.realloc(a, layout, 5);
            assert!(!reserved(c));
            Memory.dealloc(c, Layout::from_size_align(5, 64).unwrap());
            assert!(take(Layout::from_size_align(RESERVE, 1).unwrap()).is_null());
            Memory.dealloc(b, Layout::new::<u8>());
            assert_eq!(USED.load(Ordering::Acquire), 0);
            let whole = take(Layout::from_size_align(RESERVE, 1).unwrap());
            assert!(!whole.is_null());
            Memory.dealloc(whole, Layout::from_size_align(RESERVE, 1).unwrap());
        }
        begin();
        assert!(!failed());
    }
}
