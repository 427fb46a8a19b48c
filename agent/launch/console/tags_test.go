//go:build linux

package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTagOption(t *testing.T) {
	for version, want := range map[string][]string{
		"mpirun (Open MPI) 4.1.4\n\nReport bugs to http":                               {"--tag-output"},
		"mpirun.real (OpenRTE) 4.1.8":                                                  {"--tag-output"},
		"mpirun (Open MPI) 5.0.11\n":                                                   {"--output", "tag"},
		"prterun (PRRTE) 3.0.13":                                                       {"--output", "tag"},
		"HYDRA build details:\n    Version:  4.0.2\n":                                  {"-prepend-rank"},
		"Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260101 (id: 1)\n": {"-prepend-rank"},
		"something else 1.0":                                                           nil,
		"":                                                                             nil,
	} {
		require.Equal(t, want, TagOption(version), version)
	}
}
