package plugin

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No plugin configured costs nothing: what speaks with them is not in
// agent-launcher at all, where its packages would be initialised at every start.
// It is in agent-launcher-plugins.
func TestNoPluginCostsNothing(t *testing.T) {
	for tags, there := range map[string]bool{"grpcnotrace": false, "grpcnotrace,plugins": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tags, "../../../cmd/launcher")
		cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err)
		for _, lib := range []string{"github.com/hashicorp/go-plugin", "google.golang.org/grpc", "google.golang.org/protobuf/proto", "net/rpc"} {
			require.Equal(t, there, strings.Contains(string(out), "\n"+lib+"\n"), "%s with tags %s", lib, tags)
		}
	}
}
