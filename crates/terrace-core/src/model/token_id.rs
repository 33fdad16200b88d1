//! The IDs of API tokens.

use super::random_id::random_id;

random_id!(
    /// The ID of a token, which identifies it where the token itself must not be shown.
    TokenId,
    /// The error for a text that is not the ID of a token.
    TokenIdError: "a token ID has 16 hexadecimal digits in lower case"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_16_hexadecimal_digits() {
        for text in [
            "",
            "0",
            "0123456789ABCDEF",
            "+123456789abcdef",
            "0123456789abcdef0",
        ] {
            assert!(text.parse::<TokenId>().is_err(), "{text:?}");
        }
        assert_eq!(
            "0123456789abcdef".parse(),
            Ok(TokenId(0x0123_4567_89ab_cdef))
        );
    }
}
