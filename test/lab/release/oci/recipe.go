package oci

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Recipe is the description of an image in a Dockerfile without a base image.
type Recipe struct {
	Files      []string // copied from the context into the root
	User       string
	Entrypoint []string
}

// Parse reads a Dockerfile. It accepts only the instructions of an image that has no base image and runs nothing
// during the build.
func Parse(dockerfile string) (Recipe, error) {
	var r Recipe
	for number, line := range strings.Split(dockerfile, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		words := strings.Fields(rest)
		var err error
		switch {
		case instruction == "FROM" && rest == "scratch":
		case instruction == "COPY" && len(words) > 1 && words[len(words)-1] == "/" && !strings.HasPrefix(rest, "-"):
			r.Files = append(r.Files, words[:len(words)-1]...)
		case instruction == "USER" && len(words) == 1:
			r.User = rest
		case instruction == "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &r.Entrypoint)
		default:
			err = fmt.Errorf("a release cannot have %q in an image", line)
		}
		if err != nil {
			return r, fmt.Errorf("read Dockerfile, line %d: %w", number+1, err)
		}
	}
	if len(r.Files) == 0 || len(r.Entrypoint) == 0 {
		return r, fmt.Errorf("read Dockerfile: found %d files in COPY and %d words in ENTRYPOINT", len(r.Files), len(r.Entrypoint))
	}
	return r, nil
}
