//! The IDs of rules that are stored in the registry.

use super::random_id::random_id;

random_id!(
    /// The ID of a stored rule.
    RuleId,
    /// The error for a text that is not the ID of a rule.
    RuleIdError: "a rule ID has 16 hexadecimal digits in lower case"
);
