package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"

	"github.com/musterhq/muster/test/suite/figure"
)

func sbom(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return &codeError{exitUsage, errors.New("sbom takes the binaries' paths")}
	}
	for _, file := range files {
		docs, err := bill(ctx, file, "", time.Unix(0, 0))
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := os.WriteFile(file+d.suffix, d.text, 0o644); err != nil {
				return err
			}
			fmt.Println(file + d.suffix)
		}
	}
	return nil
}

// document is a bill of materials in one of the two formats.
type document struct {
	suffix    string
	mediaType string
	text      []byte
}

// bill returns the bill of materials of a binary, in each format. version is the version of the main module,
// unless it is empty. SPDX requires a time; created must always be the same for the same binary.
func bill(ctx context.Context, file, version string, created time.Time) ([]document, error) {
	root, err := figure.Root()
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if version != "" {
		info.Main.Version = version
	}
	sum, err := sumFile(file)
	if err != nil {
		return nil, err
	}
	dirs, err := moduleDirs(ctx, root, info)
	if err != nil {
		return nil, err
	}
	doc, err := describe(filepath.Base(file), sum, info, dirs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(doc, cyclonedx.SpecVersion1_6); err != nil {
		return nil, err
	}
	other, err := spdx(doc, created)
	if err != nil {
		return nil, err
	}
	return []document{
		{".cdx.json", "application/vnd.cyclonedx+json", text.Bytes()},
		{".spdx.json", "application/spdx+json", other},
	}, nil
}

// moduleDirs returns the directories with the sources of info's modules, by path@version, and
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

// actual returns the module that replaces m, or m.
func actual(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

func at(m *debug.Module) string { return m.Path + "@" + m.Version }

// describe returns the document of one binary. dirs is the result of moduleDirs.
func describe(name, sum string, info *debug.BuildInfo, dirs map[string]string) (*cyclonedx.BOM, error) {
	main, err := module(info.Main.Path, info.Main.Version, dirs[info.Main.Path])
	if err != nil {
		return nil, err
	}
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, name
	main.BOMRef += "#" + strings.TrimPrefix(info.Path, info.Main.Path+"/")
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}}
	var settings []cyclonedx.Property
	for _, s := range info.Settings {
		settings = append(settings, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	main.Properties = &settings

	std, err := module("std", strings.TrimPrefix(info.GoVersion, "go"), dirs["std"])
	if err != nil {
		return nil, err
	}
	components, parts := []cyclonedx.Component{std}, []string{std.BOMRef}
	for _, m := range info.Deps {
		m = actual(m)
		c, err := module(m.Path, m.Version, dirs[at(m)])
		if err != nil {
			return nil, err
		}
		if m.Sum != "" {
			// This is a dirhash, not the hash of a file: the hash of a list of the module's files and their
			// hashes, golang.org/x/mod/sumdb/dirhash.
			raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil || len(raw) != 32 {
				return nil, fmt.Errorf("%s has the checksum %q", at(m), m.Sum)
			}
			c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}, {Name: "go:dirhash:sha256", Value: hex.EncodeToString(raw)}}
		}
		components, parts = append(components, c), append(parts, c.BOMRef)
	}
	return &cyclonedx.BOM{BOMFormat: cyclonedx.BOMFormat, SpecVersion: cyclonedx.SpecVersion1_6, Version: 1,
		Metadata: &cyclonedx.Metadata{Component: &main}, Components: &components,
		Dependencies: &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &parts}}}, nil
}

// module starts a component; see https://github.com/package-url/purl-spec, type golang.
func module(path, version, dir string) (cyclonedx.Component, error) {
	purl := "pkg:golang/" + path
	if version != "(devel)" { // a build outside of version control
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	licenses, err := licensesOf(dir, strings.TrimPrefix(purl, "pkg:golang/"))
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: path, Version: version, PackageURL: purl, Licenses: licenses}, err
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-.].*)?$`)

// licensesOf reads the licenses of a module from the files in its directory. A license
// that is not recognized is an error, so that a person reads it.
func licensesOf(dir, module string) (*cyclonedx.Licenses, error) {
	if dir == "" {
		return nil, fmt.Errorf("%s: its files are missing", module)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		ids := recognize(text)
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s: %s is not a known license", module, e.Name())
		}
		found = append(found, ids...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no license file", module)
	}
	slices.Sort(found)
	var list cyclonedx.Licenses
	for _, id := range slices.Compact(found) {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &list, nil
}

// recognize returns the SPDX identifiers of the licenses in text. Some files contain two, for code
// from elsewhere.
func recognize(text []byte) (ids []string) {
	for _, m := range licensecheck.Scan(text).Match {
		if !m.IsURL && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
