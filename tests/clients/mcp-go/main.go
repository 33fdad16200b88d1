// A client of the Model Context Protocol with the official Go SDK. It connects over HTTP to a URL, or to a program by stdio,
// lists the tools, calls those on standard input, and prints the answers as JSON.
//
//	mcp-go-client REVISION URL [TOKEN]
//	mcp-go-client REVISION -- PROGRAM ARGUMENT...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

type report struct {
	Revision  string   `json:"revision"`
	Tools     []string `json:"tools"`
	Answers   []any    `json:"answers"`
	Resources []string `json:"resources"`
	Document  string   `json:"document"`
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(request)
}

func transport(arguments []string) mcp.Transport {
	if arguments[0] == "--" {
		command := exec.Command(arguments[1], arguments[2:]...)
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command}
	}
	token := ""
	if len(arguments) > 1 {
		token = arguments[1]
	}
	return &mcp.StreamableClientTransport{
		Endpoint:   arguments[0],
		HTTPClient: &http.Client{Transport: bearer{token}},
	}
}

func run(revision string, arguments []string) (*report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var calls []call
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport(arguments), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	found := &report{Revision: session.InitializeResult().ProtocolVersion}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools.Tools {
		found.Tools = append(found.Tools, tool.Name)
	}
	for _, call := range calls {
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.Name, Arguments: call.Arguments})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.Name, err)
		}
		if answer.IsError {
			return nil, fmt.Errorf("%s: %v", call.Name, answer.Content[0])
		}
		found.Answers = append(found.Answers, answer.StructuredContent)
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, resource := range resources.Resources {
		found.Resources = append(found.Resources, resource.URI)
	}
	document, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: found.Resources[0]})
	if err != nil {
		return nil, err
	}
	found.Document = document.Contents[0].Text
	return found, nil
}

func main() {
	found, err := run(os.Args[1], os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
