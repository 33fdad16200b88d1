// Parses answers in the shape of the public registry's API with the structures of Terraform 0.12, the last version that
// other programs can import them from, and reports every field that these structures know and the answer lacks or has with
// another value.
//
// Standard input has a line for each answer: {"shape":"ModuleDetail","answer":{…}}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/hashicorp/terraform/registry/response"
)

type line struct {
	Shape  string
	Answer json.RawMessage
}

func main() {
	shapes := map[string]func() any{
		"ModuleDetail": func() any { return &response.ModuleDetail{} },
		"ModuleList":   func() any { return &response.ModuleList{} },
	}
	counts := map[string]int{}
	differences := []string{}
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 16*1024*1024)
	for scanner.Scan() {
		var read line
		if err := json.Unmarshal(scanner.Bytes(), &read); err != nil {
			fail(err)
		}
		shape, ok := shapes[read.Shape]
		if !ok {
			fail(fmt.Errorf("no shape %q", read.Shape))
		}
		counts[read.Shape]++
		parsed := shape()
		if err := json.Unmarshal(read.Answer, parsed); err != nil {
			differences = append(differences, fmt.Sprintf("%s: %v", read.Shape, err))
			continue
		}
		again, err := json.Marshal(parsed)
		if err != nil {
			fail(err)
		}
		differences = append(differences, compare(read.Shape, decoded(again), decoded(read.Answer))...)
	}
	if err := scanner.Err(); err != nil {
		fail(err)
	}
	out, err := json.Marshal(map[string]any{"counts": counts, "differences": differences})
	if err != nil {
		fail(err)
	}
	fmt.Println(string(out))
}

func decoded(text []byte) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		fail(err)
	}
	return value
}

// compare returns the places at which theirs, which Terraform's structures wrote, is not in ours.
func compare(place string, theirs, ours any) []string {
	switch theirs := theirs.(type) {
	case map[string]any:
		other, ok := ours.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v is no object", place, ours)}
		}
		var found []string
		for name, value := range theirs {
			if _, ok := other[name]; !ok {
				found = append(found, fmt.Sprintf("%s.%s is missing", place, name))
				continue
			}
			found = append(found, compare(place+"."+name, value, other[name])...)
		}
		return found
	case []any:
		other, ok := ours.([]any)
		if !ok || len(other) != len(theirs) {
			return []string{fmt.Sprintf("%s: %v is not a list of %d", place, ours, len(theirs))}
		}
		var found []string
		for at, value := range theirs {
			found = append(found, compare(fmt.Sprintf("%s[%d]", place, at), value, other[at])...)
		}
		return found
	}
	if !reflect.DeepEqual(theirs, ours) {
		return []string{fmt.Sprintf("%s: %v became %v", place, ours, theirs)}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
