//! The form of all IDs that the registry chooses: 16 hexadecimal digits in lower case.

/// Defines a type for IDs with the error for a text that is not one. The message is a literal, because it names the noun.
macro_rules! random_id {
    ($(#[$doc:meta])* $id:ident, $(#[$error_doc:meta])* $error:ident: $message:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $id(u64);

        $(#[$error_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $id {
            /// Creates an ID from random bytes.
            pub fn new(random: [u8; 16]) -> Self {
                // Any 8 of 16 random bytes are random.
                Self(u128::from_be_bytes(random) as u64)
            }
        }

        impl std::str::FromStr for $id {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let id = Self(u64::from_str_radix(text, 16).map_err(|_| $error)?);
                // Upper case, signs and missing zeros are parsed as well.
                (id.to_string() == text).then_some(id).ok_or($error)
            }
        }

        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        terrace_base::text_serde!($id);
    };
}

pub(super) use random_id;
