//! A page of the comparison of the two buckets, by keys and lengths.

use terrace_core::storage::fallback::{BUCKET_REQUEST_SECONDS, BucketPage, FallbackBucket};
use terrace_core::storage::key::BytesKey;

use crate::context::Context;
use crate::documents::{fallback_requests, inventory};
use crate::failure::Failure;
use crate::host::{BytesPage, Host};

/// Maximum number of archives in one comparison of the two buckets: the listing of the second one is parsed in wasm, within the
/// 10 ms of CPU of an event on the free plan.
const COMPARED_AT_ONCE: u32 = 500;

/// The differences of one page.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// The number of objects in the main bucket.
    pub(crate) stored: u64,
    /// Those that the second bucket does not have with this length, each with its length.
    pub(crate) missing: Vec<(BytesKey, u64)>,
    /// The objects that only the second bucket has.
    pub(crate) surplus: Vec<BytesKey>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Listed keys with the lengths of their objects, ascending.
type Listed = Vec<(String, u64)>;

/// Compares a page of the two buckets. The page ends early when it has `most` missing objects.
pub(crate) async fn compare<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    after: Option<&str>,
    most: usize,
) -> Result<Comparison, Failure> {
    let limit = COMPARED_AT_ONCE;
    // The main bucket first: an archive that is copied in the meantime is no difference.
    let stored = inventory::page(ctx, after, limit).await?;
    let (prefix, after) = inventory::place(after)?;
    let after = after.map(|after| format!("{prefix}{after}"));
    let page = (after.as_deref(), limit);
    let copies = fallback_requests::list(ctx, fallback, prefix, page, BUCKET_REQUEST_SECONDS);
    let copies = copies.await?;
    let mut found = Comparison::of(with_keys(prefix, stored.page), copies, most);
    found.next = found.next.or_else(|| inventory::after_last(prefix));
    Ok(found)
}

/// Returns a page of the main bucket in the form of a listing of the second one.
fn with_keys(prefix: &str, page: BytesPage) -> BucketPage {
    let objects = page.objects.into_iter();
    BucketPage {
        objects: objects
            .map(|object| (format!("{prefix}{}", object.name), object.size))
            .collect(),
        is_truncated: page.is_truncated,
    }
}

impl Comparison {
    /// Returns whether there may be something to copy or to remove.
    pub(crate) fn has_differences(&self) -> bool {
        !self.missing.is_empty() || !self.surplus.is_empty()
    }

    /// Compares two listings that begin after the same key, as far as both of them reach.
    fn of(stored: BucketPage, copies: BucketPage, most: usize) -> Self {
        let mut found = Self::default();
        let ends = [last_known(&stored), last_known(&copies)];
        found.next = ends.into_iter().flatten().min();
        for (key, size) in &stored.objects {
            if found.next.as_ref().is_some_and(|end| key > end) {
                break;
            }
            found.stored += 1;
            if size_in(&copies.objects, key) == Some(*size) {
                continue;
            }
            // Objects with other keys are not the registry's.
            if let Some(bytes) = BytesKey::parse_key(key) {
                found.missing.push((bytes, *size));
            }
            if found.missing.len() == most {
                found.next = Some(key.clone());
                break;
            }
        }
        for (key, _) in &copies.objects {
            let is_beyond = found.next.as_ref().is_some_and(|end| key > end);
            if !is_beyond && size_in(&stored.objects, key).is_none() {
                found.surplus.extend(BytesKey::parse_key(key));
            }
        }
        found
    }
}

/// Returns the last key of a truncated listing: beyond it, nothing is known.
fn last_known(page: &BucketPage) -> Option<String> {
    let last = page.objects.last().filter(|_| page.is_truncated);
    last.map(|(key, _)| key.clone())
}

/// Returns the length of an object in a listing.
fn size_in(listed: &Listed, key: &str) -> Option<u64> {
    let place = listed.binary_search_by(|(known, _)| known.as_str().cmp(key));
    listed.get(place.ok()?).map(|(_, size)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> String {
        format!("archives/{}.zip", format!("{number:02x}").repeat(32))
    }

    /// Returns the page of a bucket with these objects, after a key.
    fn page(objects: &[(u8, u64)], after: Option<&str>, limit: usize) -> BucketPage {
        let all = objects.iter().map(|(number, size)| (key(*number), *size));
        let rest: Vec<_> = all
            .filter(|(key, _)| after.is_none_or(|after| key.as_str() > after))
            .collect();
        BucketPage {
            is_truncated: rest.len() > limit,
            objects: rest.into_iter().take(limit).collect(),
        }
    }

    /// Compares two buckets page by page: the numbers of the stored, the missing and the surplus objects.
    fn walk(
        stored: &[(u8, u64)],
        copies: &[(u8, u64)],
        limit: usize,
        most: usize,
    ) -> (u64, Vec<String>, Vec<String>) {
        let (mut count, mut missing, mut surplus) = (0, Vec::new(), Vec::new());
        let mut after: Option<String> = None;
        loop {
            let [stored, copies] = [stored, copies].map(|it| page(it, after.as_deref(), limit));
            let found = Comparison::of(stored, copies, most);
            count += found.stored;
            missing.extend(found.missing.iter().map(|(key, _)| key.to_string()));
            surplus.extend(found.surplus.iter().map(BytesKey::to_string));
            match found.next {
                Some(next) => {
                    assert!(
                        after.as_ref().is_none_or(|after| *after < next),
                        "the walk goes on"
                    );
                    after = Some(next);
                }
                None => return (count, missing, surplus),
            }
        }
    }

    #[test]
    fn each_difference_is_found_once_however_long_the_pages_are() {
        let every = |step: usize| -> Vec<(u8, u64)> {
            (1..40).step_by(step).map(|number| (number, 1)).collect()
        };
        let damaged = [vec![(1, 2)], every(1)[1..].to_vec()].concat();
        for (stored, copies) in [
            (every(1), every(3)),
            (every(3), every(1)),
            (every(2), every(3)),
            (every(1), Vec::new()),
            (Vec::new(), every(1)),
            (every(1), damaged),
        ] {
            let lacks = |one: &[(u8, u64)], other: &[(u8, u64)]| -> Vec<String> {
                let lacking = one.iter().filter(|it| !other.contains(it));
                lacking.map(|(number, _)| key(*number)).collect()
            };
            let is_absent =
                |key: &String| stored.iter().all(|(number, _)| self::key(*number) != *key);
            let mut surplus = lacks(&copies, &stored);
            surplus.retain(is_absent);
            let expected = (stored.len() as u64, lacks(&stored, &copies), surplus);
            for limit in [1, 2, 3, 7, 100] {
                for most in [1, 2, usize::MAX] {
                    assert_eq!(
                        walk(&stored, &copies, limit, most),
                        expected,
                        "{limit} {most}"
                    );
                }
            }
        }
    }
}
