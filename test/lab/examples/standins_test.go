//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/examples/example"
)

// TestStandInsLeaveNothingToPull checks the objects of each row with their stand-ins.
func TestStandInsLeaveNothingToPull(t *testing.T) {
	t.Setenv("MUSTER_FRAMEWORKS", t.TempDir())
	for _, r := range rows() {
		for _, name := range r.standIn.venvs {
			require.NoError(t, os.MkdirAll(filepath.Join(os.Getenv("MUSTER_FRAMEWORKS"), name+"-0123456789"), 0o700))
		}
		if r.name == "pipeline" {
			continue // the row has no objects
		}
		objects, err := example.Build(filepath.Join("../../../examples", r.name))
		require.NoError(t, err)
		require.NoError(t, r.standIn.apply(objects))
		seen := 0
		for _, object := range objects {
			example.Containers(object, func(pod, c map[string]any) {
				seen++
				require.Regexp(t, "^localhost/", c["image"], r.name)
				require.NotEqual(t, "packages", c["name"], r.name)
				var volumes []any
				list, _ := pod["volumes"].([]any)
				for _, v := range list {
					volumes = append(volumes, v.(map[string]any)["name"])
				}
				mounts, _ := c["volumeMounts"].([]any)
				for _, m := range mounts {
					require.Contains(t, volumes, m.(map[string]any)["name"], r.name)
				}
			})
			if r.standIn.at != "" {
				for _, pod := range example.Pods(object.Object) {
					require.NotContains(t, pod["volumes"], map[string]any{"name": "venv", "emptyDir": map[string]any{}}, r.name)
				}
			}
		}
		require.Positive(t, seen, r.name)
	}
}
