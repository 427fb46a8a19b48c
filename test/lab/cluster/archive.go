package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// A docker-archive (the format of `docker save`, Docker image specification v1.2) is a tar of manifest.json, one
// configuration and the layers.

type archiveManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// imageArchive is a docker-archive of an image of one layer with one file, the program, which is also the entrypoint.
func imageArchive(name, path string, program []byte) ([]byte, error) {
	layer, err := tarOf(tarFile{strings.TrimPrefix(path, "/"), program, 0o755})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{path}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
	if err != nil {
		return nil, err
	}
	m := archiveManifest{digest(config) + ".json", []string{name}, []string{digest(layer) + "/layer.tar"}}
	manifest, err := json.Marshal([]archiveManifest{m})
	if err != nil {
		return nil, err
	}
	return tarOf(tarFile{"manifest.json", manifest, 0o644}, tarFile{m.Config, config, 0o644}, tarFile{m.Layers[0], layer, 0o644})
}

type tarFile struct {
	name string
	data []byte
	mode int64
}

func tarOf(files ...tarFile) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// archiveNames are the image names in a docker-archive, read from its manifest.
func archiveNames(archive io.Reader) ([]string, error) {
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no docker-archive: it has no manifest.json")
		}
		if err != nil {
			return nil, fmt.Errorf("no docker-archive: %w", err)
		}
		if h.Name != "manifest.json" {
			continue
		}
		var manifests []archiveManifest
		if err := json.NewDecoder(r).Decode(&manifests); err != nil {
			return nil, fmt.Errorf("read manifest.json: %w", err)
		}
		var names []string
		for _, m := range manifests {
			names = append(names, m.RepoTags...)
		}
		if len(names) == 0 {
			return nil, errors.New("its image has no name: write it with a tag")
		}
		return names, nil
	}
}
