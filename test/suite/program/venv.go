package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Venvs returns the directory of the Python environments that test/lab/frameworks makes.
func Venvs() (string, error) {
	if dir := os.Getenv("MUSTER_FRAMEWORKS"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "muster", "frameworks"), err
}

// MadeVenv returns an environment that Venv has made. If there are several, it returns the newest.
func MadeVenv(name string) (string, error) {
	cache, err := Venvs()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(cache, name+"-"+strings.Repeat("[0-9a-f]", 10)))
	if err != nil {
		return "", err
	}
	newest, at := "", time.Time{}
	for _, dir := range found {
		if info, err := os.Stat(dir); err == nil && info.ModTime().After(at) {
			newest, at = dir, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no environment for %s in %s: test/lab/run frameworks -install", name, cache)
	}
	return newest, nil
}
