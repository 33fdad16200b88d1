//! The signatures of webhooks, by the Standard Webhooks specification
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).
//!
//! No secret is stored: that of a webhook is derived from the admin token and the webhook's ID.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::keys::DerivedKeys;
use crate::model::webhook_id::WebhookId;
use terrace_base::mac::hmac;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;

/// The prefix of the text of a secret.
const SECRET_PREFIX: &str = "whsec_";

/// The keys that the secrets of webhooks are derived from.
#[derive(Debug, Clone)]
pub struct WebhookKeys(DerivedKeys);

impl WebhookKeys {
    /// Derives the keys from these admin tokens.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        Self(DerivedKeys::new("terrace webhook 1", newest, previous))
    }

    /// Returns the secret of a webhook, as its receiver needs it: derived from the newest admin token.
    pub fn secret(&self, id: WebhookId) -> String {
        let secret = self.0.newest.sign(id.to_string().as_bytes());
        format!("{SECRET_PREFIX}{}", STANDARD.encode(secret))
    }

    /// Returns the value of the header `webhook-signature`: one signature for each admin token, so that a receiver can
    /// change to the new secret while both are configured.
    pub fn signatures(
        &self,
        id: WebhookId,
        message_id: &str,
        timestamp: UnixTime,
        body: &str,
    ) -> String {
        let signatures = self.0.all().map(|key| {
            let secret = key.sign(id.to_string().as_bytes());
            signature(&secret, message_id, timestamp, body)
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

fn signature(secret: &[u8], message_id: &str, timestamp: UnixTime, body: &str) -> String {
    let signed = format!("{message_id}.{}.{body}", timestamp.0);
    format!("v1,{}", STANDARD.encode(hmac(secret, signed.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(
            &secret,
            id,
            UnixTime(1_614_265_330),
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_belongs_to_one_webhook_and_one_admin_token() {
        let secret = |text: &str| Secret::new(text);
        let [one, other]: [WebhookId; 2] =
            ["0123456789abcdef", "0123456789abcdee"].map(|id| id.parse().unwrap());
        let old = WebhookKeys::new(&secret("fedcba9876543210"), None);
        let new = secret("0123456789abcdef");
        let both = WebhookKeys::new(&new, Some(&secret("fedcba9876543210")));
        let new = WebhookKeys::new(&new, None);
        assert_eq!(new.secret(one), both.secret(one));
        assert_ne!(new.secret(one), new.secret(other));
        assert_ne!(new.secret(one), old.secret(one));
        let sign = |keys: &WebhookKeys| keys.signatures(one, "msg_1", UnixTime(1), "{}");
        assert_eq!(sign(&both), format!("{} {}", sign(&new), sign(&old)));
        // Receivers hold the secret: this value must not change.
        assert_eq!(
            new.secret(one),
            "whsec_C6nv0snOmgBgij3kbHSCB0kl5JVVguFhCXRKlidiUpg="
        );
    }
}
