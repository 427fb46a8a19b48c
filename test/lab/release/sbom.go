package main

import (
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/musterhq/muster/test/suite/figure"
)

// The part of CycloneDX 1.6 that is used, https://cyclonedx.org/docs/1.6/json.
type (
	document struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []license  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	license struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

func sbom(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return &codeError{exitUsage, errors.New("sbom takes the binaries' paths")}
	}
	root, err := figure.Root()
	if err != nil {
		return err
	}
	for _, file := range files {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		sum, err := sumFile(file)
		if err != nil {
			return err
		}
		dirs, err := moduleDirs(ctx, root, info)
		if err != nil {
			return err
		}
		doc, err := describe(filepath.Base(file), sum, info, dirs)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		out := file + ".cdx.json"
		if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d modules\n", out, len(doc.Components))
	}
	return nil
}

// moduleDirs says where the sources of info's modules lie, by path@version, and
// those of the main module and of Go.
func moduleDirs(ctx context.Context, root string, info *debug.BuildInfo) (map[string]string, error) {
	dirs := map[string]string{info.Main.Path: root}
	goroot, err := output(ctx, root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs["std"] = strings.TrimSpace(goroot)
	args := []string{"mod", "download", "-json"}
	for _, m := range info.Deps {
		args = append(args, at(actual(m)))
	}
	if len(info.Deps) == 0 {
		return dirs, nil
	}
	text, err := output(ctx, root, "go", args...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(text)); decoder.More(); {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); err != nil {
			return nil, fmt.Errorf("read go mod download: %w", err)
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
	return dirs, nil
}

// actual is the module that was compiled in m's place, or m.
func actual(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

func at(m *debug.Module) string { return m.Path + "@" + m.Version }

// describe makes the document of one binary. dirs are moduleDirs'.
func describe(name, sum string, info *debug.BuildInfo, dirs map[string]string) (*document, error) {
	main := module(info.Main.Path, info.Main.Version)
	main.Type, main.Name = "application", name
	main.Ref += "#" + strings.TrimPrefix(info.Path, info.Main.Path+"/")
	main.Hashes = []hash{{"SHA-256", sum}}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	doc := &document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	own := dependency{Ref: main.Ref}
	var err error
	if main.Licenses, err = licences(dirs[info.Main.Path], info.Main.Path); err != nil {
		return nil, err
	}
	doc.Metadata.Component = main

	std := module("std", strings.TrimPrefix(info.GoVersion, "go"))
	if std.Licenses, err = licences(dirs["std"], "std"); err != nil {
		return nil, err
	}
	doc.Components = append(doc.Components, std)
	for _, m := range info.Deps {
		m = actual(m)
		c := module(m.Path, m.Version)
		if c.Licenses, err = licences(dirs[at(m)], at(m)); err != nil {
			return nil, err
		}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
			// A dirhash, not one of a file: the list of the module's files and their
			// hashes, golang.org/x/mod/sumdb/dirhash.
			raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil || len(raw) != 32 {
				return nil, fmt.Errorf("%s has the checksum %q", at(m), m.Sum)
			}
			c.Properties = append(c.Properties, property{"go:dirhash:sha256", hex.EncodeToString(raw)})
		}
		doc.Components = append(doc.Components, c)
	}
	for _, c := range doc.Components {
		own.DependsOn = append(own.DependsOn, c.Ref)
	}
	doc.Dependencies = []dependency{own}
	return doc, nil
}

// module begins a component; see https://github.com/package-url/purl-spec, type golang.
func module(path, version string) component {
	purl := "pkg:golang/" + path
	if version != "(devel)" { // a build outside of version control
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}
