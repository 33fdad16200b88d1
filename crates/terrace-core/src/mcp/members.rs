//! The members of an object in a message. One parser serves all objects, so that the Worker contains it once.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members that have not been taken yet, each with its value in JSON.
#[derive(Default)]
pub(super) struct Members<'j>(Vec<(String, &'j RawValue)>);

struct MembersVisitor;

impl<'j> Members<'j> {
    /// Parses an object. `None` for another value, and if a name occurs twice: a reader of the last value and one of the first
    /// would act on different messages.
    pub(super) fn parse(json: &'j [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Takes the value of a member, in JSON.
    pub(super) fn take(&mut self, name: &str) -> Option<&'j str> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1.get())
    }

    /// Takes a member that is a text. One that is `null` counts as absent.
    ///
    /// # Errors
    /// The value, if it is another one.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, &'j str> {
        match self.take(name) {
            None | Some("null") => Ok(None),
            Some(json) => {
                let text: Option<String> = serde_json::from_slice(json.as_bytes()).ok();
                text.map(Some).ok_or(json)
            }
        }
    }

    /// Returns the name of a member that has not been taken, if there is one.
    pub(super) fn into_left(self) -> Option<String> {
        self.0.into_iter().next().map(|(name, _)| name)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, &RawValue)> = Vec::new();
        while let Some((name, value)) = map.next_entry()? {
            if members.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("a name occurs twice"));
            }
            members.push((name, value));
        }
        Ok(Members(members))
    }
}
