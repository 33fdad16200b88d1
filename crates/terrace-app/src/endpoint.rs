//! The facts about each endpoint, which is a route with a method: who may, how its body is read, whether it is
//! audited, and which errors its clients read.
//!
//! In scope: data. Out of scope: acting on it, which is for the pipeline.

use terrace_core::api::route::Route;
use terrace_core::http::method::Method;
use terrace_core::limits;
use terrace_core::oci::pushed::PushedPath;

/// The facts about an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Who may.
    pub(crate) access: Access,
    /// How the body is read.
    pub(crate) body: Body,
    /// Whether an entry of the audit log is written for what was let through.
    pub(crate) is_audited: bool,
    /// The form of its errors.
    pub(crate) errors: Errors,
}

/// Who may use an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone, whatever credentials they send. What the request must have instead, such as a signature, is checked
    /// by the handler.
    Anyone,
    /// Callers with valid credentials or none: what they see is decided by the handler.
    Known,
    /// The same, where anything is private; elsewhere nobody's credentials are looked at.
    Readers,
    /// Callers who may publish for the owner that the route names.
    Publishers,
    /// Administrators.
    Admins,
}

/// How the body of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Not at all.
    Ignored,
    /// Whole, before the handler is called. Its length must be declared, and be at most so many bytes.
    Whole(u64),
    /// By the handler.
    Handler,
}

/// The form of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// Terrace's own.
    Json,
    /// OCI Distribution's, with a challenge that names the registry.
    Oci,
    /// OAuth's (RFC 6749, section 5.2).
    OAuth,
}

/// Endpoints that ask nobody who they are.
const OPEN: Endpoint = Endpoint {
    access: Access::Anyone,
    body: Body::Handler,
    is_audited: false,
    errors: Errors::Json,
};

/// Reads, which the read machine answers by an index.
const READ: Endpoint = Endpoint {
    access: Access::Readers,
    body: Body::Ignored,
    ..OPEN
};

/// The admin API, read.
const ADMIN: Endpoint = Endpoint {
    access: Access::Admins,
    body: Body::Ignored,
    is_audited: false,
    errors: Errors::Json,
};

/// The admin API, asked to do something that changes nothing.
const ADMIN_QUESTION: Endpoint = Endpoint {
    body: Body::Whole(limits::ADMIN_BODY_BYTES),
    ..ADMIN
};

/// The admin API, changing something.
const ADMIN_CHANGE: Endpoint = Endpoint {
    is_audited: true,
    ..ADMIN_QUESTION
};

/// The admin API, deleting something.
const ADMIN_DELETE: Endpoint = Endpoint {
    body: Body::Ignored,
    ..ADMIN_CHANGE
};

/// What OCI clients ask for besides indexed reads.
const OCI: Endpoint = Endpoint {
    access: Access::Known,
    body: Body::Ignored,
    is_audited: false,
    errors: Errors::Oci,
};

/// What OCI clients read.
const OCI_READ: Endpoint = Endpoint {
    access: Access::Readers,
    ..OCI
};

/// What OCI clients push.
const OCI_PUSH: Endpoint = Endpoint {
    access: Access::Publishers,
    body: Body::Handler,
    ..OCI
};

/// Returns the facts about a route with one of its methods.
pub(crate) fn endpoint(route: &Route, method: Method) -> Endpoint {
    let reads = matches!(method, Method::Get | Method::Head);
    let publishers = |endpoint: Endpoint| Endpoint {
        access: Access::Publishers,
        ..endpoint
    };
    match route {
        Route::Home
        | Route::Discovery
        | Route::Health
        | Route::MirrorHome
        | Route::OriginDiscovery(..)
        | Route::Archive(..)
        | Route::Pull(..) => OPEN,
        Route::ProviderVersions(..)
        | Route::ProviderVersion(..)
        | Route::ProviderDownload(..)
        | Route::ModuleVersions(..)
        | Route::ModuleDownload(..)
        | Route::ModuleNewest(..)
        | Route::MirrorVersions(..)
        | Route::MirrorPackages(..)
        | Route::OriginVersions(..) => READ,
        Route::Exchange | Route::LoginStart | Route::LoginCallback | Route::LoginConsent => {
            Endpoint {
                errors: Errors::OAuth,
                ..OPEN
            }
        }
        Route::LoginToken => Endpoint {
            is_audited: true,
            errors: Errors::OAuth,
            ..OPEN
        },
        Route::OciBase | Route::OciToken => OCI,
        Route::OciCatalog => Endpoint {
            access: Access::Anyone,
            ..OCI
        },
        Route::Oci(..) => OCI_READ,
        Route::Pushed(request) => match request.path {
            PushedPath::Tags | PushedPath::Referrers(_) => OCI_READ,
            PushedPath::Manifest(_) | PushedPath::Blob(_) if reads => OCI_READ,
            PushedPath::Manifest(_) | PushedPath::Blob(_) => Endpoint {
                is_audited: true,
                ..OCI_PUSH
            },
            PushedPath::Uploads | PushedPath::Upload(_) => OCI_PUSH,
        },
        Route::PublishProvider(..) | Route::PublishModule(..) => publishers(ADMIN_CHANGE),
        Route::MirroredRelease(..) | Route::Standing(..) if reads => publishers(ADMIN),
        Route::MirroredRelease(..) | Route::Standing(..) => publishers(ADMIN_CHANGE),
        Route::SigningKeys(_) if reads => publishers(ADMIN),
        Route::SigningKeys(_) => ADMIN_CHANGE,
        Route::SigningKey(..) | Route::Token(_) if method == Method::Delete => ADMIN_DELETE,
        Route::Audit | Route::Tokens | Route::Facts | Route::StoredArchives if reads => ADMIN,
        // Asking how to send a copy sends none.
        Route::Verify | Route::StoredArchives => ADMIN_QUESTION,
        Route::Facts => Endpoint {
            body: Body::Whole(limits::RESTORE_BODY_BYTES),
            ..ADMIN_CHANGE
        },
        Route::Audit
        | Route::Tokens
        | Route::Token(_)
        | Route::TokenRotation(_)
        | Route::SigningKey(..)
        | Route::Reindex
        | Route::Garbage => ADMIN_CHANGE,
    }
}
