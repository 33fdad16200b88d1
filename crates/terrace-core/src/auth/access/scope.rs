//! The scopes of a token.

use std::fmt;
use std::str::FromStr;

use crate::limits;
use crate::model::owner::{Owner, OwnerPattern};
use terrace_base::sort;

/// A single scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `admin`: do everything.
    Admin,
    /// `backup`: copy everything: read all stored documents, archives and the audit log, and all packages.
    Backup,
    /// `read`: read everything.
    Read,
    /// `read:acme`: read the packages of these owners.
    ReadOf(OwnerPattern),
    /// `publish:acme`: publish packages of these owners, and read them.
    Publish(OwnerPattern),
    /// `admin:acme`: administer these owners: their packages, keys, tokens and rules; and publish and read there.
    AdminOf(OwnerPattern),
}

/// The scopes of a token: at least one, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Sorts and deduplicates the scopes.
    ///
    /// # Errors
    /// If there are none, or too many.
    pub fn new(mut scopes: Vec<Scope>) -> Result<Self, String> {
        sort::sort(&mut scopes);
        scopes.dedup();
        match scopes.len() {
            0 => Err(format!("a token needs a scope: {KINDS}")),
            count if count > limits::SCOPES => {
                Err(format!("a token has at most {} scopes", limits::SCOPES))
            }
            _ => Ok(Self(scopes)),
        }
    }

    /// Creates a list without the scopes that others of it cover.
    ///
    /// # Errors
    /// If there are none, or too many.
    pub fn united(scopes: Vec<Scope>) -> Result<Self, String> {
        Self::new(without_covered(scopes))
    }

    /// Returns the scopes for reading that these include, and no others.
    pub fn to_read(&self) -> Self {
        let reading = self.0.iter().map(|scope| match scope {
            Scope::Admin | Scope::Backup | Scope::Read => Scope::Read,
            Scope::ReadOf(owners) | Scope::Publish(owners) | Scope::AdminOf(owners) => {
                Scope::ReadOf(owners.clone())
            }
        });
        Self(without_covered(reading.collect()))
    }

    /// Returns whether everything is allowed.
    pub fn allow_all(&self) -> bool {
        self.cover(&Scope::Admin)
    }

    /// Returns whether everything may be read.
    pub fn allow_reading_all(&self) -> bool {
        self.cover(&Scope::Read)
    }

    /// Returns whether everything that is stored may be copied.
    pub fn allow_backups(&self) -> bool {
        self.cover(&Scope::Backup)
    }

    /// Returns whether the packages of this owner may be read.
    pub fn allow_reading(&self, owner: &Owner) -> bool {
        self.0.iter().any(|scope| match scope {
            Scope::Admin | Scope::Backup | Scope::Read => true,
            Scope::ReadOf(owners) | Scope::Publish(owners) | Scope::AdminOf(owners) => {
                owners.includes(owner)
            }
        })
    }

    /// Returns whether packages of this owner may be published.
    pub fn allow_publishing(&self, owner: &Owner) -> bool {
        self.0.iter().any(|scope| match scope {
            Scope::Admin => true,
            Scope::Publish(owners) | Scope::AdminOf(owners) => owners.includes(owner),
            Scope::Backup | Scope::Read | Scope::ReadOf(_) => false,
        })
    }

    /// Returns whether this owner may be administered.
    pub fn allow_administering(&self, owner: &Owner) -> bool {
        self.0.iter().any(|scope| match scope {
            Scope::Admin => true,
            Scope::AdminOf(owners) => owners.includes(owner),
            Scope::Backup | Scope::Read | Scope::ReadOf(_) | Scope::Publish(_) => false,
        })
    }

    /// Returns whether any owner may be administered.
    pub fn allow_administering_any(&self) -> bool {
        let administers = |scope: &Scope| matches!(scope, Scope::Admin | Scope::AdminOf(_));
        self.0.iter().any(administers)
    }

    /// Returns whether these scopes allow publishing for any owner.
    pub fn allow_publishing_any(&self) -> bool {
        let publishes = |scope: &Scope| matches!(scope, Scope::Publish(_));
        self.allow_administering_any() || self.0.iter().any(publishes)
    }

    /// Returns whether these scopes allow everything that `scope` allows.
    pub fn cover(&self, scope: &Scope) -> bool {
        self.0.iter().any(|own| own.covers(scope))
    }

    /// Iterates over the scopes.
    pub fn iter(&self) -> impl Iterator<Item = &Scope> {
        self.0.iter()
    }
}

fn without_covered(mut scopes: Vec<Scope>) -> Vec<Scope> {
    sort::sort(&mut scopes);
    scopes.dedup();
    let is_covered = |scope: &Scope| {
        let mut others = scopes.iter().filter(|other| *other != scope);
        others.any(|other| other.covers(scope))
    };
    let needed = scopes.iter().filter(|scope| !is_covered(scope));
    needed.cloned().collect()
}

impl Scope {
    /// Returns the owners whose packages the scope is about, unless it is about all.
    pub fn owners(&self) -> Option<&OwnerPattern> {
        match self {
            Self::ReadOf(owners) | Self::Publish(owners) | Self::AdminOf(owners) => Some(owners),
            Self::Admin | Self::Backup | Self::Read => None,
        }
    }

    /// Returns whether this scope allows everything that another one allows.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Admin, _)
            | (Self::Backup, Self::Backup | Self::Read | Self::ReadOf(_))
            | (Self::Read, Self::Read | Self::ReadOf(_)) => true,
            (Self::ReadOf(own) | Self::Publish(own) | Self::AdminOf(own), Self::ReadOf(owners))
            | (Self::Publish(own) | Self::AdminOf(own), Self::Publish(owners))
            | (Self::AdminOf(own), Self::AdminOf(owners)) => own.covers(owners),
            (
                Self::Backup | Self::Read | Self::ReadOf(_) | Self::Publish(_) | Self::AdminOf(_),
                _,
            ) => false,
        }
    }
}

/// The scopes that a text may name.
const KINDS: &str =
    "admin, admin:<namespace>, backup, read, read:<namespace> or publish:<namespace>";

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, owners) = text.split_once(':').unzip();
        let of: fn(OwnerPattern) -> Self = match (kind.unwrap_or(text), kind) {
            ("admin", None) => return Ok(Self::Admin),
            ("backup", None) => return Ok(Self::Backup),
            ("read", None) => return Ok(Self::Read),
            ("read", Some(_)) => Self::ReadOf,
            ("publish", Some(_)) => Self::Publish,
            ("admin", Some(_)) => Self::AdminOf,
            _ => {
                let shown: String = text.chars().take(limits::NAME_BYTES).collect();
                return Err(format!("{shown:?} is not a scope: use {KINDS}"));
            }
        };
        let owners = owners.unwrap_or_default().parse().map(of);
        owners.map_err(|error| format!("scope {}: {error}", kind.unwrap_or_default()))
    }
}

impl FromStr for Scopes {
    type Err = String;

    /// Parses scopes separated by white space.
    fn from_str(text: &str) -> Result<Self, String> {
        let scopes: Result<_, _> = text.split_ascii_whitespace().map(str::parse).collect();
        Self::new(scopes?)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => f.write_str("admin"),
            Self::Backup => f.write_str("backup"),
            Self::Read => f.write_str("read"),
            Self::ReadOf(owners) => write!(f, "read:{owners}"),
            Self::Publish(owners) => write!(f, "publish:{owners}"),
            Self::AdminOf(owners) => write!(f, "admin:{owners}"),
        }
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scope) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{scope}")?;
        }
        Ok(())
    }
}

terrace_base::text_serde!(Scopes);

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        text.parse().unwrap()
    }

    #[test]
    fn united_scopes_omit_those_that_others_cover() {
        let united = |text: &str| {
            let scopes = text
                .split(' ')
                .map(|scope| scope.parse().unwrap())
                .collect();
            Scopes::united(scopes).map(|scopes| scopes.to_string())
        };
        for (scopes, left) in [
            ("read read:acme publish:acme", "read publish:acme"),
            ("admin read publish:acme", "admin"),
            ("read:a.example/acme read:a.example", "read:a.example"),
            ("read:acme publish:acme", "publish:acme"),
            ("read:acme read:acme", "read:acme"),
            ("publish:acme read", "read publish:acme"),
            ("admin:acme publish:acme read:acme", "admin:acme"),
            ("admin:acme publish:globex", "publish:globex admin:acme"),
            ("admin:acme read", "read admin:acme"),
            ("admin:a.example admin:a.example/acme", "admin:a.example"),
            ("admin admin:acme", "admin"),
            ("backup read read:acme", "backup"),
            ("admin backup", "admin"),
            ("backup publish:acme", "backup publish:acme"),
        ] {
            assert_eq!(united(scopes).as_deref(), Ok(left), "{scopes}");
        }
        let many: Vec<String> = (0..50).map(|n| format!("read:n{n}")).collect();
        let too_many = Err("a token has at most 20 scopes".to_owned());
        assert_eq!(united(&many.join(" ")), too_many);
        assert_eq!(
            united(&format!("read {}", many.join(" "))).as_deref(),
            Ok("read")
        );
    }

    #[test]
    fn scopes_are_reduced_to_reading_the_same_packages() {
        for (scopes, reading) in [
            ("admin", "read"),
            ("read publish:acme", "read"),
            ("publish:acme read:acme", "read:acme"),
            ("admin:acme", "read:acme"),
            ("backup", "read"),
            ("read", "read"),
        ] {
            let scopes: Scopes = scopes.parse().unwrap();
            assert_eq!(scopes.to_read().to_string(), reading);
        }
    }

    #[test]
    fn scopes_are_written_in_the_form_that_is_parsed() {
        for text in [
            "admin",
            "read",
            "read:acme",
            "publish:acme",
            "read publish:acme",
            "backup",
            "admin:acme",
            "publish:registry.example.com publish:registry.example.com/acme",
        ] {
            assert_eq!(scopes(text).to_string(), text);
        }
        assert_eq!(
            scopes(" publish:Acme  read read ").to_string(),
            "read publish:acme"
        );
    }

    #[test]
    fn an_invalid_scope_is_rejected_with_the_rule() {
        for (text, message) in [
            ("", "needs a scope"),
            ("publish", "publish:<namespace>"),
            ("write:acme", "\"write:acme\""),
            ("publish:*", "\"*\""),
            ("publish:", "\"\""),
            ("admin:", "\"\""),
            ("admin:*", "\"*\""),
            ("Read", "not a scope"),
            ("read:acme:x", "\"acme:x\""),
        ] {
            let error = text.parse::<Scopes>().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let many: Vec<String> = (0..=limits::SCOPES).map(|n| format!("read:a{n}")).collect();
        assert!(many.join(" ").parse::<Scopes>().is_err());
    }

    #[test]
    fn a_scope_allows_only_its_owners() {
        let (acme, globex) = (Owner::of_namespace("acme"), Owner::of_namespace("globex"));
        for (text, reads, reads_other, publishes, publishes_other) in [
            ("admin", true, true, true, true),
            ("read", true, true, false, false),
            ("backup", true, true, false, false),
            ("read:acme", true, false, false, false),
            ("publish:acme", true, false, true, false),
            ("read publish:acme", true, true, true, false),
        ] {
            let scopes = scopes(text);
            assert_eq!(scopes.allow_reading(&acme), reads, "{text}");
            assert_eq!(scopes.allow_reading(&globex), reads_other, "{text}");
            assert_eq!(scopes.allow_reading_all(), reads_other, "{text}");
            assert_eq!(scopes.allow_publishing(&acme), publishes, "{text}");
            assert_eq!(scopes.allow_publishing(&globex), publishes_other, "{text}");
            assert_eq!(scopes.allow_all(), text == "admin", "{text}");
        }
    }
}
