package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/lab/release/oci"
)

// The registry and tag in the manifests of a checkout.
const (
	sourceRegistry = "ghcr.io/musterhq"
	sourceTag      = "dev"
)

// imageNames are the names of the released images.
var imageNames = []string{"agent", "controller"}

// pins are the images of a release: their registry and tag, and their digests by name.
type pins struct {
	registry, tag string
	digests       map[string]string
}

// ref returns the reference of an image by its digest.
func (p pins) ref(name string) string { return p.registry + "/muster-" + name + "@" + p.digests[name] }

// replace takes pairs of an old and a new text and replaces each old text by
// the new one. It returns an error if text lacks an old text.
func replace(text string, pairs ...string) (string, error) {
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(text, pair[0]) {
			return "", fmt.Errorf("%q not found", pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text, nil
}

// install returns install.yaml with the release's images.
func (p pins) install(text string) (string, error) {
	for _, name := range imageNames {
		var err error
		if text, err = replace(text, sourceRegistry+"/muster-"+name+":"+sourceTag, p.ref(name)); err != nil {
			return "", fmt.Errorf("pin the images of install.yaml: %w", err)
		}
	}
	return "# Muster " + p.tag + "\n" + text, nil
}

// kustomization returns images/deploy/kustomization.yaml with the release's images.
func (p pins) kustomization(text string) (string, error) {
	for _, name := range imageNames {
		image := "  - name: " + sourceRegistry + "/muster-" + name + "\n"
		var err error
		text, err = replace(text, image+"    newTag: "+sourceTag+"\n", image+"    newName: "+p.registry+"/muster-"+name+"\n    digest: "+p.digests[name]+"\n")
		if err != nil {
			return "", fmt.Errorf("pin the images of kustomization.yaml: %w", err)
		}
	}
	return text, nil
}

// kustomize returns an archive of the folders that kubectl apply -k takes.
func (p pins) kustomize(images string, when time.Time) ([]byte, error) {
	var all []oci.File
	for _, folder := range []string{"chart/files/crd", "deploy", "deploy-kubeflow", "deploy-namespaced", "serve-kubeflow"} {
		files, err := read(filepath.Join(images, folder), "muster-kustomize/"+folder)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	if err := edit(all, "muster-kustomize/deploy/kustomization.yaml", p.kustomization); err != nil {
		return nil, err
	}
	return packed(all, when)
}

// chart returns the chart in a directory with the release's version and images, and its Chart.yaml as
// JSON.
func (p pins) chart(dir string, when time.Time) (archive, meta []byte, err error) {
	files, err := read(dir, "muster")
	if err != nil {
		return nil, nil, err
	}
	var head string
	for name, change := range map[string]func(string) (string, error){
		"muster/Chart.yaml": func(text string) (string, error) {
			text, err := replace(text, "\nversion: 0.0.0\n", "\nversion: "+strings.TrimPrefix(p.tag, "v")+"\n",
				"\nappVersion: "+sourceTag+"\n", "\nappVersion: "+p.tag+"\n")
			for _, name := range imageNames {
				text, err = after(text, err, "  artifacthub.io/images: |\n", fmt.Sprintf("    - {name: %s, image: %q, platforms: [linux/amd64, linux/arm64]}\n", name, p.ref(name)))
			}
			head = text
			return text, err
		},
		"muster/values.yaml": func(text string) (string, error) {
			return replace(text, "  registry: "+sourceRegistry+"\n", "  registry: "+p.registry+"\n", "  tag: "+sourceTag+"\n", "  tag: "+p.tag+"\n",
				`{controller: "", agent: ""}`, fmt.Sprintf("{controller: %q, agent: %q}", p.digests["controller"], p.digests["agent"]))
		},
	} {
		if err := edit(files, name, change); err != nil {
			return nil, nil, err
		}
	}
	if meta, err = yaml.YAMLToJSON([]byte(head)); err != nil {
		return nil, nil, fmt.Errorf("read Chart.yaml: %w", err)
	}
	archive, err = packed(files, when)
	return archive, meta, err
}

// after adds more after line, unless err is not nil.
func after(text string, err error, line, more string) (string, error) {
	if err != nil {
		return text, err
	}
	return replace(text, line, line+more)
}

// read returns the files of a directory, with their names below prefix.
func read(dir, prefix string) ([]oci.File, error) {
	var files []oci.File
	from := os.DirFS(dir)
	err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, path)
		files = append(files, oci.File{Name: prefix + "/" + path, Mode: 0o644, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return files, nil
}

// edit changes one of the files.
func edit(files []oci.File, name string, change func(string) (string, error)) error {
	for i, f := range files {
		if f.Name != name {
			continue
		}
		text, err := change(string(f.Data))
		if err != nil {
			return fmt.Errorf("edit %s: %w", name, err)
		}
		files[i].Data = []byte(text)
		return nil
	}
	return fmt.Errorf("edit %s: it is missing", name)
}

// packed returns files as .tar.gz.
func packed(files []oci.File, when time.Time) ([]byte, error) {
	tar, err := oci.Tar(files, when)
	if err != nil {
		return nil, err
	}
	return oci.Gzip(tar)
}
