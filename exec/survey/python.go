//go:build linux

package survey

import (
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/exec/proc"
)

// python adds the version of the python3 that a session would start, and of packages that it would
// import. Both are read from names of files: python3 is a link to python3.11, and an installed
// package has a directory torch-2.6.0.dist-info (PyPA, recording installed projects).
func (w Where) python(to map[string]string, packages []string) {
	path, err := proc.LookPath("python3", w.Env, w.Dir)
	if err != nil {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	version := strings.TrimPrefix(filepath.Base(real), "python")
	if !isVersion(version) || !strings.Contains(version, ".") {
		return
	}
	to["Python"] = version
	for _, dir := range w.sitePackages(path, real, version) {
		for _, file := range entries(dir) {
			name, ok := strings.CutSuffix(file, ".dist-info")
			if !ok {
				continue
			}
			name, v, ok := strings.Cut(name, "-")
			for _, p := range packages {
				if ok && normal(name) == normal(p) && to[p] == "" {
					to[p] = printable(v)
				}
			}
		}
	}
}

// sitePackages returns the directories of installed packages, in the order of imports: PYTHONPATH,
// the virtual environment of the interpreter, its prefix, and Debian's.
func (w Where) sitePackages(path, real, version string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(variable(w.Env, "PYTHONPATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, program := range []string{path, real} {
		prefix := filepath.Dir(filepath.Dir(program))
		dirs = append(dirs, filepath.Join(prefix, "lib", "python"+version, "site-packages"))
	}
	return append(dirs, "/usr/local/lib/python"+version+"/dist-packages", "/usr/lib/python3/dist-packages")
}

// normal returns the canonical form of a package's name (PEP 503, with "_" as in directories).
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}
