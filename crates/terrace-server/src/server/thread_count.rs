//! The number of threads of a server.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::thread::available_parallelism;

use crate::limits::THREADS;

/// A number of threads, [`THREADS`] at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCount(NonZeroUsize);

/// The reason why a text is no number of threads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThreadCountError {
    /// It is no number, or zero.
    #[error("{0:?} is no number from 1 on")]
    NoNumber(String),
    /// It is a higher number than any machine has use for.
    #[error(
        "at most {THREADS}: each thread answers many requests at once, and more threads than cores only take memory and files"
    )]
    TooMany,
}

impl ThreadCount {
    /// Returns the number of cores; one if it is unknown.
    pub(super) fn of_cores() -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let cores = NonZeroUsize::new(cores.min(THREADS));
        Self(cores.unwrap_or(NonZeroUsize::MIN))
    }

    /// Returns the number.
    pub fn get(self) -> usize {
        self.0.get()
    }
}

impl FromStr for ThreadCount {
    type Err = ThreadCountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number: NonZeroUsize = text
            .parse()
            .map_err(|_| ThreadCountError::NoNumber(text.to_owned()))?;
        match number.get() <= THREADS {
            true => Ok(Self(number)),
            false => Err(ThreadCountError::TooMany),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_threads_is_bounded() {
        let parse = |text: &str| text.parse::<ThreadCount>().map(ThreadCount::get);
        assert_eq!(parse("1"), Ok(1));
        assert_eq!(parse("256"), Ok(256));
        assert_eq!(parse("257"), Err(ThreadCountError::TooMany));
        assert_eq!(parse("100000"), Err(ThreadCountError::TooMany));
        for text in ["0", "-1", "x", "", "1.5"] {
            let refused = ThreadCountError::NoNumber(text.to_owned());
            assert_eq!(parse(text), Err(refused));
        }
        assert!(ThreadCount::of_cores().get() >= 1);
    }
}
