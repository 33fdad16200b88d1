module terrace.test/oras-go-client

go 1.26.0

require (
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	oras.land/oras-go/v2 v2.6.4
)

require golang.org/x/sync v0.24.0 // indirect
