//! The registry that pages belong to.

use crate::assets::AssetNames;

/// The registry that pages belong to, as the operator configured it and the reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The origin of all absolute links, such as `https://registry.example.com`.
    pub origin: String,
    /// The hostname in source addresses, with a port if it is not 443.
    pub hostname: String,
    /// The name in the header and in titles.
    pub name: String,
    /// The logo as a `data:` URL, in place of Terrace's own.
    pub logo: Option<String>,
    /// The names of the stylesheet, the script and the pictures.
    pub assets: AssetNames,
    /// Whether readers can sign in, and whether this one has.
    pub sign_in: SignIn,
    /// Whether reading needs a token: search engines are then kept out, and snippets begin with a sign-in.
    pub is_private: bool,
    /// Whether `terraform login` works.
    pub has_login: bool,
}

/// The state of a reader's sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// The registry has no sign-in.
    Unavailable,
    /// The reader is not signed in.
    SignedOut,
    /// The reader is signed in.
    SignedIn,
}

impl Site {
    /// Returns the name of the environment variable that holds a client's token for this registry: dots of the
    /// hostname become underscores, and dashes two of them.
    pub(crate) fn token_variable(&self) -> String {
        let host = self.hostname.split(':').next().unwrap_or_default();
        let name = host.replace('-', "__").replace('.', "_");
        format!("TF_TOKEN_{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::Assets;

    #[test]
    fn the_variable_of_a_token_has_no_dots_and_doubles_dashes() {
        let site = Site {
            origin: "https://my-registry.example.com:8443".to_owned(),
            hostname: "my-registry.example.com:8443".to_owned(),
            name: "Terrace".to_owned(),
            logo: None,
            assets: Assets::new(None).names().clone(),
            sign_in: SignIn::Unavailable,
            is_private: false,
            has_login: false,
        };
        assert_eq!(site.token_variable(), "TF_TOKEN_my__registry_example_com");
    }
}
