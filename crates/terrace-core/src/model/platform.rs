//! The operating system and architecture that a package runs on.

use std::fmt;
use std::str::FromStr;

use crate::limits;

/// Maximum length of each half of a platform. The longest that Go knows is `loongarch64`; 16 leaves room.
const PLATFORM_PART_BYTES: usize = 16;

/// The platforms that clients run on: those of Go (`go tool dist list` of Go 1.25), and those that earlier versions had.
const KNOWN: &str = "\
    aix_ppc64 android_386 android_amd64 android_arm android_arm64 darwin_386 darwin_amd64 darwin_arm darwin_arm64 \
    dragonfly_386 dragonfly_amd64 freebsd_386 freebsd_amd64 freebsd_arm freebsd_arm64 freebsd_riscv64 illumos_amd64 \
    ios_amd64 ios_arm64 js_wasm linux_386 linux_amd64 linux_arm linux_arm64 linux_loong64 linux_mips linux_mips64 \
    linux_mips64le linux_mipsle linux_ppc64 linux_ppc64le linux_riscv64 linux_s390x netbsd_386 netbsd_amd64 netbsd_arm \
    netbsd_arm64 openbsd_386 openbsd_amd64 openbsd_arm openbsd_arm64 openbsd_mips64 openbsd_ppc64 openbsd_riscv64 \
    plan9_386 plan9_amd64 plan9_arm solaris_amd64 wasip1_wasm windows_386 windows_amd64 windows_arm windows_arm64";

/// Other names of operating systems and architectures, each with Go's. `all` is GoReleaser's for a universal binary.
const OTHER_NAMES: &str = "\
    mac=darwin macos=darwin macosx=darwin osx=darwin sunos=solaris win=windows win32=windows win64=windows \
    aarch64=arm64 armv8=arm64 armel=arm armhf=arm armv6hf=arm armv6l=arm armv7l=arm i386=386 i486=386 i586=386 i686=386 \
    ia32=386 x86=386 x64=amd64 x86_64=amd64 all=amd64,arm64 universal=amd64,arm64 loongarch64=loong64 mips64el=mips64le \
    mipsel=mipsle ppc64el=ppc64le riscv=riscv64";

/// A target platform, written `os_arch`, such as `linux_amd64`.
///
/// Each half is 1 to 16 lower-case letters and digits. Exactly one `_` joins them (clients.md 2.4.1), so
/// neither half may contain one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    os: String,
    arch: String,
}

/// The error for a text that is not a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// A half is not a valid keyword.
    #[error("{what} {value:?} must be 1 to {max} lower-case letters and digits", max = PLATFORM_PART_BYTES)]
    Part {
        /// Which half: the operating system or the architecture.
        what: &'static str,
        /// The rejected text.
        value: String,
    },
    /// The text does not contain a `_`.
    #[error("platform {0:?} must be written os_arch, such as linux_amd64")]
    Shape(String),
}

/// The error for a platform that Go does not have, so that no client asks for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no client asks for the platform {name:?}{}", asked(.meant))]
pub struct UnknownPlatform {
    /// The name of the platform.
    pub name: String,
    /// The platforms that the name probably means: of a binary for several architectures, all of them.
    pub meant: Vec<Platform>,
}

fn asked(meant: &[Platform]) -> String {
    match meant {
        [] => ": it is none of Go's (GOOS_GOARCH, such as linux_amd64)".to_owned(),
        meant => {
            let names: Vec<String> = meant.iter().map(ToString::to_string).collect();
            format!("; they ask for {}", names.join(" and "))
        }
    }
}

impl Platform {
    /// Creates a platform from its halves.
    ///
    /// # Errors
    /// If one of them is not a valid keyword.
    pub fn new(os: &str, arch: &str) -> Result<Self, PlatformError> {
        Ok(Self {
            os: part("operating system", os)?,
            arch: part("architecture", arch)?,
        })
    }

    /// Returns the platform that a part of a file name stands for, or the error that clients do not know it by that name.
    /// `None` if the text is no name of a platform at all.
    pub fn named(text: &str) -> Option<Result<Self, UnknownPlatform>> {
        if let Some(platform) = text.parse().ok().filter(Self::is_known) {
            return Some(Ok(platform));
        }
        let lower = text.to_ascii_lowercase().replace('-', "_");
        let (os, arch) = lower.split_once('_')?;
        let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (system, architectures) = (system(os), architectures(arch));
        // `windows_installer.zip` and `linux_amd64.spdx.zip` are other files.
        let is_platform = match (&system, &architectures) {
            (Some(_), None) => is_word(arch) && arch.bytes().any(|byte| byte.is_ascii_digit()),
            (None, Some(_)) => is_word(os),
            (system, _) => system.is_some(),
        };
        let architectures = architectures.iter().flat_map(|names| names.split(','));
        let meant = architectures.filter_map(|arch| Self::new(system?, arch).ok());
        is_platform.then(|| {
            Err(UnknownPlatform {
                name: text.chars().take(limits::NAME_BYTES).collect(),
                meant: meant.filter(Self::is_known).collect(),
            })
        })
    }

    /// Checks that clients run on this platform.
    ///
    /// # Errors
    /// If Go has no such platform.
    pub fn known(&self) -> Result<(), UnknownPlatform> {
        match Self::named(&self.to_string()) {
            Some(named) => named.map(|_| ()),
            None => Err(UnknownPlatform {
                name: self.to_string(),
                meant: Vec::new(),
            }),
        }
    }

    fn is_known(&self) -> bool {
        KNOWN.split(' ').any(|known| known == self.to_string())
    }

    /// Returns the operating system, such as `linux`.
    pub fn os(&self) -> &str {
        &self.os
    }

    /// Returns the architecture, such as `amd64`.
    pub fn arch(&self) -> &str {
        &self.arch
    }
}

fn other(name: &str) -> Option<&'static str> {
    let mut others = OTHER_NAMES.split(' ').filter_map(|it| it.split_once('='));
    others
        .find(|(other, _)| *other == name)
        .map(|(_, known)| known)
}

/// Returns Go's name of an operating system.
fn system(name: &str) -> Option<&'static str> {
    let mut known = KNOWN.split(' ').filter_map(|it| it.split_once('_'));
    let known = known.find(|(os, _)| *os == name).map(|(os, _)| os);
    known.or_else(|| other(name))
}

/// Returns Go's name of an architecture, or several names with commas.
fn architectures(name: &str) -> Option<&'static str> {
    let exact = |name: &str| {
        let mut known = KNOWN.split(' ').filter_map(|it| it.split_once('_'));
        let known = known.find(|(_, arch)| *arch == name).map(|(_, arch)| arch);
        known.or_else(|| other(name))
    };
    // The variants of GoReleaser, such as `armv7`, `amd64_v1` and `mips_softfloat`.
    let without_digits = name.trim_end_matches(|byte: char| byte.is_ascii_digit());
    let mut ends = ["softfloat", "hardfloat"].iter();
    let base = without_digits
        .strip_suffix('v')
        .or_else(|| ends.find_map(|end| name.strip_suffix(end)));
    exact(name).or_else(|| exact(base?.trim_end_matches('_')))
}

fn part(what: &'static str, value: &str) -> Result<String, PlatformError> {
    let fits = (1..=PLATFORM_PART_BYTES).contains(&value.len())
        && value
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if fits {
        Ok(value.to_owned())
    } else {
        let value = value.chars().take(limits::NAME_BYTES).collect();
        Err(PlatformError::Part { what, value })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        match text.split_once('_') {
            Some((os, arch)) => Self::new(os, arch),
            None => Err(PlatformError::Shape(
                text.chars().take(limits::NAME_BYTES).collect(),
            )),
        }
    }
}

terrace_base::text_serde!(Platform);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_two_keywords_joined_by_one_underscore() {
        let platform: Platform = "linux_amd64".parse().unwrap();
        assert_eq!((platform.os(), platform.arch()), ("linux", "amd64"));
        assert_eq!(platform.to_string(), "linux_amd64");
        for text in [
            "linux",
            "linux_",
            "_amd64",
            "linux_amd64_v1",
            "Linux_amd64",
            "linux_arm/64",
        ] {
            assert!(text.parse::<Platform>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_name_that_no_client_asks_for_has_the_one_that_they_do() {
        for (name, meant) in [
            ("macos_amd64", "darwin_amd64"),
            ("osx_arm64", "darwin_arm64"),
            ("linux_x86_64", "linux_amd64"),
            ("Linux_x86_64", "linux_amd64"),
            ("linux-amd64", "linux_amd64"),
            ("Windows_i386", "windows_386"),
            ("win_x64", "windows_amd64"),
            ("linux_aarch64", "linux_arm64"),
            ("linux_arm64v8", "linux_arm64"),
            ("linux_armv6", "linux_arm"),
            ("linux_armv7", "linux_arm"),
            ("linux_amd64_v1", "linux_amd64"),
            ("linux_amd64v3", "linux_amd64"),
            ("linux_mips64le_softfloat", "linux_mips64le"),
            ("darwin_all", "darwin_amd64 darwin_arm64"),
            ("darwin_universal", "darwin_amd64 darwin_arm64"),
            ("linux_sparc64", ""),
            ("haiku_amd64", ""),
            ("darwin_s390x", ""),
        ] {
            let found = Platform::named(name).unwrap().unwrap_err();
            let found: Vec<String> = found.meant.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), meant, "{name}");
        }
        for name in ["linux_amd64", "darwin_386", "linux_loong64", "windows_arm"] {
            assert_eq!(Platform::named(name), Some(Ok(name.parse().unwrap())));
        }
        for name in [
            "src",
            "docs",
            "linux",
            "linux_amd64.spdx",
            "linux_amd64_debug",
            "windows_installer",
            "some_docs",
        ] {
            assert_eq!(Platform::named(name), None, "{name}");
        }
        let unknown: Platform = "some_docs".parse().unwrap();
        let error = unknown.known().unwrap_err().to_string();
        assert!(
            error.contains("\"some_docs\": it is none of Go's"),
            "{error}"
        );
    }
}
