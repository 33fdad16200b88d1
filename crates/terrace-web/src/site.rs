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
    /// The name of the reader who is signed in.
    pub reader: Option<String>,
    /// The path and query of the page that is read, to which a sign-in leads back; empty for the start page.
    pub here: String,
    /// Whether reading the packages that a page shows needs a token: search engines are then kept out, and snippets begin
    /// with a sign-in.
    pub is_private: bool,
    /// Whether `terraform login` works.
    pub has_login: bool,
    /// The hosts of the applications that sign their users in for the MCP endpoints.
    pub client_hosts: Vec<String>,
    /// The issuers that the configuration names.
    pub issuers: Vec<String>,
    /// The warnings about the configuration, if the reader is an administrator who is signed in; otherwise empty. `terrace
    /// doctor` reports the same.
    pub problems: Vec<String>,
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
    /// hostname become underscores, and dashes two of them. A port would be part of the name, and no shell sets such a
    /// variable (clients.md 8.2).
    pub fn token_variable(&self) -> Option<String> {
        let name = self.hostname.replace('-', "__").replace('.', "_");
        (!self.has_port()).then(|| format!("TF_TOKEN_{name}"))
    }

    /// Returns whether source addresses have a port. A mirror has no path for a provider of such a name (clients.md 5.6,
    /// 6.14).
    pub(crate) fn has_port(&self) -> bool {
        self.hostname.contains(':')
    }
}

#[cfg(test)]
impl Site {
    /// Returns a public registry without a sign-in.
    pub(crate) fn at(hostname: &str) -> Self {
        Self {
            origin: format!("https://{hostname}"),
            hostname: hostname.to_owned(),
            name: "Terrace".to_owned(),
            logo: None,
            assets: crate::assets::Assets::new(None).names().clone(),
            sign_in: SignIn::Unavailable,
            reader: None,
            here: String::new(),
            is_private: false,
            has_login: false,
            client_hosts: Vec::new(),
            issuers: Vec::new(),
            problems: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_a_token_has_no_dots_and_doubles_dashes() {
        let site = Site::at("my-registry.example.com");
        let variable = site.token_variable();
        assert_eq!(
            variable.as_deref(),
            Some("TF_TOKEN_my__registry_example_com")
        );
        let with_port = Site {
            hostname: "my-registry.example.com:8443".to_owned(),
            ..site
        };
        assert_eq!(with_port.token_variable(), None);
    }
}
