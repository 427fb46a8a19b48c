//go:build linux

package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
)

func TestLauncherInterface(t *testing.T) {
	require.Equal(t, "lo", launcherInterface(config.Config{Launching: config.Launching{Interface: "lo"}}))
	require.Equal(t, "lo", launcherInterface(config.Config{Launching: config.Launching{Interface: "127.0.0.0/8"}}))
	require.Equal(t, ownInterface(config.Config{}), launcherInterface(config.Config{Launching: config.Launching{Interface: "nosuch0"}}), "the launcher may lack the interface of the workers")
	require.Equal(t, ownInterface(config.Config{}), launcherInterface(config.Config{}))
}

func TestShellsThatOpenMPIKnows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	for name, c := range map[string]struct {
		users string
		want  bool
	}{
		"bash":                        {"root:x:0:0:root:/root:/bin/bash\nme:x:1000:100::/home/me:/bin/bash\n", true},
		"zsh without an end of line":  {"me:x:1000:100::/home/me:/usr/local/bin/zsh", true},
		"dash":                        {"me:x:1000:100::/home/me:/bin/dash\n", false},
		"nologin":                     {"me:x:1000:100::/home/me:/usr/sbin/nologin\n", false},
		"none":                        {"me:x:1000:100::/home/me:\n", false},
		"a name without a directory":  {"me:x:1000:100::/home/me:bash\n", false},
		"the first of two entries":    {"me:x:1000:100::/home/me:/bin/false\nwe:x:1000:100::/home/me:/bin/sh\n", false},
		"no entry":                    {"root:x:0:0:root:/root:/bin/bash\n", false},
		"the uid in another field":    {"me:x:1:1000::/home/me:/bin/bash\n", false},
		"an entry with too few parts": {"me:x:1000\n", false},
		"an empty file":               {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(c.users), 0o600))
			require.Equal(t, c.want, hasShell(file, 1000))
		})
	}
	require.False(t, hasShell(filepath.Join(t.TempDir(), "none"), 1000))
}
