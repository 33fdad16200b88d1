package main

import (
	"bytes"
	"compress/flate"
	"math/bits"
	"slices"
)

// Deflate data and the content that they are meant to unpack to. Most are created by hand, with trees and
// symbols that no compressor chooses, and some of those are invalid.
func deflated(s *source) (data, content []byte) {
	if s.rarely(4) {
		content = bytes.Repeat(s.bytes(1+s.IntN(40)), s.IntN(3000))
		var out bytes.Buffer
		writer, _ := flate.NewWriter(&out, s.IntN(11)-1)
		writer.Write(content)
		writer.Close()
		return out.Bytes(), content
	}
	w := &deflater{source: s, wrong: s.rarely(2)}
	blocks := 1 + s.IntN(3)
	for block := range blocks {
		w.field(boolBit(block == blocks-1), 1)
		switch s.IntN(5) {
		case 0:
			w.stored()
		case 1:
			w.fixed()
		default:
			w.dynamic()
		}
	}
	w.field(0, (8-w.count)%8)
	if w.mistake(12) {
		w.out = append(w.out, s.bytes(1+s.IntN(3))...)
	}
	return w.out, w.content
}

// A writer of deflate data. `wrong` states whether it makes mistakes.
type deflater struct {
	*source
	wrong   bool
	out     []byte
	content []byte
	bits    uint64
	count   int
}

func (w *deflater) mistake(n int) bool { return w.wrong && w.rarely(n) }

// Writes a number with its lowest bit first.
func (w *deflater) field(value, length int) {
	w.bits |= uint64(value) << w.count
	for w.count += length; w.count >= 8; w.count -= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
}

// Writes a Huffman code, with its highest bit first. A symbol without a code is left out.
func (w *deflater) symbol(tree *tree, symbol int) {
	if symbol < len(tree.lengths) && tree.lengths[symbol] > 0 {
		length := tree.lengths[symbol]
		w.field(int(bits.Reverse32(uint32(tree.codes[symbol]))>>(32-length)), length)
	}
}

func (w *deflater) stored() {
	w.field(0, 2)
	w.field(0, (8-w.count)%8)
	content := w.bytes(w.IntN(300))
	if w.rarely(30) {
		content = bytes.Repeat(content, 200)
	}
	length := len(content) & 0xffff
	content = content[:length]
	check := length ^ 0xffff
	if w.mistake(6) {
		check ^= 1 << w.IntN(16)
	}
	w.field(length, 16)
	w.field(check, 16)
	for _, char := range content {
		w.field(int(char), 8)
	}
	w.content = append(w.content, content...)
}

func (w *deflater) fixed() {
	kind := 1
	if w.mistake(12) {
		kind = 3
	}
	w.field(kind, 2)
	lengths := slices.Concat(repeated(8, 144), repeated(9, 112), repeated(7, 24), repeated(8, 8))
	w.symbols(newTree(lengths), newTree(repeated(5, 32)), allBelow(286), allBelow(30))
}

func (w *deflater) dynamic() {
	w.field(2, 2)
	literals, distances := w.chosen(286, 257, 60), w.chosen(30, 1, 12)
	literals = append(literals, 256)
	if w.rarely(6) {
		literals = []int{256}
	}
	if w.mistake(10) {
		literals = literals[:len(literals)-1]
	}
	switch w.IntN(6) {
	case 0:
		distances = nil
	case 1:
		distances = distances[:1]
	}
	literalLengths, distanceLengths := w.lengths(286, literals, 15), w.lengths(30, distances, 15)
	nLiterals, nDistances := used(literalLengths, 257), used(distanceLengths, 1)
	if w.rarely(3) {
		nLiterals, nDistances = 286, 30
	}
	if w.mistake(12) {
		nLiterals, literalLengths = 287+w.IntN(2), append(literalLengths, w.IntN(3), 0)
	}
	if w.mistake(12) {
		nDistances, distanceLengths = 31+w.IntN(2), append(distanceLengths, w.IntN(3), 0)
	}
	all := append(append([]int(nil), literalLengths[:nLiterals]...), distanceLengths[:nDistances]...)
	w.codeLengths(nLiterals, nDistances, all)
	w.symbols(newTree(literalLengths[:nLiterals]), newTree(distanceLengths[:nDistances]), literals, distances)
}

// Returns some symbols below a limit; the first ones up to `common` are more likely.
func (w *deflater) chosen(limit, common, most int) []int {
	var chosen []int
	taken := map[int]bool{256: true}
	for range 1 + w.IntN(most) {
		symbol := w.IntN(limit)
		if w.rarely(2) {
			symbol = w.IntN(common)
		}
		if limit < 256 || !taken[symbol] {
			if !taken[symbol] || limit >= 256 {
				chosen = append(chosen, symbol)
			}
			taken[symbol] = true
		}
	}
	return chosen
}

// Returns the lengths of a complete code for these symbols, or of a nearly complete one.
func (w *deflater) lengths(size int, symbols []int, most int) []int {
	lengths := make([]int, size)
	distinct := map[int]bool{}
	for _, symbol := range symbols {
		distinct[symbol] = true
	}
	leaves := []int{0}
	for len(leaves) < len(distinct) {
		leaf := w.IntN(len(leaves))
		if leaves[leaf] < most {
			leaves[leaf]++
			leaves = append(leaves, leaves[leaf])
		}
	}
	next := 0
	for symbol := range lengths {
		if distinct[symbol] {
			lengths[symbol] = max(leaves[next], 1)
			next++
		}
	}
	if w.mistake(8) && len(symbols) > 0 {
		symbol := one(w.source, symbols)
		lengths[symbol] = min(max(lengths[symbol]+1-2*w.IntN(2), 0), most)
	}
	if w.mistake(12) {
		lengths[w.IntN(size)] = 1 + w.IntN(most)
	}
	return lengths
}

// Writes the lengths of both codes, with or without repetitions, in a code of their own.
func (w *deflater) codeLengths(nLiterals, nDistances int, all []int) {
	type item struct{ symbol, extra, bits int }
	var items []item
	for i := 0; i < len(all); {
		run := 1
		for i+run < len(all) && all[i+run] == all[i] {
			run++
		}
		switch {
		case all[i] == 0 && run >= 11 && !w.rarely(8):
			run = min(run, 138)
			items = append(items, item{18, run - 11, 7})
		case all[i] == 0 && run >= 3 && !w.rarely(8):
			run = min(run, 10)
			items = append(items, item{17, run - 3, 3})
		case i > 0 && all[i] == all[i-1] && run >= 3 && !w.rarely(4):
			run = min(run, 6)
			items = append(items, item{16, run - 3, 2})
		default:
			run = 1
			items = append(items, item{symbol: all[i]})
		}
		i += run
	}
	if w.mistake(12) {
		items[len(items)-1] = item{18, 127, 7}
	}
	if w.mistake(12) {
		items[0] = item{16, 0, 2}
	}
	var symbols []int
	for _, item := range items {
		symbols = append(symbols, item.symbol)
	}
	lengths := w.lengths(19, symbols, 7)
	tree := newTree(lengths)
	order := []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	n := 4
	for i, symbol := range order {
		if lengths[symbol] > 0 {
			n = max(n, i+1)
		}
	}
	w.field(nLiterals-257, 5)
	w.field(nDistances-1, 5)
	w.field(n-4, 4)
	for _, symbol := range order[:n] {
		w.field(lengths[symbol], 3)
	}
	for _, item := range items {
		w.symbol(tree, item.symbol)
		w.field(item.extra, item.bits)
	}
}

// Writes symbols and an end of the block.
func (w *deflater) symbols(literals, distances *tree, chosen, chosenDistances []int) {
	for range w.IntN(400) {
		symbol := one(w.source, append(chosen, 256))
		if w.mistake(200) {
			symbol = 286 + w.IntN(2)
		}
		switch {
		case symbol < 256:
			w.symbol(literals, symbol)
			w.content = append(w.content, byte(symbol))
		case symbol > 256:
			w.match(literals, distances, symbol, chosenDistances)
		}
	}
	if !w.mistake(20) {
		w.symbol(literals, 256)
	}
}

func (w *deflater) match(literals, distances *tree, symbol int, chosen []int) {
	if len(chosen) == 0 && !w.mistake(50) {
		return
	}
	length, lengthBits, lengthExtra := 258, 0, 0
	if symbol < 285 {
		lengthBits = max((symbol-261)/4, 0)
		lengthExtra = w.IntN(1 << lengthBits)
		length = lengthBase(symbol) + lengthExtra
	}
	code := w.IntN(30)
	if len(chosen) > 0 {
		code = one(w.source, chosen)
	}
	distanceBits := max(code/2-1, 0)
	extra := w.IntN(1 << distanceBits)
	base := code + 1
	if code > 3 {
		base = 1 + (2+code&1)<<distanceBits
	}
	// Mostly up to the first byte.
	if base+extra > len(w.content) && base <= len(w.content) {
		extra = len(w.content) - base
	}
	distance := base + extra
	if distance > len(w.content) && !w.mistake(20) {
		return
	}
	if w.mistake(200) {
		code = 30 + w.IntN(2)
	}
	w.symbol(literals, symbol)
	w.field(lengthExtra, lengthBits)
	w.symbol(distances, code)
	w.field(extra, distanceBits)
	for range length {
		var char byte
		// A lenient reader treats missing bytes as zeros.
		if distance <= len(w.content) {
			char = w.content[len(w.content)-distance]
		}
		w.content = append(w.content, char)
	}
}

func lengthBase(symbol int) int {
	if symbol < 265 {
		return symbol - 254
	}
	extra := (symbol - 261) / 4
	return 3 + (4+(symbol-261)%4)<<extra
}

// A canonical Huffman code (RFC 1951, section 3.2.2).
type tree struct{ lengths, codes []int }

func newTree(lengths []int) *tree {
	tree := &tree{lengths, make([]int, len(lengths))}
	code := 0
	for length := 1; length <= 15; length++ {
		for symbol, of := range lengths {
			if of == length {
				tree.codes[symbol] = code & (1<<length - 1)
				code++
			}
		}
		code <<= 1
	}
	return tree
}

// Returns the number of lengths to write: all up to the last that is not zero, and at least a minimum.
func used(lengths []int, least int) int {
	n := least
	for i, length := range lengths {
		if length > 0 {
			n = max(n, i+1)
		}
	}
	return n
}

func repeated(length, count int) []int { return slices.Repeat([]int{length}, count) }

func allBelow(limit int) []int {
	all := make([]int, limit)
	for i := range all {
		all[i] = i
	}
	return all
}

func boolBit(value bool) int {
	if value {
		return 1
	}
	return 0
}
