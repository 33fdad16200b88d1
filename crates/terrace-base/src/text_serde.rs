//! Serde implementations for types that are stored as their text.

/// Implements serialisation through `Display` and deserialisation through `FromStr`, so that a stored
/// document passes the same checks as a request.
#[macro_export]
macro_rules! text_serde {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as $crate::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    )+};
}
