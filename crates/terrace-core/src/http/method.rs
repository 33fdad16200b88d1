//! The HTTP methods that routes support.

/// An HTTP method that at least one route supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Removes a resource.
    Delete,
    /// Reads a resource.
    Get,
    /// Reads the headers only.
    Head,
    /// Continues an upload.
    Patch,
    /// Starts an upload, or runs an operation.
    Post,
    /// Creates or publishes a resource.
    Put,
}

impl Method {
    /// Parses a method; `None` if no route supports it.
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

    /// Returns methods in the format of the `Allow` header.
    pub fn names(methods: &[Self]) -> String {
        let names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
        names.join(", ")
    }

    /// Returns the method as HTTP writes it.
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
