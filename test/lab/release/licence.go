package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-.].*)?$`)

// licences reads the licences of a module from the files in its directory. One
// that is not recognised is an error: somebody must read it.
func licences(dir, module string) (*cyclonedx.Licenses, error) {
	if dir == "" {
		return nil, fmt.Errorf("%s: its files are not here", module)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		ids := recognise(text)
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s: %s is no licence that is known here", module, e.Name())
		}
		found = append(found, ids...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no licence file", module)
	}
	slices.Sort(found)
	var list cyclonedx.Licenses
	for _, id := range slices.Compact(found) {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &list, nil
}

// recognise gives the SPDX identifiers of the licences in text. Some files hold two, for parts
// that came from elsewhere.
func recognise(text []byte) (ids []string) {
	for _, m := range licensecheck.Scan(text).Match {
		if !m.IsURL && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
