// Compares Terrace's verdicts with those of the Go libraries inside terraform and tofu, over the files of its tests, many
// mutations of them, and cases that no tool creates.
//
// A case that Terrace accepts must be accepted by the libraries and read in the same way. A case that only Terrace refuses must
// be refused by a rule of `stricter.go`. The cases follow from a seed. The first case of each difference is written to a file.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A kind of cases, and the library that judges them.
type oracle struct {
	name string
	// The kind of the frames that Terrace receives.
	kind byte
	// Returns a case.
	draw func(*source) []byte
	// Returns the difference between the verdict and that of the libraries, or "".
	compare func(data []byte, terrace verdict) string
}

// The counts of the cases of one oracle.
type report struct {
	Cases        int            `json:"cases"`
	Accepted     int            `json:"accepted"`
	Refused      int            `json:"refused"`
	Stricter     map[string]int `json:"stricter"`
	Differences  []string       `json:"differences"`
	Milliseconds int64          `json:"milliseconds"`
}

func main() {
	root := flag.String("root", ".", "the checkout of Terrace")
	verdicts := flag.String("verdicts", "", "the example program `verdicts` of terrace-core")
	name := flag.String("oracle", "", "zip, tar or openpgp")
	seed := flag.Uint64("seed", 1, "the seed of the cases")
	count := flag.Int("count", 2500, "how many cases")
	keep := flag.String("keep", os.TempDir(), "the directory for cases that differ")
	flag.Parse()
	if err := run(*root, *verdicts, *name, *seed, *count, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(root, verdicts, name string, seed uint64, count int, keep string) error {
	one, err := find(name)
	if err != nil {
		return err
	}
	terrace, err := startTerrace(verdicts)
	if err != nil {
		return err
	}
	defer terrace.stop()
	source, err := newSource(root, one.name, seed)
	if err != nil {
		return err
	}
	done, err := compareAll(one, terrace, source, count, keep)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

func find(name string) (oracle, error) {
	for _, one := range []oracle{zipOracle, tarOracle, openpgpOracle} {
		if one.name == name {
			return one, nil
		}
	}
	return oracle{}, fmt.Errorf("-oracle: %q is not zip, tar or openpgp", name)
}

func compareAll(one oracle, terrace *terrace, source *source, count int, keep string) (*report, error) {
	start := time.Now()
	done := &report{Stricter: map[string]int{}, Differences: []string{}}
	seen := map[string]bool{}
	for range count {
		data := one.draw(source)
		said, err := terrace.judge(one.kind, data)
		if err != nil {
			file, _ := write(keep, one.name, len(seen), data)
			return nil, fmt.Errorf("%w; the case is in %s", err, file)
		}
		done.Cases++
		difference := differs(one, data, said)
		switch rule := stricterBy(one.name, said, difference); {
		case difference == "" && said.Accepted:
			done.Accepted++
		case difference == "":
			done.Refused++
		case !said.Accepted && rule != "":
			done.Stricter[rule]++
		case !seen[shape(difference)]:
			seen[shape(difference)] = true
			file, err := write(keep, one.name, len(seen), data)
			if err != nil {
				return nil, err
			}
			done.Differences = append(done.Differences, fmt.Sprintf("%s: %s", difference, file))
		}
	}
	done.Milliseconds = time.Since(start).Milliseconds()
	return done, nil
}

// Returns the difference. If Terrace refuses the case, it includes Terrace's rules and messages.
func differs(one oracle, data []byte, said verdict) string {
	difference := one.compare(data, said)
	if difference != "" && !said.Accepted {
		return fmt.Sprintf("%s, but Terrace refuses it: %v %v", difference, said.Rules, said.Messages)
	}
	return difference
}

// Returns the difference without its numbers, so that each kind is reported once.
func shape(difference string) string {
	var letters []rune
	for _, char := range difference {
		if char < '0' || char > '9' {
			letters = append(letters, char)
		}
	}
	return string(letters[:min(len(letters), 150)])
}

func write(directory, name string, number int, data []byte) (string, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(directory, fmt.Sprintf("%s-%d-%d.case", name, os.Getpid(), number))
	return file, os.WriteFile(file, data, 0o644)
}
