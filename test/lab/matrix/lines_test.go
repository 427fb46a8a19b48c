package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableKeepsOtherVersions checks that a run of one version changes only its own line.
func TestTableKeepsOtherVersions(t *testing.T) {
	const head = "| Kubernetes | versions of the nodes | `make e2e-smoke` |\n|---|---|---|\n"
	l := line{minor: "1.36", nodes: "v1.36.3, containerd 2.4.2", verdict: "passes"}
	for name, tc := range map[string]struct{ page, want string }{
		"an empty page": {"# Page\n", head + "| 1.36 | v1.36.3, containerd 2.4.2 | passes |\n"},
		"other versions": {
			"# Page\n" + head + "| 1.9 | v1.9.0, docker | passes |\n| 1.37 | v1.37.2, containerd 2.4.2 | fails |\n| 1.36 | unknown | fails |\n\n| workers | 1 | 2 |\n| 1.5 | two cells |\n",
			head + "| 1.37 | v1.37.2, containerd 2.4.2 | fails |\n| 1.36 | v1.36.3, containerd 2.4.2 | passes |\n| 1.9 | v1.9.0, docker | passes |\n",
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, table(tc.page, l)) })
	}
}

func TestLineOfAClusterThatWasNotUp(t *testing.T) {
	require.Equal(t, "| 1.37 | unknown | fails |", line{minor: "1.37", verdict: "fails"}.text())
}
