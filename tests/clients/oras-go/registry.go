package main

import (
	"fmt"
	"net/http"
	"sync"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// registry is a host with the client's credentials; it records the requests.
type registry struct {
	host   string
	client *auth.Client
	trace  *trace
}

// newRegistry uses anonymous access if there is no password.
func newRegistry(host, password string) *registry {
	trace := &trace{}
	client := &auth.Client{
		Client: &http.Client{Transport: trace},
		Header: http.Header{"User-Agent": {"oras-go-client"}},
		Cache:  auth.NewCache(),
	}
	if password != "" {
		client.Credential = auth.StaticCredential(host, auth.Credential{Username: "anybody", Password: password})
	}
	return &registry{host, client, trace}
}

func (r *registry) repository(name string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(r.host + "/" + name)
	if err != nil {
		return nil, err
	}
	repository.Client = r.client
	return repository, nil
}

func (r *registry) requests() []string {
	r.trace.mutex.Lock()
	defer r.trace.mutex.Unlock()
	return r.trace.requests
}

// trace records each request and its answer, redirects included.
type trace struct {
	mutex    sync.Mutex
	requests []string
}

func (t *trace) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	status := 0
	if err == nil {
		status = response.StatusCode
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.requests = append(t.requests, fmt.Sprintf("%s %s %d", request.Method, request.URL.RequestURI(), status))
	return response, err
}
