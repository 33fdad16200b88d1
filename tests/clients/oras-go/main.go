// Calls a registry as OpenTofu and ORAS do, through the library that both use: the requests of OpenTofu to install a
// provider or a module, and those of ORAS to push, mount, attach and delete.
//
// It prints its observations as JSON, including every request. When a call fails, it prints the library's error and
// exits with 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

var commands = map[string]struct {
	usage string
	args  int
	run   func(context.Context, *registry, []string) (any, error)
}{
	"provider": {"REPOSITORY TAG OS_ARCH FILE", 4, installProvider},
	"module":   {"REPOSITORY REFERENCE FILE", 3, installModule},
	"push":     {"REPOSITORY TAG DIRECTORY", 3, pushProvider},
	"mount":    {"FROM TO TAG", 3, mount},
	"refer":    {"REPOSITORY TAG", 2, refer},
	"delete":   {"REPOSITORY TAG", 2, remove},
}

func main() {
	seen, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(seen)
}

func run(args []string) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("usage: oras-go-client COMMAND HOST[:PORT] …")
	}
	command, ok := commands[args[0]]
	if !ok || len(args)-2 != command.args {
		return nil, fmt.Errorf("usage: oras-go-client %s HOST[:PORT] %s", args[0], command.usage)
	}
	registry := newRegistry(args[1], os.Getenv("REGISTRY_PASSWORD"))
	seen, err := command.run(context.Background(), registry, args[2:])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return map[string]any{"seen": seen, "requests": registry.requests()}, nil
}
