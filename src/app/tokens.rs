//! API tokens: made, listed, revoked and rotated. What is stored of one cannot be used as one.

use futures_util::future::join_all;
use serde::Serialize;
use serde::de::DeserializeOwned;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{RevokedToken, RotationBody, TokenAnswer, TokenBody, TokenPage};
use terrace_core::auth::access::{
    Caller, RevocationDocument, Scopes, Token, TokenDocument, TokenName,
};
use terrace_core::auth::login::Allowed;
use terrace_core::http::form::Query;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::key::{FactKey, IndexKey, TOKENS};

use super::{App, Boxed, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Indices as _, Platform, StoreError};

impl<P: Platform> App<'_, P> {
    pub(super) async fn create_token(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<Reply<P::Stream>, Failure> {
        let TokenBody {
            name,
            scopes,
            expires_in,
        } = parse(body)?;
        let invalid = |error: String| Problem::Invalid(vec![error]);
        let name: TokenName = name.parse().map_err(|e| invalid(format!("{e}")))?;
        let scopes: Result<_, _> = scopes.iter().map(|scope| scope.parse()).collect();
        let scopes = scopes.and_then(Scopes::new);
        let scopes = scopes.map_err(|e| invalid(format!("{e}")))?;
        let now = self.platform.clock().now();
        let expires = match expires_in {
            None => None,
            Some(seconds) if limits::TOKEN_LIFETIME_SECONDS.contains(&seconds) => {
                Some(now.0 + seconds)
            }
            Some(seconds) => {
                let range = limits::TOKEN_LIFETIME_SECONDS;
                let (least, most) = (range.start(), range.end());
                let told = format!("expires_in is {seconds}: it must be {least} to {most} seconds");
                return Err(invalid(told).into());
            }
        };
        let document = TokenDocument {
            name,
            scopes,
            created: now.0,
            by: caller.name(),
            expires,
            revoked: None,
        };
        self.issue(document).await
    }

    async fn issue(&self, document: TokenDocument) -> Result<Reply<P::Stream>, Failure> {
        let id = TokenId::new(self.platform.random());
        let text = self.make_token(id, &document).await?;
        // Nobody else has had the same 64 random bits.
        let text = text.ok_or_else(|| StoreError::Busy(FactKey::Token(id).to_string()))?;
        let reply = json(201, &TokenAnswer::new(id, &document, Some(text)))?;
        Ok(reply.with("location", format!("/admin/v1/tokens/{id}")))
    }

    /// Makes the token that a person has allowed, unless that was done before: then whoever has it may not
    /// be who it was allowed to, so it is revoked, and there is none (RFC 6749, section 4.1.2).
    pub(super) async fn make_allowed_token(
        &self,
        token: Allowed,
        lifetime: u64,
    ) -> Result<Option<String>, Failure> {
        let Allowed { id, person, scopes } = token;
        let now = self.platform.clock().now().0;
        let document = TokenDocument {
            name: person.name,
            scopes,
            created: now,
            by: format!("login as {}", person.account),
            expires: Some(now.saturating_add(lifetime)),
            revoked: None,
        };
        let made = self.make_token(id, &document).await?;
        if made.is_none() {
            self.revoke_token(id).await?;
        }
        Ok(made)
    }

    /// Stores what is known of a token before anybody has it, so that each can be revoked; `None` if there
    /// is one of this id.
    async fn make_token(
        &self,
        id: TokenId,
        document: &TokenDocument,
    ) -> Result<Option<String>, Failure> {
        let (key, said) = (FactKey::Token(id), text(document)?);
        let written = self.put_document(&key, &said, &[], Condition::Absent);
        if written.await?.is_none() {
            return Ok(None);
        }
        let token = Token {
            id,
            name: document.name.clone(),
            scopes: document.scopes.clone(),
            expires: document.expires.map(UnixTime),
            is_of_previous: false,
        };
        let Some(keys) = self.config.access.keys() else {
            return Err(Problem::no_token().into());
        };
        Ok(Some(keys.write(&token)))
    }

    /// The tokens that were made here, by their ids.
    pub(super) async fn list_tokens(&self, query: &str) -> Result<Reply<P::Stream>, Failure> {
        let behind = Query(query).value("behind");
        let facts = self.platform.facts();
        let page = facts
            .list(TOKENS, behind.as_deref(), limits::TOKENS_AT_ONCE)
            .await?;
        let ids = page.facts.iter().filter_map(|fact| fact.name.parse().ok());
        let read = ids.map(async |id| Ok::<_, Failure>((id, self.token_document(id).await?)));
        let mut tokens = Vec::new();
        for read in join_all(read).await {
            let (id, document) = read?;
            tokens.extend(document.map(|document| TokenAnswer::new(id, &document, None)));
        }
        let last = page.facts.into_iter().next_back().map(|fact| fact.name);
        let next = last.filter(|_| page.is_cut);
        json(200, &TokenPage { tokens, next })
    }

    pub(super) async fn revoke_token(&self, id: TokenId) -> Result<Reply<P::Stream>, Failure> {
        let document = self.token_document(id).await?;
        let now = self.platform.clock().now();
        let expires = document.as_ref().and_then(|document| document.expires);
        self.revoke(id, expires, now.0).await?;
        json(
            200,
            &RevokedToken {
                known: document.is_some(),
            },
        )
    }

    /// Makes a token of the same name, rights and lifetime, and revokes the old one after a while.
    pub(super) async fn rotate_token(
        &self,
        caller: &Caller,
        id: TokenId,
        body: &[u8],
    ) -> Result<Reply<P::Stream>, Failure> {
        let RotationBody { overlap } = parse(body)?;
        let unknown = || Problem::NotFound(format!("there is no token {id}"));
        let old = self.token_document(id).await?.ok_or_else(unknown)?;
        let now = self.platform.clock().now().0;
        let is_dead = |time: Option<u64>| time.is_some_and(|time| time <= now);
        let revocation: Option<RevocationDocument> =
            self.document(&FactKey::Revocation(id)).await?;
        if is_dead(revocation.map(|it| it.from)) || is_dead(old.expires) {
            let told = format!("token {id} is not good any more: make a new one");
            return Err(Problem::Conflict(vec![told]).into());
        }
        if overlap > limits::TOKEN_OVERLAP_SECONDS {
            let most = limits::TOKEN_OVERLAP_SECONDS;
            let told = format!("overlap is {overlap}: it may be at most {most} seconds");
            return Err(Problem::Invalid(vec![told]).into());
        }
        let lifetime = old
            .expires
            .map(|expires| expires.saturating_sub(old.created));
        let made = self
            .issue(TokenDocument {
                created: now,
                by: caller.name(),
                expires: lifetime.map(|lifetime| now + lifetime),
                revoked: None,
                ..old.clone()
            })
            .await?;
        self.revoke(id, old.expires, now.saturating_add(overlap))
            .await?;
        Ok(made)
    }

    /// Revokes a token, whether it was made here or given to somebody for an hour. The fact comes first;
    /// what follows from it can be made again by the same request.
    async fn revoke(&self, id: TokenId, expires: Option<u64>, from: u64) -> Result<(), Failure> {
        let key = FactKey::Revocation(id);
        let from = loop {
            let (known, unchanged) = self.seen_document::<RevocationDocument>(&key).await?;
            // Once dead it stays so, whoever says later that it may live on for a while.
            let from = known.map_or(from, |known| known.from.min(from));
            let revocation = RevocationDocument { from, expires };
            let (said, metadata) = (text(&revocation)?, revocation.to_metadata());
            let written = self.put_document(&key, &said, &metadata, unchanged);
            if written.await?.is_some() {
                break from;
            }
        };
        self.put(&FactKey::RevocationChange, &from, &[], Condition::Any)
            .await?;
        self.index_revocations().await?;
        self.tell_revoked(id, from).await
    }

    /// Writes into what is known of a token that it is revoked.
    async fn tell_revoked(&self, id: TokenId, from: u64) -> Result<(), Failure> {
        let key = FactKey::Token(id);
        loop {
            let (known, unchanged) = self.seen_document::<TokenDocument>(&key).await?;
            let Some(known) = known else { return Ok(()) };
            let from = known.revoked.map_or(from, |known| known.min(from));
            let revoked = TokenDocument {
                revoked: Some(from),
                ..known
            };
            let said = text(&revoked)?;
            let written = self.put_document(&key, &said, &[], unchanged);
            if written.await?.is_some() {
                return Ok(());
            }
        }
    }

    pub(super) async fn index_revocations(&self) -> Result<(), Failure> {
        let write = || -> Boxed<'_> {
            Box::pin(async {
                let revocations = self.revocations().await?;
                let index = revocations.index();
                let index = index.map_err(|error| Failure::Corrupt(error.to_string()))?;
                let key = IndexKey::Revocations;
                Ok(self.platform.indices().put(&key, &index).await?)
            })
        };
        match self.follow(&FactKey::RevocationChange, &write).await? {
            true => Ok(()),
            false => Err(StoreError::Busy(IndexKey::Revocations.to_string()).into()),
        }
    }

    async fn token_document(&self, id: TokenId) -> Result<Option<TokenDocument>, Failure> {
        self.document(&FactKey::Token(id)).await
    }

    pub(super) async fn put<T: Serialize>(
        &self,
        key: &FactKey,
        document: &T,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<(), Failure> {
        let text = text(document)?;
        let put = self.put_document(key, &text, metadata, condition);
        put.await.map(drop)
    }
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::BadRequest(format!("the body: {error}")))
}

pub(super) fn json<S, T: Serialize>(status: u16, answer: &T) -> Result<Reply<S>, Failure> {
    Ok(Reply::json(status, CachePolicy::NoStore, text(answer)?))
}

fn text<T: Serialize>(document: &T) -> Result<String, Failure> {
    let text = serde_json::to_string(document);
    text.map_err(|error| Failure::Corrupt(error.to_string()))
}
