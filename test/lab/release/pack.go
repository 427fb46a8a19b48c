package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// chartName is the repository of the chart. Its last part must be the chart's name, as Helm requires.
const chartName = "charts/muster"

// pushed is an image or chart that is pushed to a registry.
type pushed struct{ name, tag, digest string }

// pack makes all other files of the release from goreleaser's binaries, and returns
// the images and the chart for a registry.
func (r release) pack(ctx context.Context) ([]pushed, error) {
	for _, dir := range []string{r.dir, r.layout} {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("clear: %w", err)
		}
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	binaries, archives, err := artifacts(r.built)
	if err != nil {
		return nil, err
	}
	for _, a := range archives {
		data, err := os.ReadFile(filepath.Join(r.root, a.Path))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", a.Name, err)
		}
		name := a.Name
		if a.Type == krewManifest {
			name = krewFile
		}
		if err := r.write(name, data); err != nil {
			return nil, err
		}
	}
	wheel, err := os.ReadFile(filepath.Join(r.root, "out", "wheel", wheelName(r.number())))
	if err != nil {
		return nil, fmt.Errorf("read the Python package: %w", err)
	}
	if err := r.write(wheelName(r.number()), wheel); err != nil {
		return nil, err
	}
	bills, err := r.bills(ctx, binaries)
	if err != nil {
		return nil, err
	}
	layout, err := oci.Open(r.layout, r.created, r.labels())
	if err != nil {
		return nil, err
	}
	p := pins{registry: r.registry, tag: r.version, digests: map[string]string{}}
	var all []pushed
	for _, name := range imageNames {
		index, err := r.image(ctx, layout, name, binaries, bills)
		if err != nil {
			return nil, fmt.Errorf("build the image %s: %w", name, err)
		}
		p.digests[name] = string(index.Digest)
		all = append(all, pushed{"muster-" + name, r.version, string(index.Digest)})
	}
	chart, err := r.manifests(ctx, layout, p)
	if err != nil {
		return nil, err
	}
	all = append(all, chart)
	return all, r.finish(layout, all)
}

// bills writes the bills of materials of all binaries into one archive, and returns them by label.
func (r release) bills(ctx context.Context, binaries []artifact) (map[string][]document, error) {
	bills := map[string][]document{}
	var files []oci.File
	for _, b := range binaries {
		docs, err := bill(ctx, filepath.Join(r.root, b.Path), r.version, r.created)
		if err != nil {
			return nil, err
		}
		bills[b.label()] = docs
		for _, d := range docs {
			files = append(files, oci.File{Name: "muster-sbom/" + b.label() + d.suffix, Mode: 0o644, Data: d.text})
		}
	}
	data, err := packed(files, r.created)
	if err != nil {
		return nil, err
	}
	return bills, r.write("muster-sbom_"+r.number()+".tar.gz", data)
}

// labels returns the labels of all images.
func (r release) labels() map[string]string {
	return map[string]string{
		ocispec.AnnotationTitle: "Muster", ocispec.AnnotationVersion: r.version, ocispec.AnnotationRevision: r.commit,
		ocispec.AnnotationSource: repository, ocispec.AnnotationLicenses: "Apache-2.0",
		ocispec.AnnotationDescription: "Launches MPI and machine learning jobs from inside pods",
		ocispec.AnnotationCreated:     r.created.UTC().Format("2006-01-02T15:04:05Z"),
	}
}

// image builds an image for each platform, with the bills of materials of its binaries.
func (r release) image(ctx context.Context, layout *oci.Layout, name string, binaries []artifact, bills map[string][]document) (ocispec.Descriptor, error) {
	var none ocispec.Descriptor
	text, err := os.ReadFile(filepath.Join(r.root, "images", name, "Dockerfile"))
	if err != nil {
		return none, err
	}
	recipe, err := oci.Parse(string(text))
	if err != nil {
		return none, err
	}
	var platforms []ocispec.Descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		label := func(file string) string { return file + "_linux_" + arch }
		manifest, err := layout.Image(ctx, recipe, arch, func(file string) ([]byte, error) {
			i := slices.IndexFunc(binaries, func(b artifact) bool { return b.label() == label(file) })
			if i < 0 {
				return nil, fmt.Errorf("goreleaser made no %s", label(file))
			}
			return os.ReadFile(filepath.Join(r.root, binaries[i].Path))
		})
		if err != nil {
			return none, err
		}
		for _, file := range recipe.Files {
			for _, d := range bills[label(file)] {
				if err := layout.Attach(ctx, manifest, d.mediaType, file+d.suffix, d.text); err != nil {
					return none, err
				}
			}
		}
		platforms = append(platforms, manifest)
	}
	return layout.Index(ctx, "muster-"+name, r.version, platforms)
}

// manifests writes install.yaml, the folders for kustomize, and the chart.
func (r release) manifests(ctx context.Context, layout *oci.Layout, p pins) (pushed, error) {
	images := filepath.Join(r.root, "images")
	text, err := os.ReadFile(filepath.Join(images, "install.yaml"))
	if err != nil {
		return pushed{}, err
	}
	install, err := p.install(string(text))
	if err != nil {
		return pushed{}, err
	}
	kustomize, err := p.kustomize(images, r.created)
	if err != nil {
		return pushed{}, err
	}
	chart, meta, err := p.chart(filepath.Join(images, "chart"), r.created)
	if err != nil {
		return pushed{}, err
	}
	for name, data := range map[string][]byte{
		"install.yaml": []byte(install), "muster-kustomize_" + r.number() + ".tar.gz": kustomize, "muster-chart_" + r.number() + ".tgz": chart,
	} {
		if err := r.write(name, data); err != nil {
			return pushed{}, err
		}
	}
	desc, err := layout.Chart(ctx, chartName, r.number(), meta, chart)
	return pushed{chartName, r.number(), string(desc.Digest)}, err
}

// finish writes the notes, the images as one file, the checksums of all files, and the provenance.
func (r release) finish(layout *oci.Layout, all []pushed) error {
	files, err := layout.Files()
	if err != nil {
		return err
	}
	images, err := oci.Tar(files, r.created)
	if err != nil {
		return err
	}
	if err := r.write("muster-images_"+r.number()+".tar", images); err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	text, err := notes(string(changes), r.version, r.trial)
	if err != nil {
		return err
	}
	text += "\n\n### Images\n"
	var subjects []subject
	for _, i := range all {
		text += fmt.Sprintf("- `%s/%s:%s@%s`\n", r.registry, i.name, i.tag, i.digest)
		subjects = append(subjects, subject{Name: r.registry + "/" + i.name, Digest: map[string]string{"sha256": strings.TrimPrefix(i.digest, "sha256:")}})
	}
	if err := os.WriteFile(r.notes, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the notes: %w", err)
	}
	sums, err := checksums(r.dir)
	if err != nil {
		return err
	}
	if err := r.write(checksumsName, []byte(sums)); err != nil {
		return err
	}
	proof, err := prove(r.origin(), sums, subjects)
	if err != nil {
		return err
	}
	return r.write(provenanceName, proof)
}

// origin returns where this release is built: on a GitHub runner, or elsewhere.
func (r release) origin() origin {
	o := origin{version: r.version, commit: r.commit, registry: r.registry, goVersion: runtime.Version(), builder: buildType}
	server, repo := os.Getenv("GITHUB_SERVER_URL"), os.Getenv("GITHUB_REPOSITORY")
	if workflow := os.Getenv("GITHUB_WORKFLOW_REF"); workflow != "" {
		o.builder = server + "/" + workflow
		o.run = server + "/" + repo + "/actions/runs/" + os.Getenv("GITHUB_RUN_ID") + "/attempts/" + os.Getenv("GITHUB_RUN_ATTEMPT")
	}
	return o
}

// write adds a file to the release.
func (r release) write(name string, data []byte) error {
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	fmt.Printf("%10d  %s\n", len(data), path)
	return nil
}

// checksums returns the SHA-256 of each file in dir, as sha256sum prints it.
func checksums(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the release: %w", err)
	}
	var text strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("read the release: %w", err)
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return text.String(), nil
}
