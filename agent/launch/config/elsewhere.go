//go:build !linux

package config

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// Elsewhere returns the failure for systems other than Linux. Its hint is a command line that runs
// the same command in a container of the user's image, with the agent for Linux in bin.
func (c Config) Elsewhere() error {
	words := []string{"docker run --rm -v \"$PWD\":/work -w /work IMAGE bin/agent run"}
	if c.IsFake() {
		words = append(words, "--fake="+strconv.Itoa(c.Fake))
	}
	words = append(words, "--")
	for _, word := range c.Command {
		words = append(words, phrase.Quote(word))
	}
	return failure.Usage(strings.Join(words, " "), "launchers run on linux, this is %s: use a container", runtime.GOOS)
}
