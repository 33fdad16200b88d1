//! The methods of HTTP that any route answers.

/// The methods that any route answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Remove.
    Delete,
    /// Read.
    Get,
    /// Read the headers only.
    Head,
    /// Go on with an upload.
    Patch,
    /// Begin an upload.
    Post,
    /// Create or publish.
    Put,
}

impl Method {
    /// Reads a method; `None` for one that no route answers.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "DELETE" => Some(Self::Delete),
            "GET" => Some(Self::Get),
            "HEAD" => Some(Self::Head),
            "PATCH" => Some(Self::Patch),
            "POST" => Some(Self::Post),
            "PUT" => Some(Self::Put),
            _ => None,
        }
    }

    /// Methods as the header `Allow` has them.
    pub fn names(methods: &[Self]) -> String {
        let names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
        names.join(", ")
    }

    /// The method as HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}
