//! ASCII armour (RFC 9580, section 6.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// The number of base64 digits per line. Go's reader refuses lines of more than 96.
const LINE: usize = 64;

/// An armoured block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The label, such as `PGP PUBLIC KEY BLOCK` or `PGP SIGNATURE`.
    pub(super) label: &'a str,
    pub(super) bytes: Vec<u8>,
}

/// The contents of an armoured text.
#[derive(Debug)]
pub(super) struct Armored<'a> {
    pub(super) blocks: Vec<Block<'a>>,
    /// Whether there is text other than blank lines outside the blocks.
    pub(super) other_text: bool,
}

/// The kinds of damage, as the ends of sentences.
const HEADERS: &str = "a line between BEGIN and the blank line is not \"Key: value\"";
const BASE64: &str = "it is not base64";
const CHECKSUM: &str = "the checksum does not match";
const UNFINISHED: &str = "the END line is missing or has another label";

/// Returns the label of the first block, if there is a block.
pub(super) fn first_label(text: &str) -> Option<&str> {
    text.lines().find_map(|line| label(line, BEGIN))
}

/// Reads every block, or returns the damage.
pub(super) fn read(text: &str) -> Result<Armored<'_>, &'static str> {
    let mut lines = text.lines().map(str::trim);
    let mut armored = Armored {
        blocks: Vec::new(),
        other_text: false,
    };
    while let Some(line) = lines.next() {
        match label(line, BEGIN) {
            Some(label) => armored.blocks.push(block(label, &mut lines)?),
            None => armored.other_text |= !line.is_empty(),
        }
    }
    Ok(armored)
}

fn block<'a>(
    block_label: &'a str,
    lines: &mut impl Iterator<Item = &'a str>,
) -> Result<Block<'a>, &'static str> {
    loop {
        match lines.next() {
            Some("") => break,
            Some(line) if line.contains(": ") || line.ends_with(':') => {}
            Some(_) => return Err(HEADERS),
            None => return Err(UNFINISHED),
        }
    }
    let mut digits = String::new();
    let mut checksum = None;
    for line in lines {
        if let Some(end) = label(line, END) {
            if end != block_label {
                return Err(UNFINISHED);
            }
            let bytes = decode(&digits, checksum)?;
            return Ok(Block {
                label: block_label,
                bytes,
            });
        }
        match line.strip_prefix('=') {
            Some(rest) if rest.len() == 4 && checksum.is_none() => checksum = Some(rest),
            _ if checksum.is_none() || line.is_empty() => digits.push_str(line),
            _ => return Err(BASE64),
        }
    }
    Err(UNFINISHED)
}

fn label<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    line.trim().strip_prefix(prefix)?.strip_suffix(DASHES)
}

fn decode(digits: &str, checksum: Option<&str>) -> Result<Vec<u8>, &'static str> {
    let bytes = STANDARD.decode(digits).map_err(|_| BASE64)?;
    if let Some(checksum) = checksum {
        let expected = STANDARD.decode(checksum).map_err(|_| CHECKSUM)?;
        if expected != crc24(&bytes) {
            return Err(CHECKSUM);
        }
    }
    Ok(bytes)
}

/// Writes one block in a form that every client reads: no headers, a blank line, a checksum.
pub(super) fn write(label: &str, bytes: &[u8]) -> String {
    let mut text = format!("{BEGIN}{label}{DASHES}\n\n");
    for (index, digit) in STANDARD.encode(bytes).chars().enumerate() {
        if index > 0 && index.is_multiple_of(LINE) {
            text.push('\n');
        }
        text.push(digit);
    }
    let checksum = STANDARD.encode(crc24(bytes));
    text.push_str(&format!("\n={checksum}\n{END}{label}{DASHES}\n"));
    text
}

/// Computes the checksum of RFC 9580, section 6.1.1.
fn crc24(bytes: &[u8]) -> [u8; 3] {
    const INITIAL: u32 = 0x00B7_04CE;
    const GENERATOR: u32 = 0x0186_4CFB;
    let mut crc = INITIAL;
    for byte in bytes {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x0100_0000 != 0 {
                crc ^= GENERATOR;
            }
        }
    }
    let [_, high, middle, low] = crc.to_be_bytes();
    [high, middle, low]
}
