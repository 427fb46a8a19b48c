package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	local "oras.land/oras-go/v2/content/oci"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// layout unpacks the images, which are released as one file.
func (b *bench) layout() (string, error) {
	dir := filepath.Join(b.tmp, "layout")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // unpacked already
	}
	return dir, unpack(filepath.Join(b.dir, "muster-images_"+b.number()+".tar"), dir)
}

// image returns an image of the release by name.
func (b *bench) image(name string) (pushed, error) {
	i := slices.IndexFunc(b.images, func(p pushed) bool { return p.name == name })
	if i < 0 {
		return pushed{}, fmt.Errorf("the provenance has no %s", name)
	}
	return b.images[i], nil
}

// platforms returns the manifests of an image's index, after checking that from has the released digest.
func (b *bench) platforms(ctx context.Context, from oras.ReadOnlyTarget, ref string, i pushed) ([]ocispec.Descriptor, error) {
	index, err := from.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if string(index.Digest) != i.digest {
		return nil, fmt.Errorf("%s is %s, but the provenance has %s", ref, index.Digest, i.digest)
	}
	platforms, err := content.Successors(ctx, from, index)
	if err != nil {
		return nil, err
	}
	if len(platforms) != 2 {
		return nil, fmt.Errorf("%s has %d platforms", ref, len(platforms))
	}
	return platforms, nil
}

// fetch reads a JSON blob into a value.
func fetch(ctx context.Context, from content.Fetcher, desc ocispec.Descriptor, into any) error {
	text, err := content.FetchAll(ctx, from, desc)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// arm64Images unpacks the images for arm64, and starts their entry points.
func (b *bench) arm64Images(ctx context.Context) (string, error) {
	if err := found(emulator, "qemu-user-static"); err != nil {
		return "", err
	}
	dir, err := b.layout()
	if err != nil {
		return "", err
	}
	store, err := local.New(dir)
	if err != nil {
		return "", err
	}
	var seen []string
	for _, name := range imageNames {
		root, config, err := b.rootfs(ctx, store, "muster-"+name)
		if err != nil {
			return "", err
		}
		program := filepath.Join(root, config.Config.Entrypoint[0])
		if _, err := os.Stat(program); err != nil {
			return "", err
		}
		if name == "agent" {
			line, err := b.both(ctx, "arm64", root, emulator)
			if err != nil {
				return "", err
			}
			seen = append(seen, line)
			continue
		}
		text, err := output(ctx, b.tmp, emulator, program, "--help")
		if err != nil {
			return "", err
		}
		if !strings.Contains(text, "-leader-elect") {
			return "", fmt.Errorf("%s --help: %s", program, text)
		}
		seen = append(seen, name+" prints its help")
	}
	return strings.Join(seen, "; "), nil
}

// rootfs unpacks the layers of an image for arm64.
func (b *bench) rootfs(ctx context.Context, store *local.Store, name string) (string, ocispec.Image, error) {
	var config ocispec.Image
	i, err := b.image(name)
	if err != nil {
		return "", config, err
	}
	platforms, err := b.platforms(ctx, store, i.name+":"+i.tag, i)
	if err != nil {
		return "", config, err
	}
	p := slices.IndexFunc(platforms, func(d ocispec.Descriptor) bool { return d.Platform.Architecture == "arm64" })
	if p < 0 {
		return "", config, fmt.Errorf("%s is not for arm64", name)
	}
	var manifest ocispec.Manifest
	if err := fetch(ctx, store, platforms[p], &manifest); err != nil {
		return "", config, err
	}
	if err := fetch(ctx, store, manifest.Config, &config); err != nil {
		return "", config, err
	}
	root := filepath.Join(b.tmp, name)
	for _, layer := range manifest.Layers {
		data, err := content.FetchAll(ctx, store, layer)
		if err != nil {
			return "", config, err
		}
		plain, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return "", config, err
		}
		if err := untar(plain, root); err != nil {
			return "", config, err
		}
	}
	return root, config, nil
}

// registry pushes the images, and checks what the registry then serves.
func (b *bench) registry(ctx context.Context) (string, error) {
	dir, err := b.layout()
	if err != nil {
		return "", err
	}
	layout, err := oci.Open(dir, time.Time{}, nil)
	if err != nil {
		return "", err
	}
	documents := 0
	for _, i := range b.images {
		if err := layout.Push(ctx, b.served, i.name, i.tag); err != nil {
			return "", err
		}
		if i.name == chartName {
			continue
		}
		n, err := b.described(ctx, b.served, i)
		if err != nil {
			return "", fmt.Errorf("%s: %w", i.name, err)
		}
		documents += n
	}
	return fmt.Sprintf("%d images for 2 platforms, %d bills of materials", len(imageNames), documents), nil
}

// described counts the bills of materials that a registry lists for an image.
func (b *bench) described(ctx context.Context, r oci.Registry, i pushed) (int, error) {
	repo, err := r.Repository(i.name)
	if err != nil {
		return 0, err
	}
	platforms, err := b.platforms(ctx, repo, i.tag, i)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, p := range platforms {
		var manifest ocispec.Manifest
		if err := fetch(ctx, repo, p, &manifest); err != nil {
			return 0, err
		}
		var config ocispec.Image
		if err := fetch(ctx, repo, manifest.Config, &config); err != nil {
			return 0, err
		}
		labels := config.Config.Labels
		if labels[ocispec.AnnotationVersion] != b.version || labels[ocispec.AnnotationRevision] != b.commit {
			return 0, fmt.Errorf("its labels for %s are %v", p.Platform.Architecture, labels)
		}
		for _, kind := range []string{"application/vnd.cyclonedx+json", "application/spdx+json"} {
			before := count
			err := repo.Referrers(ctx, p, kind, func(list []ocispec.Descriptor) error {
				count += len(list)
				return nil
			})
			if err != nil {
				return 0, err
			}
			if count == before {
				return 0, fmt.Errorf("its image for %s has no %s", p.Platform.Architecture, kind)
			}
		}
	}
	return count, nil
}
