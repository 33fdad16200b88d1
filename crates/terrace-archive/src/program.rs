//! The system and the machine that a program was built for, by its first bytes.

/// The bytes at the start of a file that decide. The header of a PE file stands below 1 KiB with every linker.
pub const HEAD_BYTES: u64 = 1024;

/// A program in a known format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    format: &'static str,
    /// The machine, by Go's name, if it is known.
    machine: Option<&'static str>,
}

const ELF: &str = "ELF";
const MACH_O: &str = "Mach-O (macOS)";
const PE: &str = "PE (Windows)";

impl Program {
    /// Returns the program that a file starts with; `None` if the format is unknown, such as that of a script.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        let (format, machine) = match head {
            [0x7f, b'E', b'L', b'F', ..] => (ELF, elf_machine(head)),
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => (MACH_O, mach_machine(head)),
            // For several machines.
            [0xca, 0xfe, 0xba, 0xbe, ..] => (MACH_O, None),
            [b'M', b'Z', ..] => (PE, pe_machine(head)),
            _ => return None,
        };
        Some(Self { format, machine })
    }

    /// Returns whether the program may run on a platform by its own format and machine: not by an emulation.
    pub(super) fn is_for(&self, os: &str, arch: &str) -> bool {
        let format = match os {
            "windows" => PE,
            "darwin" | "ios" => MACH_O,
            _ => ELF,
        };
        self.format == format && self.machine.is_none_or(|machine| machine == arch)
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.format)?;
        match self.machine {
            Some(machine) => write!(f, " for {machine}"),
            None => Ok(()),
        }
    }
}

/// Returns a little-endian number.
fn number(head: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = head.get(at..)?.get(..length)?.iter().rev();
    Some(bytes.fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// <https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>, as Go's `debug/elf` numbers the machines.
fn elf_machine(head: &[u8]) -> Option<&'static str> {
    Some(match number(head, 18, 2)? {
        3 => "386",
        21 => "ppc64le",
        40 => "arm",
        62 => "amd64",
        183 => "arm64",
        243 => "riscv64",
        _ => return None,
    })
}

/// `mach/machine.h`
fn mach_machine(head: &[u8]) -> Option<&'static str> {
    Some(match number(head, 4, 4)? {
        7 => "386",
        12 => "arm",
        0x0100_0007 => "amd64",
        0x0100_000c => "arm64",
        _ => return None,
    })
}

/// <https://learn.microsoft.com/windows/win32/debug/pe-format>
fn pe_machine(head: &[u8]) -> Option<&'static str> {
    let at = usize::try_from(number(head, 0x3c, 4)?).ok()?;
    if head.get(at..)?.get(..4)? != b"PE\0\0" {
        return None;
    }
    Some(match number(head, at + 4, 2)? {
        0x014c => "386",
        0x01c0 | 0x01c4 => "arm",
        0x8664 => "amd64",
        0xaa64 => "arm64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        head[18] = machine;
        head
    }

    fn mach(cpu: u32) -> Vec<u8> {
        [0xfeed_facf, cpu].map(u32::to_le_bytes).concat()
    }

    fn pe(machine: u16) -> Vec<u8> {
        let mut head = vec![0; 256];
        head[..2].copy_from_slice(b"MZ");
        head[0x3c] = 0x80;
        head[0x80..0x84].copy_from_slice(b"PE\0\0");
        head[0x84..0x86].copy_from_slice(&machine.to_le_bytes());
        head
    }

    #[test]
    fn the_platform_follows_from_the_first_bytes() {
        for (head, text, platforms, others) in [
            (
                elf(62),
                "ELF for amd64",
                "linux_amd64 freebsd_amd64",
                "linux_arm64 windows_amd64",
            ),
            (elf(183), "ELF for arm64", "android_arm64", "darwin_arm64"),
            (elf(9), "ELF", "linux_mips linux_any", "windows_386"),
            (
                mach(0x0100_000c),
                "Mach-O (macOS) for arm64",
                "darwin_arm64",
                "darwin_amd64 linux_arm64",
            ),
            (
                b"\xca\xfe\xba\xbe\0\0\0\x02".to_vec(),
                "Mach-O (macOS)",
                "darwin_arm64 darwin_amd64",
                "linux_amd64",
            ),
            (
                pe(0x8664),
                "PE (Windows) for amd64",
                "windows_amd64",
                "windows_arm64 linux_amd64",
            ),
            (
                pe(0x014c),
                "PE (Windows) for 386",
                "windows_386",
                "windows_amd64",
            ),
            (
                b"MZ".to_vec(),
                "PE (Windows)",
                "windows_arm64",
                "linux_arm64",
            ),
        ] {
            let program = Program::read(&head).unwrap();
            assert_eq!(program.to_string(), text);
            let is_for = |platform: &str| {
                let (os, arch) = platform.split_once('_').unwrap();
                program.is_for(os, arch)
            };
            assert!(platforms.split(' ').all(is_for), "{text}");
            assert!(!others.split(' ').any(is_for), "{text}");
        }
    }

    #[test]
    fn scripts_and_cut_files_are_no_programs_of_a_known_platform() {
        for head in [&b""[..], b"#!/bin/sh\n", b"\x7fEL", b"{}"] {
            assert_eq!(Program::read(head), None, "{head:?}");
        }
    }
}
