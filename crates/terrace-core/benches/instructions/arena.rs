//! Memory for the benchmarks, at the same price wherever it is taken.
//!
//! What the system's allocator takes depends on what was allocated and freed before, in what order: a benchmark
//! would tell of how its arguments were made, by thousands of instructions. Here each allocation takes the next
//! bytes of a large piece, and nothing is ever given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What is taken of the system at once, in bytes, unless somebody needs more. It is backed by memory only
/// where it is written to.
const PIECE: usize = 256 << 20;

pub(crate) struct Arena {
    next: AtomicUsize,
    end: AtomicUsize,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }

    /// Where `layout` has its place, if there is room in the piece.
    fn place(&self, layout: Layout) -> Option<usize> {
        let place = self.next.load(Relaxed).next_multiple_of(layout.align());
        (place + layout.size() <= self.end.load(Relaxed)).then_some(place)
    }
}

// SAFETY: benchmarks have one thread. Every place is taken once: `next` only grows within a piece, and a
// piece is as large as the system was asked for.
#[expect(unsafe_code, reason = "an allocator is unsafe to be one")]
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.place(layout).is_none() {
            let size = PIECE.max(layout.size() + layout.align());
            // SAFETY: the size is not zero.
            let piece = unsafe { System.alloc(Layout::from_size_align_unchecked(size, 16)) };
            if piece.is_null() {
                return null_mut();
            }
            self.next.store(piece.expose_provenance(), Relaxed);
            self.end.store(piece.addr() + size, Relaxed);
        }
        let Some(place) = self.place(layout) else {
            return null_mut();
        };
        self.next.store(place + layout.size(), Relaxed);
        std::ptr::with_exposed_provenance_mut(place)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let end = old.addr() + layout.size();
        let is_last = end == self.next.load(Relaxed);
        if is_last && old.addr() + size <= self.end.load(Relaxed) {
            self.next.store(old.addr() + size, Relaxed);
            return old;
        }
        // SAFETY: `size` is not zero, and the alignment is that of a layout.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: they are two allocations, and as much is copied as both have.
            unsafe { old.copy_to_nonoverlapping(new, layout.size().min(size)) };
        }
        new
    }
}
