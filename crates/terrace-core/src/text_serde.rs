//! Serde for the types whose only stored form is their text.

/// Serialises through `Display` and reads through `FromStr`, so that a stored document passes the
/// same checks as a request.
macro_rules! text_serde {
    ($($type:ty),+ $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

text_serde!(
    crate::access::Scopes,
    crate::access::TokenName,
    crate::address::MirroredAddress,
    crate::address::ModuleAddress,
    crate::address::ProviderAddress,
    crate::archive::ArchiveFormat,
    crate::digest::Sha256,
    crate::platform::Platform,
    crate::protocol_version::ProtocolVersion,
    crate::repair::GarbageState,
    crate::source::SourceUrl,
    crate::standing::KeyState,
    crate::standing::Reason,
    crate::standing::State,
    crate::subdir::Subdir,
    crate::version::Version,
);
