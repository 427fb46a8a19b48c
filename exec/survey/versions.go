//go:build linux

package survey

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// modules are kernel modules whose version can decide whether a job works, with the name that users
// know.
var modules = [...][2]string{{"amdgpu", "AMD driver"}, {"neuron", "Neuron driver"}, {"habanalabs", "Gaudi driver"}, {"mlx5_core", "mlx5 driver"}, {"efa", "EFA driver"}}

// drivers adds the versions of the kernel and of drivers.
func (w Where) drivers(to map[string]string) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		to["kernel"] = string(u.Release[:max(0, bytes.IndexByte(u.Release[:], 0))])
	}
	if text, err := read(w.path("proc/driver/nvidia/version")); err == nil {
		if v := nvidiaVersion(text); v != "" {
			to["NVIDIA driver"] = v
		}
	}
	for _, m := range modules {
		if v, err := read(w.path("sys/module/" + m[0] + "/version")); err == nil && v != "" {
			to[m[1]] = printable(v)
		}
	}
}

// nvidiaVersion finds the version in the first line of the driver's file, as in "NVRM version:
// NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023": the first word of
// digits and dots.
func nvidiaVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	for _, word := range strings.Fields(line) {
		if strings.Contains(word, ".") && strings.Trim(word, "0123456789.") == "" {
			return word
		}
	}
	return ""
}

// wanted are libraries whose file name ends in their version.
var wanted = [...]struct{ prefix, name string }{
	{"libnccl.so.", "NCCL"},
	{"librccl.so.", "RCCL"},
	{"libcudart.so.", "CUDA runtime"},
	{"libmpich.so.", "MPICH library"},
	{"libmpi.so.", "MPI library"},
	{"libibverbs.so.", "libibverbs"},
	{"libfabric.so.", "libfabric"},
}

// mostEntries bounds the entries of one directory that are looked at.
const mostEntries = 20_000

// libraries adds the versions of libraries in the usual directories of an image, and in
// LD_LIBRARY_PATH. The first directory that has a library decides, as for the loader.
func (w Where) libraries(to map[string]string) {
	dirs := filepath.SplitList(variable(w.Env, "LD_LIBRARY_PATH"))
	for _, pattern := range []string{"usr/local/lib", "usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/local/cuda*/lib64", "opt/*/lib"} {
		found, _ := filepath.Glob(w.path(pattern)) // the pattern is valid
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		here := map[string]string{}
		for _, file := range entries(dir) {
			if !strings.HasPrefix(file, "lib") {
				continue
			}
			for _, lib := range wanted {
				if v, ok := strings.CutPrefix(file, lib.prefix); ok && isVersion(v) && longer(v, here[lib.name]) {
					here[lib.name] = v
				}
			}
		}
		for name, v := range here {
			if to[name] == "" {
				to[name] = v
			}
		}
	}
}

// entries returns the names in a directory.
func entries(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, _ := d.Readdirnames(mostEntries) // what was read before an error counts
	return list
}

// longer reports whether a version is the more exact one: of a library's files, others are links to
// the one with the longest name.
func longer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func isVersion(text string) bool {
	return text != "" && len(text) < 32 && strings.Trim(text, "0123456789.") == ""
}

// printable returns a text without control characters, at most 64 bytes of it.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), 64)]
}

// variable returns the value of an environment variable; the last entry counts.
func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
