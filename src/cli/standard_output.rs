//! Whether the process was started with a standard output.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in the place of one that is closed (`assize ... >&-`), so that every
//! write succeeds and nobody hears that the result is gone. Only what runs earlier still sees the difference.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed at the start.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: `fcntl` with `F_GETFD` reads a flag of the descriptor and needs nothing of Rust's runtime.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1 {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// The loader calls what this section lists before it enters the program.
// SAFETY: the section holds pointers to functions of the C ABI, which may be called without arguments.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
