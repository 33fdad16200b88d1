//! An allocator for the benchmarks. Each allocation has the same cost.
//!
//! The cost of the system's allocator depends on earlier allocations and their order: the way that a
//! benchmark's arguments were built would change its result by thousands of instructions. Here each
//! allocation takes the next bytes of a large piece of memory, and nothing is ever freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of bytes requested from the system at once, unless a single allocation needs more. Physical
/// memory backs only the bytes that are written.
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

    /// Returns the address for `layout`, if the piece has room for it.
    fn place(&self, layout: Layout) -> Option<usize> {
        let place = self.next.load(Relaxed).next_multiple_of(layout.align());
        (place + layout.size() <= self.end.load(Relaxed)).then_some(place)
    }
}

// SAFETY: benchmarks have one thread. Each address is returned once: `next` only grows within a piece, and a
// piece has the size that was requested from the system.
#[expect(unsafe_code, reason = "implementing an allocator is unsafe")]
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
        // SAFETY: `size` is not zero, and the alignment comes from a valid layout.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: the two allocations are distinct, and both have at least the copied number of bytes.
            unsafe { old.copy_to_nonoverlapping(new, layout.size().min(size)) };
        }
        new
    }
}
