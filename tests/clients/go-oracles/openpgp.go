package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Keys and detached signatures, judged by the library and the calls of terraform and tofu. A case is the
// time, the keys in armour, the signed text and the signature. An accepted case is compared in the form in
// which Terrace serves it.
var openpgpOracle = oracle{"openpgp", 'p', drawOpenpgp, compareOpenpgp}

func compareOpenpgp(data []byte, terrace verdict) string {
	all, err := parts(data)
	if err != nil || len(all) != 4 || len(all[0]) != 8 {
		return ""
	}
	now := time.Unix(int64(binary.LittleEndian.Uint64(all[0])), 0)
	keys, signature := []string{string(all[1])}, all[3]
	if terrace.Accepted {
		keys, signature = terrace.Served.Keys, terrace.Served.Signature
	}
	// Among equal user IDs, clients take a random one.
	for range 8 {
		if err := verify(keys, all[2], signature, now); err != nil {
			if terrace.Accepted {
				return fmt.Sprintf("clients refuse it: %v", err)
			}
			return ""
		}
	}
	if terrace.Accepted {
		return ""
	}
	return "clients accept it" + notes(now, all[1], signature)
}

// Remarks about a case in which clients skip a part of the keys or of the signature.
func notes(now time.Time, keys, signature []byte) string {
	var notes string
	if now.Unix() < made {
		notes += tooEarly
	}
	count := map[uint8]int{}
	for _, tag := range tags(dearmored(keys)) {
		count[tag]++
	}
	if count[tagKey] > 1 {
		notes += severalKeys
	}
	if count[tagUserID] > 1 {
		notes += severalUserIDs
	}
	if len(tags(signature)) > 1 {
		notes += severalPackets
	}
	return notes
}

// Returns the tags of packets. An unreadable packet is the last, with tag 0.
func tags(packets []byte) []uint8 {
	var tags []uint8
	reader := packet.NewOpaqueReader(bytes.NewReader(packets))
	for {
		next, err := reader.Next()
		if err == io.EOF {
			return tags
		}
		if err != nil {
			return append(tags, 0)
		}
		tags = append(tags, next.Tag)
	}
}

// Tries the keys in their order: an unreadable key is fatal, an unknown issuer is not, and an expired key is
// accepted.
func verify(keys []string, signed, signature []byte, now time.Time) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("they crash: %v", reason)
		}
	}()
	config := &packet.Config{Time: func() time.Time { return now }}
	for _, key := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key))
		if err != nil {
			return fmt.Errorf("error decoding signing key: %w", err)
		}
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(signed), bytes.NewReader(signature), config)
		switch {
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
			continue
		case err != nil && !errors.Is(err, pgperrors.ErrKeyExpired):
			return fmt.Errorf("error checking signature: %w", err)
		}
		return nil
	}
	return fmt.Errorf("authentication signature from unknown issuer")
}

// Returns a time around those of the keys and signatures that are created here.
var times = []uint64{made - 1, made, made + 86_400, made + 86_400, made + 86_400, made + 86_400, 1_893_456_000}

func drawOpenpgp(s *source) []byte {
	now := binary.LittleEndian.AppendUint64(nil, one(s, times))
	keys, signed, signature := []byte(nil), s.signed, []byte(nil)
	switch s.IntN(10) {
	case 0:
		// The keys and signatures of gpg, each with its own key or another one.
		keys, signature = one(s, s.keys), one(s, s.signatures)
		if s.rarely(2) {
			signature = s.changed(signature, s.signatures)
		}
	case 1:
		keys, signature = one(s, s.keys), one(s, s.signatures)
		if packets := dearmored(keys); packets != nil {
			keys = armored(s.changed(packets, [][]byte{packets, signature}))
		}
	default:
		var certificate []byte
		certificate, signed, signature = forged(s)
		if s.odd(8) {
			certificate = s.changed(certificate, [][]byte{certificate, signature})
		}
		if s.odd(8) {
			signature = s.changed(signature, [][]byte{certificate, signature})
		}
		keys = armored(certificate)
	}
	return bytes.Join([][]byte{sized(now), sized(keys), sized(signed), sized(signature)}, nil)
}

func armored(packets []byte) []byte {
	var text bytes.Buffer
	writer, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		panic(err)
	}
	writer.Write(packets)
	writer.Close()
	return text.Bytes()
}

func dearmored(text []byte) []byte {
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	var packets bytes.Buffer
	if _, err := packets.ReadFrom(block.Body); err != nil {
		return nil
	}
	return packets.Bytes()
}
