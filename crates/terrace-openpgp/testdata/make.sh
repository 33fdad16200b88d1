#!/bin/sh
# Recreates the keys and signatures in this folder with gpg. Their secret keys are discarded, so all files
# change together.
set -eu
cd "$(dirname "$0")"
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill gpg-agent; rm -rf "$GNUPGHOME"' EXIT
rm -f ./*.asc ./*.sig ./*.gpg ./*.fingerprint

# Everything is created on 2024-01-01, and signed an hour later.
at() {
    when=$1
    shift
    gpg --quiet --no-tty --yes --pinentry-mode loopback --passphrase '' --faked-system-time "$when" "$@"
}
made() { at '20240101T000000!' --batch "$@"; }
signed() { at '20240101T010000!' --batch "$@"; }
later() { at '20240102T000000!' "$@"; }

key() { # name, algorithm, usage, expiry
    made --quick-generate-key "$1 <$1@example.com>" "$2" "$3" "$4"
}
fingerprint() { gpg --batch --list-keys --with-colons "$1@example.com" | sed -n 's/^fpr:*\([0-9A-F]*\):.*/\1/p'; }
export_key() { gpg --quiet --batch --armor --export "$1@example.com" >"$1.asc"; }
sign() { # name, file, further arguments
    name=$1 file=$2
    shift 2
    signed --local-user "$name@example.com" "$@" --output "$file" --detach-sign SHA256SUMS
}

for name in rsa2048 dsa2048 ed25519 nistp256 nistp384; do
    key "$name" "$name" sign never
    export_key "$name"
    sign "$name" "$name.sig"
done

# Keys that only clients can check.
for name in nistp521 brainpoolP256r1; do
    key "$name" "$name" sign never
    export_key "$name"
done

# The default of gpg: a primary key that signs, and a subkey that encrypts.
key default future-default default never
export_key default
sign default default.sig
sign default default-armored.asc --armor
sign default text.sig --textmode
sign default sha1.sig --digest-algo SHA1
sign default sha224.sig --digest-algo SHA224
sign default sha384.sig --digest-algo SHA384
sign default notation.sig --sig-notation '!unknown@example.com=1'
sign default expiring.sig --default-sig-expire 1d
signed --local-user default@example.com --output inline.gpg --sign SHA256SUMS
signed --local-user default@example.com --output clear.asc --clear-sign SHA256SUMS
cat rsa2048.sig default.sig >two-signers.sig

# An RSA key with an encryption subkey that Terraform before 1.6.0 does not support.
key rsa2048-cv25519 rsa2048 sign never
made --quick-add-key "$(fingerprint rsa2048-cv25519 | head -1)" cv25519 encr never
export_key rsa2048-cv25519

# A primary key that only certifies, and a subkey that signs.
key subkey ed25519 cert never
made --quick-add-key "$(fingerprint subkey | head -1)" ed25519 sign never
export_key subkey
sign subkey subkey.sig

# A revoked signing subkey beside a valid one.
key revoked-subkey ed25519 cert never
made --quick-add-key "$(fingerprint revoked-subkey | head -1)" ed25519 sign never
sign revoked-subkey revoked-subkey.sig
made --quick-add-key "$(fingerprint revoked-subkey | head -1)" rsa2048 sign never
printf 'key 1\nrevkey\ny\n0\n\ny\nsave\n' |
    later --command-fd 0 --edit-key revoked-subkey@example.com
export_key revoked-subkey

# A key that expires after one year.
key expiring ed25519 sign 1y
export_key expiring
sign expiring expiring-key.sig

# A revoked key: gpg keeps a revocation ready, disabled by a leading colon.
key revoked ed25519 sign never
sed 's/^:---/---/' "$GNUPGHOME/openpgp-revocs.d/$(fingerprint revoked).rev" | gpg --quiet --batch --import
export_key revoked

# A key that may only certify.
key certify-only ed25519 cert never
export_key certify-only

# Two user IDs, the older one revoked.
key two-names ed25519 sign never
signed --quick-add-uid two-names@example.com 'Second <second@example.com>'
later --batch --quick-revoke-uid two-names@example.com 'two-names <two-names@example.com>'
gpg --quiet --batch --armor --export second@example.com >two-names.asc
later --batch --local-user second@example.com --output two-names.sig --detach-sign SHA256SUMS

# A key also certified by a third party, which clients ignore.
gpg --quiet --batch --export ed25519@example.com | gpg --quiet --batch --import
made --local-user rsa2048@example.com --quick-sign-key "$(fingerprint ed25519)"
gpg --quiet --batch --armor --export ed25519@example.com >certified.asc

gpg --quiet --batch --armor --export rsa2048@example.com ed25519@example.com >two-keys.asc
fingerprint ed25519 >ed25519.fingerprint
