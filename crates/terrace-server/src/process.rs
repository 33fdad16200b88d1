//! The limits and rights of the process.

use crate::limits::{CONNECTIONS, OTHER_FILES};

/// Makes the files and directories that the process creates from now on accessible to its own user alone, on systems with
/// such rights.
pub fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Allows the process as many open files as all connections need, or as the system permits. Returns the number of connections
/// for which they suffice.
pub(crate) fn connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        let needed = u64::try_from(2 * CONNECTIONS + OTHER_FILES).unwrap_or(u64::MAX);
        let current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        let raised = Rlimit { current, ..limit };
        if limit.current.is_some()
            && limit.current < current
            && setrlimit(Resource::Nofile, raised).is_ok()
        {
            limit = raised;
        }
        limit.current.map_or(CONNECTIONS, for_files)
    }
    #[cfg(not(unix))]
    CONNECTIONS
}

#[cfg(unix)]
fn for_files(files: u64) -> usize {
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    (files.saturating_sub(OTHER_FILES) / 2).clamp(1, CONNECTIONS)
}

#[cfg(test)]
#[cfg(unix)]
#[test]
fn each_connection_has_two_files() {
    let connections = [256, 1_024, 65_536].map(for_files);
    assert_eq!(connections, [64, 448, CONNECTIONS]);
}
