//! Random texts that cannot be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::Failure;

/// Returns 43 random characters: letters, digits, dashes and underscores.
///
/// # Errors
/// This machine has no random numbers.
pub fn text() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Local(format!("this machine has no random numbers: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
