package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Terrace's verdict on a case.
type verdict struct {
	Accepted bool     `json:"accepted"`
	Rules    []string `json:"rules"`
	Messages []string `json:"messages"`
	// The result for archives.
	Entries []entry `json:"entries"`
	// The result for keys and signatures.
	Served struct {
		Keys      []string `json:"keys"`
		Signature []byte   `json:"signature"`
	} `json:"served"`
}

// An entry of an archive. A nil mode means that clients do not take it from the archive.
type entry struct {
	Name string  `json:"name"`
	Kind string  `json:"kind"`
	Size uint64  `json:"size"`
	Mode *uint32 `json:"mode"`
}

// The running example program `verdicts`.
type terrace struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startTerrace(path string) (*terrace, error) {
	command := exec.Command(path)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("-verdicts: %w", err)
	}
	return &terrace{command, in, bufio.NewReaderSize(out, 1<<20)}, nil
}

func (t *terrace) stop() {
	t.in.Close()
	t.command.Wait()
}

func (t *terrace) judge(kind byte, data []byte) (verdict, error) {
	frame := append([]byte{kind}, sized(data)...)
	if _, err := t.in.Write(frame); err != nil {
		return verdict{}, fmt.Errorf("Terrace ended: %w", err)
	}
	line, err := t.out.ReadBytes('\n')
	if err != nil {
		return verdict{}, fmt.Errorf("Terrace has no verdict: %w", err)
	}
	var said verdict
	return said, json.Unmarshal(line, &said)
}

// Encodes a length of four bytes, and the bytes.
func sized(data []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// Decodes the parts that `sized` encoded.
func parts(data []byte) ([][]byte, error) {
	var parts [][]byte
	for len(data) > 0 {
		if len(data) < 4 || uint64(len(data)-4) < uint64(binary.LittleEndian.Uint32(data)) {
			return nil, fmt.Errorf("a part of the case is truncated")
		}
		end := 4 + binary.LittleEndian.Uint32(data)
		parts = append(parts, data[4:end])
		data = data[end:]
	}
	return parts, nil
}
