package main

import (
	"fmt"
	"strings"
)

// unreleased is the heading of the changes that no release has yet.
const unreleased = "Unreleased"

// notes returns the part of a changelog about a version. A trial may take the part that no release has
// yet.
func notes(changelog, version string, trial bool) (string, error) {
	number := strings.TrimPrefix(version, "v")
	if part, ok := section(changelog, number); ok {
		return part, nil
	}
	if trial {
		if part, ok := section(changelog, unreleased); ok {
			return part, nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section ## [%s]", number)
}

// section returns the text below the heading of the second level that begins with [name].
func section(text, name string) (string, bool) {
	var found []string
	in := false
	for _, line := range strings.Split(text, "\n") {
		if heading, ok := strings.CutPrefix(line, "## ["); ok {
			in = strings.HasPrefix(heading, name+"]")
			continue
		}
		if in && !strings.HasPrefix(line, "[") { // the links at the end of the page
			found = append(found, line)
		}
	}
	part := strings.TrimSpace(strings.Join(found, "\n"))
	return part, part != ""
}
