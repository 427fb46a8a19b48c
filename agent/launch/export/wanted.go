package export

import (
	"os"
	"path/filepath"

	"github.com/musterhq/muster/exec/names"
)

// Program is the name of the program, which is beside agent-launcher.
const Program = "agent-exporter"

// Path returns the path of the program: beside our own binary, with symbolic links resolved, or else
// beside the agent. If there is none, it returns the first of these paths.
func Path(agent string) string {
	beside := agent
	if self, err := os.Executable(); err == nil {
		beside = self
		if real, err := filepath.EvalSymlinks(self); err == nil {
			beside = real
		}
	}
	first := filepath.Join(filepath.Dir(beside), Program)
	for _, path := range []string{first, filepath.Join(filepath.Dir(agent), Program), filepath.Join(filepath.Dir(names.AgentPath), Program)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return first
}
