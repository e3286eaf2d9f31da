//! Ending a forward pass that nobody waits for any more.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A wish to end one forward pass before it is done. Whoever started the pass shares it with whoever may ask.
#[derive(Default)]
pub struct Interrupt {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: bool,
    end: Option<Box<dyn Fn() + Send>>,
}

impl Interrupt {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the end, of the running pass and of any that would start later.
    pub fn ask(&self) {
        let mut state = self.state();
        state.asked = true;
        if let Some(end) = &state.end {
            end();
        }
    }

    /// Whether the end was asked for.
    pub fn is_asked(&self) -> bool {
        self.state().asked
    }

    /// Runs `pass`, which `end` ends from another thread; `None` where the end was asked for before the start.
    pub fn during<T>(&self, end: impl Fn() + Send + 'static, pass: impl FnOnce() -> T) -> Option<T> {
        {
            let mut state = self.state();
            if state.asked {
                return None;
            }
            state.end = Some(Box::new(end));
        }
        let done = pass();
        self.state().end = None;
        Some(done)
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt")
            .field("asked", &self.is_asked())
            .finish()
    }
}
