package main

import (
	"fmt"
	"strings"
)

// unreleased is the heading of the changes that are not released yet.
const unreleased = "Unreleased"

// notes returns the section of a changelog about a version. A trial may use the section of unreleased
// changes.
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

// section returns the text below the second-level heading that starts with [name].
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
