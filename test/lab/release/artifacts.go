package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// krewManifest is the type of the manifest of the kubectl plugin.
const krewManifest = "Krew Plugin Manifest"

// artifact is one of the files that goreleaser made.
type artifact struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	OS     string `json:"goos"`
	Arch   string `json:"goarch"`
	Type   string `json:"type"`
	Extras struct {
		ID string `json:"ID"`
	} `json:"extra"`
}

// label names a program together with its platform.
func (a artifact) label() string { return a.Extras.ID + "_" + a.OS + "_" + a.Arch }

// artifacts reads goreleaser's list of what it made in dir. Binaries come sorted by label.
func artifacts(dir string) (binaries, archives []artifact, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "artifacts.json"))
	if err != nil {
		return nil, nil, fmt.Errorf("read goreleaser's artifacts: %w", err)
	}
	var all []artifact
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil, fmt.Errorf("read goreleaser's artifacts: %w", err)
	}
	for _, a := range all {
		switch a.Type {
		case "Binary":
			binaries = append(binaries, a)
		case "Archive", krewManifest:
			archives = append(archives, a)
		}
	}
	slices.SortFunc(binaries, func(a, b artifact) int {
		if a.label() < b.label() {
			return -1
		}
		return 1
	})
	if len(binaries) == 0 || len(archives) == 0 {
		return nil, nil, fmt.Errorf("goreleaser made %d binaries and %d archives", len(binaries), len(archives))
	}
	return binaries, archives, nil
}
