package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
)

const noteType = "application/vnd.example.note"

type referred struct {
	Subject  digest.Digest   `json:"subject"`
	Referrer digest.Digest   `json:"referrer"`
	All      []digest.Digest `json:"all"`
	OfType   []digest.Digest `json:"ofType"`
	OfOther  []digest.Digest `json:"ofOther"`
	Deleted  []digest.Digest `json:"deleted"`
}

// refer attaches a note to the manifest of a tag as `oras attach` does, discovers it, and deletes it.
func refer(ctx context.Context, registry *registry, args []string) (any, error) {
	name, tag := args[0], args[1]
	repository, err := registry.repository(name)
	if err != nil {
		return nil, err
	}
	subject, err := repository.Resolve(ctx, tag)
	if err != nil {
		return nil, err
	}
	note, err := oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, noteType, oras.PackManifestOptions{Subject: &subject})
	if err != nil {
		return nil, err
	}
	seen := referred{Subject: subject.Digest, Referrer: note.Digest, OfType: digests(nil), OfOther: digests(nil)}
	predecessors, err := repository.Predecessors(ctx, subject)
	if err != nil {
		return nil, err
	}
	seen.All = digests(predecessors)
	for artifactType, found := range map[string]*[]digest.Digest{noteType: &seen.OfType, "application/vnd.example.other": &seen.OfOther} {
		err := repository.Referrers(ctx, subject, artifactType, func(page []ocispec.Descriptor) error {
			*found = append(*found, digests(page)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := repository.Delete(ctx, note); err != nil {
		return nil, err
	}
	predecessors, err = repository.Predecessors(ctx, subject)
	seen.Deleted = digests(predecessors)
	return seen, err
}

func digests(described []ocispec.Descriptor) []digest.Digest {
	found := []digest.Digest{}
	for _, one := range described {
		found = append(found, one.Digest)
	}
	return found
}

// remove pushes an artifact, deletes its manifest by digest and by tag, and deletes its blob.
func remove(ctx context.Context, registry *registry, args []string) (any, error) {
	name, tag := args[0], args[1]
	repository, err := registry.repository(name)
	if err != nil {
		return nil, err
	}
	blob, err := oras.PushBytes(ctx, repository, "text/plain", []byte("something that will be deleted"))
	if err != nil {
		return nil, err
	}
	layout := memory.New()
	manifest, err := oras.PackManifest(ctx, layout, oras.PackManifestVersion1_1, noteType, oras.PackManifestOptions{
		Layers:           []ocispec.Descriptor{blob},
		ConfigDescriptor: &blob,
	})
	if err != nil {
		return nil, err
	}
	text, err := content.FetchAll(ctx, layout, manifest)
	if err != nil {
		return nil, err
	}
	if err := repository.Push(ctx, manifest, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	if err := repository.PushReference(ctx, manifest, bytes.NewReader(text), tag); err != nil {
		return nil, err
	}
	if _, err := repository.Resolve(ctx, tag); err != nil {
		return nil, err
	}
	for _, described := range []ocispec.Descriptor{manifest, blob} {
		if err := repository.Delete(ctx, described); err != nil {
			return nil, err
		}
		there, err := repository.Exists(ctx, described)
		if err != nil {
			return nil, err
		}
		if there {
			return nil, fmt.Errorf("%s is still there", described.Digest)
		}
	}
	return pushed{manifest.Digest, []digest.Digest{blob.Digest}}, nil
}
