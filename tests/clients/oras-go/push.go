package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
)

type pushed struct {
	Digest digest.Digest   `json:"digest"`
	Blobs  []digest.Digest `json:"blobs"`
}

// pushProvider builds a provider from the zips in a directory, each named by its platform, as OpenTofu's page
// describes, and pushes it as `oras cp` does: the manifests and blobs of the index by digest, and then the
// index by its tag.
func pushProvider(ctx context.Context, registry *registry, args []string) (any, error) {
	name, tag, directory := args[0], args[1], args[2]
	repository, err := registry.repository(name)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.zip"))
	if err != nil {
		return nil, err
	}
	layout := memory.New()
	index := ocispec.Index{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageIndex,
		ArtifactType: providerType,
	}
	var blobs []digest.Digest
	for _, file := range files {
		zip, target, err := pack(ctx, layout, file)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, zip.Digest)
		index.Manifests = append(index.Manifests, target)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	described, err := oras.TagBytes(ctx, layout, ocispec.MediaTypeImageIndex, text, tag)
	if err != nil {
		return nil, err
	}
	if _, err := oras.Copy(ctx, layout, tag, repository, tag, oras.DefaultCopyOptions); err != nil {
		return nil, err
	}
	return pushed{described.Digest, blobs}, nil
}

// pack creates the manifest of one platform, with the platform in its config as `oras push
// --artifact-platform` does.
func pack(ctx context.Context, layout *memory.Store, file string) (zip, target ocispec.Descriptor, err error) {
	archive, err := os.ReadFile(file)
	if err != nil {
		return zip, target, err
	}
	if zip, err = oras.PushBytes(ctx, layout, zipType, archive); err != nil {
		return zip, target, err
	}
	name := filepath.Base(file)
	os, architecture, _ := strings.Cut(strings.TrimSuffix(name, ".zip"), "_")
	platform := ocispec.Platform{OS: os, Architecture: architecture}
	text, err := json.Marshal(platform)
	if err != nil {
		return zip, target, err
	}
	config, err := oras.PushBytes(ctx, layout, ocispec.MediaTypeImageConfig, text)
	if err != nil {
		return zip, target, err
	}
	zip.Annotations = map[string]string{ocispec.AnnotationTitle: name}
	target, err = oras.PackManifest(ctx, layout, oras.PackManifestVersion1_1, providerTargetType, oras.PackManifestOptions{
		Layers:           []ocispec.Descriptor{zip},
		ConfigDescriptor: &config,
		// Without a fixed time, the manifest would change each second.
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "2000-01-01T00:00:00Z"},
	})
	target.Platform = &platform
	return zip, target, err
}

type mounted struct {
	Digest  digest.Digest `json:"digest"`
	Mounted int32         `json:"mounted"`
	Copied  int32         `json:"copied"`
}

// mount copies within the registry as `oras cp` does: blobs are mounted from their repository.
func mount(ctx context.Context, registry *registry, args []string) (any, error) {
	from, to, tag := args[0], args[1], args[2]
	source, err := registry.repository(from)
	if err != nil {
		return nil, err
	}
	target, err := registry.repository(to)
	if err != nil {
		return nil, err
	}
	var seen mounted
	options := oras.DefaultCopyOptions
	options.MountFrom = func(context.Context, ocispec.Descriptor) ([]string, error) { return []string{from}, nil }
	options.OnMounted = func(context.Context, ocispec.Descriptor) error {
		atomic.AddInt32(&seen.Mounted, 1)
		return nil
	}
	options.PostCopy = func(_ context.Context, described ocispec.Descriptor) error {
		// Manifests are always copied.
		if described.MediaType == zipType || described.MediaType == ocispec.MediaTypeImageConfig {
			atomic.AddInt32(&seen.Copied, 1)
		}
		return nil
	}
	described, err := oras.Copy(ctx, source, tag, target, tag, options)
	seen.Digest = described.Digest
	return &seen, err
}
