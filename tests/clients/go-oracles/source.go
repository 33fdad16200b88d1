package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Random choices that follow from a seed, and the files that cases are derived from.
type source struct {
	*rand.Rand
	// The corpus of the fuzz target of the same name.
	corpus [][]byte
	// The keys and the signatures of the OpenPGP tests.
	keys, signatures [][]byte
	signed           []byte
	// The larger this number, the rarer are unusual choices.
	care int
}

func newSource(root, name string, seed uint64) (*source, error) {
	s := &source{Rand: rand.New(rand.NewPCG(seed, 0)), care: 1}
	testdata := filepath.Join(root, "crates", "terrace-openpgp", "testdata")
	var err error
	if s.corpus, err = files(filepath.Join(root, "fuzz", "corpus", name, "*")); err != nil {
		return nil, err
	}
	if s.keys, err = files(filepath.Join(testdata, "*.asc")); err != nil {
		return nil, err
	}
	if s.signatures, err = files(filepath.Join(testdata, "*.sig")); err != nil {
		return nil, err
	}
	s.signed, err = os.ReadFile(filepath.Join(testdata, "SHA256SUMS"))
	return s, err
}

// Returns the files in the order of their names, so that cases follow from the seed.
func files(pattern string) ([][]byte, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no files %s", pattern)
	}
	var all [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func one[T any](s *source, from []T) T { return from[s.IntN(len(from))] }

// Returns whether an event of probability 1/n happens.
func (s *source) rarely(n int) bool { return s.IntN(n) == 0 }

// Returns whether to make a choice that mostly makes a case invalid.
func (s *source) odd(n int) bool { return s.rarely(n * s.care) }

func (s *source) bytes(n int) []byte {
	all := make([]byte, n)
	for i := range all {
		all[i] = byte(s.Uint32())
	}
	return all
}

// Returns a copy with some bytes changed, removed, doubled, or taken from another case.
func (s *source) changed(data []byte, others [][]byte) []byte {
	data = append([]byte(nil), data...)
	for range 1 + s.IntN(3) {
		at := s.IntN(len(data) + 1)
		end := min(at+s.IntN(17), len(data))
		switch s.IntN(6) {
		case 0, 1:
			if at < len(data) {
				data[at] = byte(s.Uint32())
			}
		case 2:
			if at < len(data) {
				data[at] ^= 1 << s.IntN(8)
			}
		case 3:
			data = append(data[:at], data[end:]...)
		case 4:
			data = append(data[:end:end], append(data[at:end:end], data[end:]...)...)
		default:
			other := one(s, others)
			from := s.IntN(len(other) + 1)
			to := min(from+s.IntN(64), len(other))
			data = append(data[:at:at], append(other[from:to:to], data[end:]...)...)
		}
	}
	return data
}
