package framework

import (
	"io"
	"os"
	"path/filepath"
)

// mostScript is how much of a script is read, in bytes.
const mostScript = 1 << 18

// Scripts returns a reader for [Below] of files in dir, "" being the current directory. It
// reads regular files alone: what comes from a pipe could be read only once.
func Scripts(dir string) func(path string) string {
	return func(path string) string {
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		f, err := os.Open(path)
		if err != nil {
			return ""
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, mostScript))
		if err != nil {
			return ""
		}
		return string(text)
	}
}
