package show

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/musterhq/muster/exec/wire"
)

// release is set at link time, for builds without version control.
var release string

// Version returns the release or commit, Go's version and the protocol range.
func Version() string {
	return fmt.Sprintf("%s (%s, %s/%s, protocol %d to %d)", ShortVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		wire.ProtoMin, wire.ProtoMax)
}

// Identity is what `agent version -o json` prints.
type Identity struct {
	Program     string `json:"program"`
	Version     string `json:"version"`
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	ProtocolMin int    `json:"protocolMin"`
	ProtocolMax int    `json:"protocolMax"`
}

// Identify returns the Identity of this program.
func Identify(program string) Identity {
	return Identity{program, ShortVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, wire.ProtoMin, wire.ProtoMax}
}

// ShortVersion returns the version in the handshake.
func ShortVersion() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version, dirty := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && (version == "" || version == "(devel)") && len(s.Value) >= 12:
			version = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if version == "" {
		version = "unknown"
	}
	if dirty != "" && len(version) == 12 {
		version += dirty
	}
	return version
}
