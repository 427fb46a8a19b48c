package framework

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFakeNodesOfRayAreApart checks that fake nodes use separate directories. Ray's nodes write
// into the head's directory, where their sockets would have the same name.
func TestFakeNodesOfRayAreApart(t *testing.T) {
	c := Cluster{Port: 30000, RunDir: "/run/x", Command: []string{"python3", "t.py"}}
	for i, name := range []string{"a", "b", "c"} {
		c.Workers = append(c.Workers, Node{Name: name, Host: name, IP: "127.0.0." + string(rune('2'+i)), Slots: 1, Index: i})
	}
	for _, c.Fake = range []bool{false, true} {
		launch, err := Ray{}.Prepare(c)
		require.NoError(t, err)
		dirs := map[string]bool{}
		for _, p := range launch.Processes {
			for _, word := range p.Argv {
				if dir, ok := strings.CutPrefix(word, "--temp-dir="); ok {
					require.True(t, strings.HasPrefix(dir, c.RunDir+"/"), dir)
					dirs[dir] = true
				}
			}
		}
		require.Equal(t, c.Fake, len(dirs) == 2, "%v", dirs)
	}
}
