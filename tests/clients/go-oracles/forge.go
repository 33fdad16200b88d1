package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	_ "crypto/sha512"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
)

// The usual time at which keys and signatures are created: 2024-01-01.
const made = 1_704_067_200

// The types of signatures and packets that are created here (RFC 9580, sections 5.2.1 and 5).
const (
	binarySignature, textSignature                      = 0x00, 0x01
	genericCertification, positiveCertification         = 0x10, 0x13
	subkeyBinding, primaryKeyBinding, directKey         = 0x18, 0x19, 0x1f
	keyRevocation, subkeyRevocation, certificateRevoked = 0x20, 0x28, 0x30

	tagSignature, tagKey, tagUserID, tagSubkey, tagAttribute = 2, 6, 13, 14, 17
)

// Creates a certificate of any shape, a text, and detached signatures over it, mostly by its keys. The
// numbers are valid where they are meant to be, so that the rules decide.
func forged(s *source) (certificate, signed, signature []byte) {
	s.care = one(s, []int{1, 4, 20})
	primary, subkey, other := newForger(s, 1), newForger(s, 2), newForger(s, 3)
	if primary.version == 6 || s.rarely(4) {
		subkey.version = primary.version
		subkey.secret = one(s, []any{subkey.secret, primary.secret})
	}
	certificate = primary.certificate(s, subkey, other)
	signed = []byte("a line\nanother \r\nand the last")
	for range 1 + max(s.IntN(6)-4, 0) {
		signer := primary
		if s.rarely(4) {
			signer = subkey
		}
		if s.odd(12) {
			signer = other
		}
		kind, data := byte(binarySignature), signed
		if s.rarely(6) {
			kind = textSignature
			data = bytes.ReplaceAll(bytes.ReplaceAll(signed, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}
		if s.odd(30) {
			kind = byte(s.IntN(256))
		}
		signature = append(signature, packetOf(s, tagSignature, signer.sign(s, kind, s.detachedArea(signer), data))...)
		if s.odd(20) {
			signature = append(signature, s.strangePacket()...)
		}
	}
	return certificate, signed, signature
}

// A signing key: Ed25519 of both versions, ECDSA on P-256, RSA.
type forger struct {
	version byte
	created uint32
	secret  any
}

func newForger(s *source, seed byte) *forger {
	key := &forger{version: 4, created: made}
	key.secret = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	switch s.IntN(8) {
	case 0:
		key.version = 6
	case 1:
		key.secret = ecdsaKey(seed)
	case 2:
		key.secret = rsaKey
	}
	if s.odd(20) {
		key.created = one(s, []uint32{0, made - 1, made + 1, made + 90_000, 0xffffffff})
	}
	return key
}

func (key *forger) certificate(s *source, subkey, other *forger) []byte {
	var all [][]byte
	add := func(tag byte, body []byte) { all = append(all, packetOf(s, tag, body)) }
	add(tagKey, key.body())
	if key.version == 6 || s.odd(8) {
		add(tagSignature, key.sign(s, directKey, s.certifyingArea(key), key.hashed()))
	}
	if s.odd(25) {
		add(tagSignature, key.sign(s, keyRevocation, s.revokingArea(key), key.hashed()))
	}
	ids := []string{"somebody", "somebody else", "somebody", ""}
	for range 1 + max(s.IntN(6)-4, 0) {
		id := one(s, ids)
		add(tagUserID, []byte(id))
		data := append(key.hashed(), 0xb4)
		data = binary.BigEndian.AppendUint32(data, uint32(len(id)))
		data = append(data, id...)
		for range 1 + max(s.IntN(6)-4, 0) {
			switch s.IntN(12 * s.care) {
			case 0:
				add(tagSignature, other.sign(s, genericCertification, s.certifyingArea(other), data))
			case 1:
				add(tagSignature, key.sign(s, certificateRevoked, s.revokingArea(key), data))
			case 2:
				add(tagSignature, key.sign(s, byte(0x0f+s.IntN(6)), s.certifyingArea(key), data))
			default:
				add(tagSignature, key.sign(s, positiveCertification, s.certifyingArea(key), data))
			}
		}
	}
	if s.odd(15) {
		add(tagAttribute, s.bytes(s.IntN(20)))
	}
	for range (s.IntN(6) + 1) / 3 {
		add(tagSubkey, subkey.body())
		data := append(key.hashed(), subkey.hashed()...)
		for range 1 + max(s.IntN(6)-4, 0) {
			switch s.IntN(12 * s.care) {
			case 0:
				add(tagSignature, key.sign(s, subkeyRevocation, s.revokingArea(key), data))
			case 1:
				add(tagSignature, key.sign(s, byte(s.IntN(256)), s.bindingArea(key, subkey, data), data))
			default:
				add(tagSignature, key.sign(s, subkeyBinding, s.bindingArea(key, subkey, data), data))
			}
		}
	}
	if s.odd(12) {
		at := s.IntN(len(all) + 1)
		all = append(all[:at:at], append([][]byte{s.strangePacket()}, all[at:]...)...)
	}
	if s.odd(15) {
		a, b := s.IntN(len(all)), s.IntN(len(all))
		all[a], all[b] = all[b], all[a]
	}
	return bytes.Join(all, nil)
}

func (s *source) strangePacket() []byte {
	tag := one(s, []byte{10, 12, 21, 1, 8, 11, 20, 22, 39, 40, 60, 63, 13, 2, 5})
	body := s.bytes(s.IntN(12))
	if tag == 10 {
		body = []byte("PGP")
	}
	return packetOf(s, tag, body)
}

// --- keys

func (key *forger) body() []byte {
	body := binary.BigEndian.AppendUint32([]byte{key.version}, key.created)
	body = append(body, key.algorithm())
	material := key.material()
	if key.version == 6 {
		body = binary.BigEndian.AppendUint32(body, uint32(len(material)))
	}
	return append(body, material...)
}

func (key *forger) algorithm() byte {
	switch key.secret.(type) {
	case *ecdsa.PrivateKey:
		return 19
	case *rsa.PrivateKey:
		return 1
	}
	if key.version == 6 {
		return 27
	}
	return 22
}

func (key *forger) material() []byte {
	switch secret := key.secret.(type) {
	case *ecdsa.PrivateKey:
		point, _ := secret.PublicKey.Bytes()
		return append([]byte{8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07}, mpi(point)...)
	case *rsa.PrivateKey:
		return append(mpi(secret.N.Bytes()), mpi(big.NewInt(int64(secret.E)).Bytes())...)
	case ed25519.PrivateKey:
		point := secret.Public().(ed25519.PublicKey)
		if key.version == 6 {
			return point
		}
		oid := []byte{9, 0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x0F, 0x01}
		return append(oid, mpi(append([]byte{0x40}, point...))...)
	}
	panic("no such key")
}

// Returns the bytes of the key that enter hashes.
func (key *forger) hashed() []byte {
	body := key.body()
	if key.version == 6 {
		return append(binary.BigEndian.AppendUint32([]byte{0x9b}, uint32(len(body))), body...)
	}
	return append(binary.BigEndian.AppendUint16([]byte{0x99}, uint16(len(body))), body...)
}

func (key *forger) fingerprint() []byte {
	if key.version == 6 {
		digest := sha256.Sum256(key.hashed())
		return digest[:]
	}
	digest := sha1.Sum(key.hashed())
	return digest[:]
}

func (key *forger) id() []byte {
	if key.version == 6 {
		return key.fingerprint()[:8]
	}
	return key.fingerprint()[12:]
}

// --- signatures

// The subpackets of a signature.
type areas struct{ hashed, unhashed []byte }

var hashes = map[byte]crypto.Hash{2: crypto.SHA1, 8: crypto.SHA256, 9: crypto.SHA384, 10: crypto.SHA512, 11: crypto.SHA224}

func (key *forger) sign(s *source, kind byte, area areas, data []byte) []byte {
	id := one(s, []byte{8, 8, 8, 10, 9, 11, 2})
	body := []byte{key.version, kind, key.algorithm(), id}
	if s.odd(150) {
		body[0] = byte(s.IntN(8))
	}
	if s.odd(150) {
		body[2] = byte(s.IntN(30))
	}
	body = append(body, key.area(area.hashed)...)
	suffix := append(append([]byte(nil), body...), body[0], 0xff)
	suffix = binary.BigEndian.AppendUint32(suffix, uint32(len(body)))
	var salt []byte
	if key.version == 6 {
		salt = s.bytes(map[byte]int{8: 16, 9: 24, 10: 32, 11: 16, 2: 16}[id])
		if s.odd(60) {
			salt = s.bytes(s.IntN(40))
		}
	}
	digest := digestOfAll(id, salt, data, suffix)
	body = append(body, key.area(area.unhashed)...)
	tag := append([]byte(nil), digest[:2]...)
	if s.odd(60) {
		tag[0] ^= 1
	}
	body = append(body, tag...)
	if key.version == 6 {
		body = append(append(body, byte(len(salt))), salt...)
	}
	return append(body, key.numbers(s, id, digest)...)
}

func (key *forger) area(subpackets []byte) []byte {
	if key.version == 6 {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(subpackets))), subpackets...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(subpackets))), subpackets...)
}

func digestOfAll(id byte, parts ...[]byte) []byte {
	hash := hashes[id].New()
	hash.Write(bytes.Join(parts, nil))
	return hash.Sum(nil)
}

func (key *forger) numbers(s *source, id byte, digest []byte) []byte {
	switch secret := key.secret.(type) {
	case *ecdsa.PrivateKey:
		der, err := secret.Sign(nil, digest, hashes[id])
		if err != nil {
			panic(err)
		}
		var numbers struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(der, &numbers); err != nil {
			panic(err)
		}
		return append(s.mpi(numbers.R.Bytes()), s.mpi(numbers.S.Bytes())...)
	case *rsa.PrivateKey:
		signature, err := rsa.SignPKCS1v15(nil, secret, hashes[id], digest)
		if err != nil {
			panic(err)
		}
		return s.mpi(signature)
	case ed25519.PrivateKey:
		signature := ed25519.Sign(secret, digest)
		if s.odd(60) {
			signature[s.IntN(64)] ^= 1 << s.IntN(8)
		}
		if key.version == 6 {
			return signature
		}
		return append(s.mpi(signature[:32]), s.mpi(signature[32:])...)
	}
	panic("no such key")
}

// --- subpackets

func (s *source) detachedArea(key *forger) areas {
	area := s.commonArea(key)
	if s.odd(8) {
		area.add(s, s.subpacket(27, []byte{byte(s.IntN(256))}))
	}
	return area
}

func (s *source) certifyingArea(key *forger) areas {
	area := s.commonArea(key)
	if !s.odd(12) {
		area.add(s, s.subpacket(27, s.keyFlags()))
	}
	if s.odd(8) {
		area.add(s, s.subpacket(9, s.seconds()))
	}
	if s.rarely(4) {
		area.add(s, s.subpacket(25, []byte{byte(s.IntN(3))}))
	}
	return area
}

func (s *source) revokingArea(key *forger) areas {
	area := s.commonArea(key)
	if !s.rarely(3) {
		area.add(s, s.subpacket(29, append([]byte{byte(s.IntN(5))}, "why"...)))
	}
	return area
}

func (s *source) bindingArea(key, subkey *forger, data []byte) areas {
	area := s.commonArea(key)
	if !s.odd(12) {
		area.add(s, s.subpacket(27, s.keyFlags()))
	}
	if s.odd(8) {
		area.add(s, s.subpacket(9, s.seconds()))
	}
	if !s.odd(12) {
		kind := byte(primaryKeyBinding)
		if s.odd(30) {
			kind = byte(s.IntN(256))
		}
		embedded := s.subpacket(32, subkey.sign(s, kind, s.commonArea(subkey), data))
		if s.rarely(2) {
			area.unhashed = append(area.unhashed, embedded...)
		} else {
			area.hashed = append(area.hashed, embedded...)
		}
	}
	return area
}

func (s *source) keyFlags() []byte {
	return one(s, [][]byte{{3}, {3}, {3}, {2}, {1}, {0}, {}, {3, 4}, {0xff}, {0x2e}})
}

func (s *source) seconds() []byte {
	seconds := binary.BigEndian.AppendUint32(nil, one(s, []uint32{0, 1, 86_399, 86_400, 86_401, 400_000_000, 0xffffffff}))
	if s.odd(20) {
		return seconds[:s.IntN(4)]
	}
	return seconds
}

// A creation time and an issuer, and rarely other subpackets.
func (s *source) commonArea(key *forger) areas {
	var area areas
	if !s.odd(40) {
		at := uint32(made)
		if s.odd(10) {
			at = one(s, []uint32{0, made - 1, made + 1, made + 86_400, made + 86_401, 0xffffffff})
		}
		area.hashed = append(area.hashed, s.subpacket(2, binary.BigEndian.AppendUint32(nil, at))...)
	}
	issuer := [][]byte{s.subpacket(33, append([]byte{key.version}, key.fingerprint()...))}
	if key.version == 4 && !s.rarely(4) {
		issuer = append(issuer, s.subpacket(16, key.id()))
	}
	if s.odd(30) {
		issuer = issuer[1:]
	}
	if s.odd(40) {
		issuer = append(issuer, s.subpacket(33, s.bytes(one(s, []int{0, 1, 20, 21, 33}))))
	}
	if s.odd(40) {
		issuer = append(issuer, s.subpacket(16, s.bytes(8)))
	}
	for _, subpacket := range issuer {
		area.add(s, subpacket)
	}
	if s.odd(15) {
		area.add(s, s.subpacket(3, s.seconds()))
	}
	if s.odd(12) {
		area.add(s, s.notation())
	}
	if s.odd(6) {
		kind := one(s, []byte{1, 4, 5, 6, 7, 11, 12, 20, 21, 22, 23, 24, 26, 28, 30, 31, 34, 35, 39, 2, 3, 9, 25, 27, 29, 32, 33, 60, 100, 110})
		area.add(s, s.subpacket(kind, s.bytes(one(s, []int{0, 1, 1, 2, 4, 20}))))
	}
	if s.odd(100) {
		area.hashed = append(area.hashed, s.bytes(1+s.IntN(3))...)
	}
	return area
}

func (area *areas) add(s *source, subpacket []byte) {
	if s.odd(8) {
		area.unhashed = append(area.unhashed, subpacket...)
	} else {
		area.hashed = append(area.hashed, subpacket...)
	}
}

func (s *source) notation() []byte {
	name, value := "proof@example.com", "1"
	content := []byte{byte(s.IntN(2) << 7), 0, 0, 0, 0, byte(len(name)), 0, byte(len(value))}
	if s.odd(10) {
		content[s.IntN(8)] ^= 1 << s.IntN(8)
	}
	return s.subpacket(20, append(append(content, name...), value...))
}

func (s *source) subpacket(kind byte, content []byte) []byte {
	if s.odd(12) {
		kind |= 0x80
	}
	length := len(content) + 1
	var header []byte
	switch {
	case s.odd(25):
		header = binary.BigEndian.AppendUint32([]byte{255}, uint32(length))
	case length < 192:
		header = []byte{byte(length)}
	default:
		header = []byte{byte((length-192)>>8 + 192), byte(length - 192)}
	}
	return append(append(header, kind), content...)
}

// --- packets and numbers

// Returns a packet with a length of any form.
func packetOf(s *source, tag byte, body []byte) []byte {
	length := len(body)
	switch {
	case tag < 16 && s.rarely(6) && length < 256:
		return append([]byte{0x80 | tag<<2, byte(length)}, body...)
	case tag < 16 && s.rarely(6):
		return append(binary.BigEndian.AppendUint16([]byte{0x80 | tag<<2 | 1}, uint16(length)), body...)
	case s.odd(150) && length >= 512:
		return append(append([]byte{0xc0 | tag, 0xe9}, body[:512]...), packetOf(s, tag, body[512:])[1:]...)
	case length < 192 && !s.odd(8):
		return append([]byte{0xc0 | tag, byte(length)}, body...)
	case length < 8384 && length >= 192:
		return append([]byte{0xc0 | tag, byte((length-192)>>8 + 192), byte(length - 192)}, body...)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0xc0 | tag, 255}, uint32(length)), body...)
}

func mpi(number []byte) []byte {
	number = bytes.TrimLeft(number, "\x00")
	return append(binary.BigEndian.AppendUint16(nil, uint16(new(big.Int).SetBytes(number).BitLen())), number...)
}

// Returns a number with its own bits, or, rarely, with leading zeros or another number of bits.
func (s *source) mpi(number []byte) []byte {
	if !s.odd(20) {
		return mpi(number)
	}
	number = append(make([]byte, s.IntN(3)), number...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(number)*8-s.IntN(8))), number...)
}

func ecdsaKey(seed byte) *ecdsa.PrivateKey {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		panic(err)
	}
	return key
}

// A key of 2048 bits, created for this program.
var rsaKey = newRSAKey(
	"ee09c2b03eb06825d2955378fd0bab468cd64fdcd2336774347eda7168f4f54ae02edb01e4cb377b95e30eaa2ea244ffa7bdb849d3f0fbc46a2282d0206c90a2b85ce775ad3f7f18177012379bd958d33990b23ee5ada746198d8de948a6031a8fa3f1767cb4f70c21535cfa4393dc749cf5e94f940ab21280157ffedf1eaad5",
	"d48a12b1ad9af9a8f1615e64d80d6a79b55bc5f36c8f5e1a3d77a658fe9a0014c0dd4d990114bda981650ccb2fd15ad17428c7e75c80a4f4d136aa94c97615653c7b3ed80c12507d77b9fb50936d01544208316cfb21a3578a0c59a6cbb8c18a62f744b347175b00549daa6fd337667839ed8cfc3626ba2735ae63668545e883",
)

func newRSAKey(p, q string) *rsa.PrivateKey {
	one := big.NewInt(1)
	primes := make([]*big.Int, 2)
	for i, text := range []string{p, q} {
		primes[i], _ = new(big.Int).SetString(text, 16)
	}
	key := &rsa.PrivateKey{Primes: primes}
	key.E, key.N = 65_537, new(big.Int).Mul(primes[0], primes[1])
	order := new(big.Int).Mul(new(big.Int).Sub(primes[0], one), new(big.Int).Sub(primes[1], one))
	key.D = new(big.Int).ModInverse(big.NewInt(int64(key.E)), order)
	key.Precompute()
	return key
}
