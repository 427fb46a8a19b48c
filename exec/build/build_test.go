package build

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	sum := strings.Repeat("0123456789", 4)
	vcs := func(version, revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
	}
	for name, row := range map[string]struct {
		release, commit string
		info            *debug.BuildInfo
		version, line   string
		whole           string // commit
	}{
		"a release":                    {"v0.1.0", sum, vcs("v0.0.1", "other", "false"), "v0.1.0", "v0.1.0 (commit 012345678901, ", sum},
		"a release from a checkout":    {"v0.1.0", "", vcs("(devel)", sum, "false"), "v0.1.0", "v0.1.0 (commit 012345678901, ", sum},
		"an installed module":          {"", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}}, "v0.2.0", "v0.2.0 (commit unknown, ", "unknown"},
		"a checkout":                   {"", "", vcs("(devel)", sum, "false"), "012345678901", "012345678901 (commit 012345678901, ", sum},
		"a changed checkout":           {"", "", vcs("(devel)", sum, "true"), "012345678901+changes", "012345678901+changes (commit 012345678901+changes, ", sum},
		"a build without its checkout": {"", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "unknown", "unknown (commit unknown, ", "unknown"},
		"no build information":         {"", "", nil, "unknown", "unknown (commit unknown, ", "unknown"},
	} {
		i := of(row.release, row.commit, row.info)
		require.Equal(t, row.version, i.Version, name)
		require.Equal(t, row.whole, i.Commit, name)
		require.True(t, strings.HasPrefix(i.String(), row.line), "%s: %s", name, i)
		require.Equal(t, runtime.Version(), i.Go)
	}
}
