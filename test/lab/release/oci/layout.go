package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
)

// Helm's media types; see https://helm.sh/docs/topics/registries/.
const (
	chartConfig = "application/vnd.cncf.helm.config.v1+json"
	chartLayer  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Layout is a directory of images and charts, in the format of the OCI image layout.
type Layout struct {
	dir     string
	store   *oci.Store
	created time.Time
	labels  map[string]string
}

// Open opens the layout in dir, and creates it if it does not exist. Its images have labels, and created as
// their time.
func Open(dir string, created time.Time, labels map[string]string) (*Layout, error) {
	store, err := oci.New(dir)
	if err != nil {
		return nil, fmt.Errorf("open the image layout %s: %w", dir, err)
	}
	return &Layout{dir: dir, store: store, created: created.UTC(), labels: labels}, nil
}

// Image adds the image of a recipe for linux/arch, and returns its manifest. read returns the contents of
// the recipe's files.
func (l *Layout) Image(ctx context.Context, r Recipe, arch string, read func(name string) ([]byte, error)) (ocispec.Descriptor, error) {
	var none ocispec.Descriptor
	var files []File
	for _, name := range r.Files {
		data, err := read(name)
		if err != nil {
			return none, fmt.Errorf("read %s for linux/%s: %w", name, arch, err)
		}
		files = append(files, File{Name: name, Mode: 0o755, Data: data})
	}
	tar, err := Tar(files, l.created)
	if err != nil {
		return none, err
	}
	packed, err := Gzip(tar)
	if err != nil {
		return none, err
	}
	layer, err := l.push(ctx, ocispec.MediaTypeImageLayerGzip, packed)
	if err != nil {
		return none, err
	}
	platform := ocispec.Platform{OS: "linux", Architecture: arch}
	config, err := l.pushJSON(ctx, ocispec.MediaTypeImageConfig, ocispec.Image{
		Created: &l.created, Platform: platform,
		Config:  ocispec.ImageConfig{User: r.User, Entrypoint: r.Entrypoint, Labels: l.labels},
		RootFS:  ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(tar)}},
		History: []ocispec.History{{Created: &l.created, CreatedBy: "COPY " + strings.Join(r.Files, " ") + " /"}},
	})
	if err != nil {
		return none, err
	}
	manifest, err := l.pushJSON(ctx, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: []ocispec.Descriptor{layer}, Annotations: l.labels,
	})
	manifest.Platform = &platform
	return manifest, err
}

// Index adds a multi-platform image, as name:tag.
func (l *Layout) Index(ctx context.Context, name, tag string, platforms []ocispec.Descriptor) (ocispec.Descriptor, error) {
	index, err := l.pushJSON(ctx, ocispec.MediaTypeImageIndex, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: platforms, Annotations: l.labels,
	})
	if err != nil {
		return index, err
	}
	return index, l.tag(ctx, index, name+":"+tag)
}

// Attach adds a document about subject, which registries list as its referrer.
func (l *Layout) Attach(ctx context.Context, subject ocispec.Descriptor, mediaType, title string, data []byte) error {
	blob, err := l.push(ctx, mediaType, data)
	if err != nil {
		return err
	}
	blob.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	_, err = oras.PackManifest(ctx, l.store, oras.PackManifestVersion1_1, mediaType, oras.PackManifestOptions{
		Subject: &subject, Layers: []ocispec.Descriptor{blob}, ManifestAnnotations: l.stamp(),
	})
	if err != nil {
		return fmt.Errorf("attach %s: %w", title, err)
	}
	return nil
}

// Chart adds a packed Helm chart, as name:tag. meta is its Chart.yaml as JSON.
func (l *Layout) Chart(ctx context.Context, name, tag string, meta, packed []byte) (ocispec.Descriptor, error) {
	var none ocispec.Descriptor
	config, err := l.push(ctx, chartConfig, meta)
	if err != nil {
		return none, err
	}
	layer, err := l.push(ctx, chartLayer, packed)
	if err != nil {
		return none, err
	}
	chart, err := oras.PackManifest(ctx, l.store, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
		ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer}, ManifestAnnotations: l.stamp(),
	})
	if err != nil {
		return none, fmt.Errorf("pack the chart %s: %w", name, err)
	}
	return chart, l.tag(ctx, chart, name+":"+tag)
}

// Files returns the files of the layout, sorted, for an archive. It also sorts the list of manifests.
func (l *Layout) Files() ([]File, error) {
	var files []File
	from := os.DirFS(l.dir)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if name == ocispec.ImageIndexFile {
			if data, err = sortIndex(data); err != nil {
				return err
			}
		}
		files = append(files, File{Name: name, Mode: 0o644, Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the image layout: %w", err)
	}
	return files, nil
}

// sortIndex sorts the manifests of an index.json.
func sortIndex(text []byte) ([]byte, error) {
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, err
	}
	slices.SortFunc(index.Manifests, func(a, b ocispec.Descriptor) int {
		return strings.Compare(string(a.Digest), string(b.Digest))
	})
	return json.Marshal(index)
}

// stamp returns annotations with a fixed time for manifests that are not images. Otherwise oras adds the current time.
func (l *Layout) stamp() map[string]string {
	return map[string]string{ocispec.AnnotationCreated: l.created.Format(time.RFC3339)}
}

func (l *Layout) pushJSON(ctx context.Context, mediaType string, value any) (ocispec.Descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	return l.push(ctx, mediaType, text)
}

// push adds a blob, unless the layout has it.
func (l *Layout) push(ctx context.Context, mediaType string, data []byte) (ocispec.Descriptor, error) {
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	if found, err := l.store.Exists(ctx, desc); err == nil && found {
		return desc, nil
	}
	if _, err := oras.PushBytes(ctx, l.store, mediaType, data); err != nil {
		return desc, fmt.Errorf("add %s to the image layout: %w", mediaType, err)
	}
	return desc, nil
}

func (l *Layout) tag(ctx context.Context, desc ocispec.Descriptor, ref string) error {
	if err := l.store.Tag(ctx, desc, ref); err != nil {
		return fmt.Errorf("tag %s: %w", ref, err)
	}
	return nil
}
