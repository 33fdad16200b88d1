package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
)

// The media types and artifact types of OpenTofu's documentation.
const (
	providerType       = "application/vnd.opentofu.provider"
	providerTargetType = "application/vnd.opentofu.provider-target"
	moduleType         = "application/vnd.opentofu.modulepkg"
	zipType            = "archive/zip"
)

type installed struct {
	Tags   []string      `json:"tags,omitempty"`
	Digest digest.Digest `json:"digest"`
	Blob   digest.Digest `json:"blob"`
}

// installProvider sends the requests of `tofu init` with an oci_mirror: the tags, the index of one of them,
// the manifest of a platform in it, and its zip, which is written to a file.
func installProvider(ctx context.Context, registry *registry, args []string) (any, error) {
	name, tag, platform, file := args[0], args[1], args[2], args[3]
	repository, err := reach(ctx, registry, name)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = repository.Tags(ctx, "", func(page []string) error {
		tags = append(tags, page...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	resolved, err := repository.Resolve(ctx, tag)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := fetchManifest(ctx, repository, resolved, ocispec.MediaTypeImageIndex, &index); err != nil {
		return nil, err
	}
	if index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != providerType {
		return nil, fmt.Errorf("%s is a %q of the type %q", tag, index.MediaType, index.ArtifactType)
	}
	target, err := targetFor(index, platform)
	if err != nil {
		return nil, err
	}
	blob, err := fetchArchive(ctx, repository, target, providerTargetType, file)
	return installed{tags, resolved.Digest, blob}, err
}

// installModule sends the requests of `tofu init` for an oci:// source, with a tag or a digest.
func installModule(ctx context.Context, registry *registry, args []string) (any, error) {
	name, reference, file := args[0], args[1], args[2]
	repository, err := reach(ctx, registry, name)
	if err != nil {
		return nil, err
	}
	resolved, err := repository.Resolve(ctx, reference)
	if err != nil {
		return nil, err
	}
	blob, err := fetchArchive(ctx, repository, resolved, moduleType, file)
	return installed{nil, resolved.Digest, blob}, err
}

// reach checks that the host is a registry, as OpenTofu does once for each repository.
func reach(ctx context.Context, registry *registry, name string) (*remote.Repository, error) {
	reached, err := remote.NewRegistry(registry.host)
	if err != nil {
		return nil, err
	}
	reached.Client = registry.client
	if err := reached.Ping(ctx); err != nil {
		return nil, err
	}
	return registry.repository(name)
}

// targetFor returns the only manifest of the index that OpenTofu would select.
func targetFor(index ocispec.Index, platform string) (found ocispec.Descriptor, err error) {
	os, architecture, _ := strings.Cut(platform, "_")
	count := 0
	for _, described := range index.Manifests {
		if described.ArtifactType != providerTargetType || described.Platform == nil {
			continue
		}
		if p := described.Platform; p.OS == os && p.Architecture == architecture && p.OSVersion == "" {
			found = described
			count++
		}
	}
	if count != 1 {
		err = fmt.Errorf("the index has %d manifests for %s", count, platform)
	}
	return found, err
}

// fetchArchive writes the only zip of a manifest to a file.
func fetchArchive(
	ctx context.Context,
	repository *remote.Repository,
	described ocispec.Descriptor,
	artifactType, file string,
) (digest.Digest, error) {
	var manifest ocispec.Manifest
	if err := fetchManifest(ctx, repository, described, ocispec.MediaTypeImageManifest, &manifest); err != nil {
		return "", err
	}
	if manifest.MediaType != described.MediaType || manifest.ArtifactType != artifactType {
		return "", fmt.Errorf("%s is a %q of the type %q", described.Digest, manifest.MediaType, manifest.ArtifactType)
	}
	var zips []ocispec.Descriptor
	for _, layer := range manifest.Layers {
		if layer.MediaType == zipType {
			zips = append(zips, layer)
		}
	}
	if len(zips) != 1 {
		return "", fmt.Errorf("%s has %d layers that are a zip", described.Digest, len(zips))
	}
	// Size and digest are verified.
	bytes, err := content.FetchAll(ctx, repository, zips[0])
	if err != nil {
		return "", err
	}
	return zips[0].Digest, os.WriteFile(file, bytes, 0o600)
}

func fetchManifest(
	ctx context.Context,
	repository *remote.Repository,
	described ocispec.Descriptor,
	mediaType string,
	manifest any,
) error {
	if described.MediaType != mediaType {
		return fmt.Errorf("%s is a %q, not a %q", described.Digest, described.MediaType, mediaType)
	}
	bytes, err := content.FetchAll(ctx, repository, described)
	if err != nil {
		return err
	}
	return json.Unmarshal(bytes, manifest)
}
