package oci

import (
	"context"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Registry is a registry with the path of its repositories, as in ghcr.io/musterhq.
type Registry struct {
	Path      string
	PlainHTTP bool
}

// ParseRegistry parses a registry. The prefix http:// selects plain HTTP.
func ParseRegistry(text string) Registry {
	path, plain := strings.CutPrefix(text, "http://")
	return Registry{Path: strings.TrimSuffix(path, "/"), PlainHTTP: plain}
}

// Repository returns a repository of the registry, with the credentials of docker login.
func (r Registry) Repository(name string) (*remote.Repository, error) {
	repo, err := remote.NewRepository(r.Path + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("use the registry %s: %w", r.Path, err)
	}
	repo.PlainHTTP = r.PlainHTTP
	repo.SkipReferrersGC = true // many registries refuse to delete the previous list of bills of materials
	keys, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the credentials of docker login: %w", err)
	}
	repo.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(keys)}
	return repo, nil
}

// Push copies name:tag to a registry, with all its platforms and the documents about each.
func (l *Layout) Push(ctx context.Context, r Registry, name, tag string) error {
	repo, err := r.Repository(name)
	if err != nil {
		return err
	}
	top, err := l.store.Resolve(ctx, name+":"+tag)
	if err != nil {
		return fmt.Errorf("find %s:%s in the image layout: %w", name, tag, err)
	}
	// From each platform, oras follows links to the documents about it, and to the index above it.
	nodes := []ocispec.Descriptor{top}
	if top.MediaType == ocispec.MediaTypeImageIndex {
		if nodes, err = content.Successors(ctx, l.store, top); err != nil {
			return fmt.Errorf("find the platforms of %s: %w", name, err)
		}
	}
	for _, node := range nodes {
		if err := oras.ExtendedCopyGraph(ctx, l.store, repo, node, oras.DefaultExtendedCopyGraphOptions); err != nil {
			return fmt.Errorf("push %s to %s: %w", name, r.Path, err)
		}
	}
	if err := repo.Tag(ctx, top, tag); err != nil {
		return fmt.Errorf("tag %s/%s:%s: %w", r.Path, name, tag, err)
	}
	return nil
}
