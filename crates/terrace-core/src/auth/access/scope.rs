//! What a token is good for.

use std::fmt;
use std::str::FromStr;

use super::owner::{Owner, OwnerError, OwnerPattern};
use crate::limits;
use terrace_base::sort;

/// One right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `admin`: everything.
    Admin,
    /// `read`: reading everything.
    Read,
    /// `read:acme`: reading what is of these owners.
    ReadOf(OwnerPattern),
    /// `publish:acme`: publishing what is of these owners, and reading it.
    Publish(OwnerPattern),
}

/// The rights of a token; at least one, none twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// It is none of the four.
    #[error("{0:?} is no scope: there are admin, read, read:<namespace> and publish:<namespace>")]
    Unknown(String),
    /// What it is for is no namespace.
    #[error("scope {0}: {1}")]
    Owner(&'static str, OwnerError),
    /// There is none at all.
    #[error("a token needs a scope: admin, read, read:<namespace> or publish:<namespace>")]
    None,
    /// There are too many.
    #[error("a token has at most {} scopes", limits::SCOPES)]
    TooMany,
}

impl Scopes {
    /// These, each once.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn new(mut scopes: Vec<Scope>) -> Result<Self, ScopeError> {
        sort::sort(&mut scopes);
        scopes.dedup();
        match scopes.len() {
            0 => Err(ScopeError::None),
            count if count > limits::SCOPES => Err(ScopeError::TooMany),
            _ => Ok(Self(scopes)),
        }
    }

    /// These, without those that others of them cover.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn united(scopes: Vec<Scope>) -> Result<Self, ScopeError> {
        Self::new(without_covered(scopes))
    }

    /// What they let somebody read, and nothing else.
    pub fn to_read(&self) -> Self {
        let reading = self.0.iter().map(|scope| match scope {
            Scope::Admin | Scope::Read => Scope::Read,
            Scope::ReadOf(owners) | Scope::Publish(owners) => Scope::ReadOf(owners.clone()),
        });
        Self(without_covered(reading.collect()))
    }

    /// Whether everything is allowed.
    pub fn allow_all(&self) -> bool {
        self.0.contains(&Scope::Admin)
    }

    /// Whether everything may be read.
    pub fn allow_reading_all(&self) -> bool {
        self.0.contains(&Scope::Read) || self.allow_all()
    }

    /// Whether what is of this owner may be read.
    pub fn allow_reading(&self, owner: &Owner) -> bool {
        self.0.iter().any(|scope| match scope {
            Scope::Admin | Scope::Read => true,
            Scope::ReadOf(owners) | Scope::Publish(owners) => owners.includes(owner),
        })
    }

    /// Whether something may be published for this owner.
    pub fn allow_publishing(&self, owner: &Owner) -> bool {
        self.0.iter().any(|scope| match scope {
            Scope::Admin => true,
            Scope::Publish(owners) => owners.includes(owner),
            Scope::Read | Scope::ReadOf(_) => false,
        })
    }

    /// Whether they allow all that this one allows.
    pub fn cover(&self, scope: &Scope) -> bool {
        self.0.iter().any(|own| own.covers(scope))
    }

    /// Each of them.
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
    /// Whether it allows all that another one allows.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Admin, _) | (Self::Read, Self::Read | Self::ReadOf(_)) => true,
            (Self::ReadOf(own) | Self::Publish(own), Self::ReadOf(owners))
            | (Self::Publish(own), Self::Publish(owners)) => own.covers(owners),
            (Self::Read | Self::ReadOf(_) | Self::Publish(_), _) => false,
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let unknown = || ScopeError::Unknown(text.chars().take(limits::NAME_BYTES).collect());
        match text.split_once(':') {
            None => match text {
                "admin" => Ok(Self::Admin),
                "read" => Ok(Self::Read),
                _ => Err(unknown()),
            },
            Some(("read", owners)) => match owners.parse() {
                Ok(owners) => Ok(Self::ReadOf(owners)),
                Err(error) => Err(ScopeError::Owner("read", error)),
            },
            Some(("publish", owners)) => match owners.parse() {
                Ok(owners) => Ok(Self::Publish(owners)),
                Err(error) => Err(ScopeError::Owner("publish", error)),
            },
            Some(_) => Err(unknown()),
        }
    }
}

impl FromStr for Scopes {
    type Err = ScopeError;

    /// Reads scopes with spaces between them.
    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let scopes: Result<_, _> = text.split_ascii_whitespace().map(str::parse).collect();
        Self::new(scopes?)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => f.write_str("admin"),
            Self::Read => f.write_str("read"),
            Self::ReadOf(owners) => write!(f, "read:{owners}"),
            Self::Publish(owners) => write!(f, "publish:{owners}"),
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
    fn united_scopes_are_those_that_no_other_covers() {
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
        ] {
            assert_eq!(united(scopes).as_deref(), Ok(left), "{scopes}");
        }
        let many: Vec<String> = (0..50).map(|n| format!("read:n{n}")).collect();
        assert_eq!(united(&many.join(" ")), Err(ScopeError::TooMany));
        assert_eq!(
            united(&format!("read {}", many.join(" "))).as_deref(),
            Ok("read")
        );
    }

    #[test]
    fn what_reads_only_reads_the_same() {
        for (scopes, reading) in [
            ("admin", "read"),
            ("read publish:acme", "read"),
            ("publish:acme read:acme", "read:acme"),
            ("read", "read"),
        ] {
            let scopes: Scopes = scopes.parse().unwrap();
            assert_eq!(scopes.to_read().to_string(), reading);
        }
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for text in [
            "admin",
            "read",
            "read:acme",
            "publish:acme",
            "read publish:acme",
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
    fn what_is_no_scope_is_named_with_the_rule() {
        for (text, told) in [
            ("", "needs a scope"),
            ("publish", "publish:<namespace>"),
            ("write:acme", "\"write:acme\""),
            ("publish:*", "\"*\""),
            ("publish:", "\"\""),
            ("admin:acme", "no scope"),
            ("Read", "no scope"),
            ("read:acme:x", "\"acme:x\""),
        ] {
            let error = text.parse::<Scopes>().unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        let many: Vec<String> = (0..=limits::SCOPES).map(|n| format!("read:a{n}")).collect();
        assert!(many.join(" ").parse::<Scopes>().is_err());
    }

    #[test]
    fn a_right_reaches_as_far_as_it_says() {
        let (acme, globex) = (Owner::of_namespace("acme"), Owner::of_namespace("globex"));
        for (text, reads, reads_other, publishes, publishes_other) in [
            ("admin", true, true, true, true),
            ("read", true, true, false, false),
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
