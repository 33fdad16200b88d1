//! The union of two copies of a key.

use terrace_base::sort;

use super::certificate::{Part, part};
use super::packet::{Packet, tag};
use super::public_key::{PublicKey, algorithm};
use super::signature::{Signature, kind};

/// The primary key, a user ID or a subkey, with the signatures over it that count.
struct Section<'a> {
    packet: Packet<'a>,
    /// The newest self-signature, with its time of creation.
    newest: Option<(u64, Packet<'a>)>,
    /// Every revocation: none is ever lost.
    revocations: Vec<Packet<'a>>,
}

impl<'a> Section<'a> {
    fn of(packet: Packet<'a>) -> Self {
        Self {
            packet,
            newest: None,
            revocations: Vec::new(),
        }
    }

    /// Adds a signature over this part by the primary key.
    fn add(&mut self, packet: Packet<'a>, signature: &Signature, primary: &PublicKey) {
        let is_issuer = signature.names_issuer(primary.key_id, &primary.fingerprint);
        let counts = match (self.packet.tag, signature.kind) {
            (tag::PUBLIC_KEY, kind::KEY_REVOCATION) | (tag::PUBLIC_SUBKEY, _) => true,
            (tag::PUBLIC_KEY, kind::DIRECT_KEY) | (tag::USER_ID, _) => is_issuer,
            _ => false,
        };
        if !counts {
            return;
        }
        match signature.kind {
            kind::KEY_REVOCATION | kind::SUBKEY_REVOCATION | kind::CERTIFICATION_REVOCATION => {
                if self.revocations.iter().all(|it| it.body != packet.body) {
                    self.revocations.push(packet);
                }
            }
            _ => {
                let created = signature.created();
                if self.newest.is_none_or(|(newest, _)| created > newest) {
                    self.newest = Some((created, packet));
                }
            }
        }
    }

    /// Returns its packets; none if clients have no use for it.
    fn packets(mut self) -> Vec<Packet<'a>> {
        let is_revoked = !self.revocations.is_empty();
        match self.packet.tag {
            tag::USER_ID if self.newest.is_none() && !is_revoked => return Vec::new(),
            // Clients crash if only one of two revoked user IDs has a self-signature, and gpg exports them without.
            tag::USER_ID if is_revoked => self.newest = None,
            // Clients need no subkey that only encrypts.
            tag::PUBLIC_SUBKEY
                if PublicKey::parse(self.packet.body)
                    .is_ok_and(|key| !algorithm::can_sign(key.algorithm)) =>
            {
                return Vec::new();
            }
            _ => {}
        }
        let newest = self.newest.map(|(_, packet)| packet);
        [self.packet]
            .into_iter()
            .chain(newest)
            .chain(self.revocations)
            .collect()
    }
}

/// Returns the union of two copies of a key that clients accept, the one with the newer certification first. A user ID that only
/// the older copy has was deleted by the owner, and may have been the one whose dates count.
pub(super) fn merge<'a>(copies: [&[Packet<'a>]; 2], primary: &PublicKey) -> Vec<Packet<'a>> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    for (packets, is_older) in copies.into_iter().zip([false, true]) {
        let mut current = 0;
        for packet in packets {
            match part(packet) {
                Ok(Some(Part::Signature(signature))) => {
                    if let Some(section) = sections.get_mut(current) {
                        section.add(*packet, &signature, primary);
                    }
                }
                // Clients take the signatures after it for those of the primary key.
                Ok(Some(Part::Other)) => current = 0,
                Ok(None) => {}
                // The packet in error is the primary key: no other one may be at its place.
                Ok(Some(Part::UserId(_) | Part::Subkey(_))) | Err(_) => {
                    let known = sections.iter().position(|it| {
                        it.packet.tag == packet.tag && it.packet.body == packet.body
                    });
                    current = known.unwrap_or(sections.len());
                    if known.is_none() && !(is_older && packet.tag == tag::USER_ID) {
                        sections.push(Section::of(*packet));
                    }
                }
            }
        }
    }
    // The primary key, the user IDs, the subkeys: their tags ascend.
    sort::sort_by(&mut sections, |one, other| {
        one.packet.tag.cmp(&other.packet.tag)
    });
    sections.into_iter().flat_map(Section::packets).collect()
}
