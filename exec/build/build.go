// Package build says which build of Muster a program is.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// The linker sets these for a release:
//
//	-X github.com/musterhq/muster/exec/build.release=v0.1.0
//	-X github.com/musterhq/muster/exec/build.commit=3f8561485b7e...
//
// Without them, the build information that Go puts into each program counts.
var release, commit string

// Unknown stands for what a program does not know about its own build.
const Unknown = "unknown"

// shortCommit is how many hexadecimal digits of a commit people read.
const shortCommit = 12

// Identity is what `agent version -o json` prints.
type Identity struct {
	Program     string `json:"program"`
	Version     string `json:"version"`
	Commit      string `json:"commit"` // of the sources, or "unknown"
	Modified    bool   `json:"modified"`
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	ProtocolMin int    `json:"protocolMin"`
	ProtocolMax int    `json:"protocolMax"`
}

// Identify returns the Identity of a program that speaks these protocols.
func Identify(program string, protocolMin, protocolMax int) Identity {
	info, _ := debug.ReadBuildInfo() // nil without it
	i := of(release, commit, info)
	i.Program, i.ProtocolMin, i.ProtocolMax = program, protocolMin, protocolMax
	return i
}

// Version returns the release, the version of the module, or the commit: the first that is known. The
// launcher and the workers tell it to each other, and a log shows it.
func Version() string { return Identify("", 0, 0).Version }

// of derives the Identity from what the linker and Go put into the program.
func of(release, commit string, info *debug.BuildInfo) Identity {
	i := Identity{Version: release, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	module := ""
	if info != nil {
		module = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && i.Commit == "":
				i.Commit = s.Value
			case s.Key == "vcs.modified":
				i.Modified = s.Value == "true"
			}
		}
	}
	if i.Version == "" && module != "(devel)" {
		i.Version = module
	}
	if i.Commit == "" {
		i.Commit = Unknown
	}
	if i.Version == "" {
		i.Version = i.short()
	}
	return i
}

// short returns the commit for people.
func (i Identity) short() string {
	text := i.Commit[:min(len(i.Commit), shortCommit)]
	if i.Modified {
		text += "+changes"
	}
	return text
}

// String returns the Identity as one line, without the program.
func (i Identity) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s, protocol %d to %d)", i.Version, i.short(), i.Go, i.Platform, i.ProtocolMin, i.ProtocolMax)
}
