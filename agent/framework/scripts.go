package framework

import (
	"io"
	"os"
	"path/filepath"
)

// mostScript is the number of bytes of a script that are read.
const mostScript = 1 << 18

// Scripts returns a reader of files for [Below]. Relative paths start at dir, or at the current
// directory if dir is "". It reads only regular files, because a pipe can be read only once.
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
