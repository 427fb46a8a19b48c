package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// marks tell a licence by words that no other one of the list has. All of them
// must stand in the text, white space aside.
var marks = []struct {
	id    string // SPDX
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"Permission to use, copy, modify, and distribute this software for any purpose"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "without restriction"}},
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-.].*)?$`)
	space       = regexp.MustCompile(`\s+`)
)

// licences reads the licences of a module from the files in its directory. One
// that is not recognised is an error: somebody must read it.
func licences(dir, module string) ([]license, error) {
	if dir == "" {
		return nil, fmt.Errorf("%s: its files are not here", module)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []license
	seen := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		ids := recognise(string(text))
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s: %s is no licence that is known here", module, e.Name())
		}
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				var l license
				l.License.ID = id
				found = append(found, l)
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New(module + " has no licence file")
	}
	return found, nil
}

// recognise names the licences whose words stand in text. Some files hold two,
// for parts that came from elsewhere; three clauses include the two.
func recognise(text string) []string {
	text = space.ReplaceAllString(text, " ")
	var ids []string
	seen := map[string]bool{}
	for _, m := range marks {
		all := true
		for _, words := range m.words {
			all = all && strings.Contains(text, words)
		}
		if !all || seen[m.id] || m.id == "BSD-2-Clause" && seen["BSD-3-Clause"] {
			continue
		}
		seen[m.id] = true
		ids = append(ids, m.id)
	}
	return ids
}
