//go:build linux

package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Every x86-64 wheel of torch on PyPI is linked against the CUDA libraries, which are 3 GB
// of further wheels, but calls none of them if there is no
// device. For each library that the wheel needs and that is missing, standIns builds
// one with the needed symbols, whose functions return "no device".

// elsewhere matches the libraries that every Debian has.
var elsewhere = regexp.MustCompile(`^(ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp|quadmath|gfortran)\.)`)

// cudaName matches names of symbols that have no version, and so do not say which library defines them.
var cudaName = regexp.MustCompile(`^(cu|nccl|nv)[A-Za-z_]`)

// textName matches functions whose callers read the string that they return.
var textName = regexp.MustCompile(`(GetErrorString|GetErrorName|GetLastError|GetStatusString)$`)

// standIn is a library to build.
type standIn struct {
	soname   string
	versions map[string]map[string]elf.SymType // version -> name -> what it is
}

// wantedOf reads the libraries of a wheel and returns the libraries to build for them.
func wantedOf(files []string) ([]*standIn, error) {
	made := map[string]*standIn{}
	own, defined := map[string]bool{}, map[string]bool{}
	bare := map[string]elf.SymType{}
	for _, file := range files {
		own[filepath.Base(file)] = true
	}
	want := func(library string) *standIn {
		if own[library] || elsewhere.MatchString(library) {
			return nil
		}
		if made[library] == nil {
			made[library] = &standIn{soname: library, versions: map[string]map[string]elf.SymType{}}
		}
		return made[library]
	}
	for _, file := range files {
		if err := read(file, want, defined, bare); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	for name, kind := range bare {
		if defined[name] || !cudaName.MatchString(name) {
			continue
		}
		// The loader accepts a symbol without a version from any library.
		for _, s := range made {
			if strings.HasPrefix(s.soname, "libcudart.") {
				s.add("", name, kind)
			}
		}
	}
	return slices.SortedFunc(maps.Values(made), func(a, b *standIn) int { return strings.Compare(a.soname, b.soname) }), nil
}

func read(file string, want func(string) *standIn, defined map[string]bool, bare map[string]elf.SymType) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		want(library)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		switch {
		case s.Section != elf.SHN_UNDEF:
			defined[s.Name] = true
		case s.Library != "":
			if library := want(s.Library); library != nil {
				library.add(s.Version, s.Name, kind)
			}
		case elf.ST_BIND(s.Info) != elf.STB_WEAK:
			bare[s.Name] = kind
		}
	}
	return nil
}

func (s *standIn) add(version, name string, kind elf.SymType) {
	if s.versions[version] == nil {
		s.versions[version] = map[string]elf.SymType{}
	}
	s.versions[version][name] = kind
}

// source returns the C source and the version script.
func (s *standIn) source() (text, script string) {
	var c, m strings.Builder
	for _, version := range slices.Sorted(maps.Keys(s.versions)) {
		names := slices.Sorted(maps.Keys(s.versions[version]))
		for _, name := range names {
			switch {
			case s.versions[version][name] == elf.STT_OBJECT:
				fmt.Fprintf(&c, "char %s[65536];\n", name)
			case name == "__cudaRegisterFatBinary": // the caller keeps the handle that it returns
				fmt.Fprintf(&c, "static void *handle[8]; void **%s(void *x) { return handle; }\n", name)
			case textName.MatchString(name), strings.HasPrefix(name, "__cuda"):
				fmt.Fprintf(&c, "const char *%s(void) { return \"no CUDA here\"; }\n", name)
			case strings.HasSuffix(name, "GetVersion") && !strings.HasPrefix(name, "cuda"):
				fmt.Fprintf(&c, "unsigned long %s(void) { return 0; }\n", name)
			default: // cudaErrorNoDevice
				fmt.Fprintf(&c, "int %s(void) { return 100; }\n", name)
			}
		}
		if version != "" {
			fmt.Fprintf(&m, "%s { %s; };\n", version, strings.Join(names, "; "))
		}
	}
	return c.String(), m.String()
}

// standIns builds the libraries that those in dir need, in dir itself, where the loader searches for them.
func standIns(ctx context.Context, dir string, others ...string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.so*"))
	if err != nil {
		return err
	}
	list, err := wantedOf(append(files, others...))
	if err != nil {
		return err
	}
	for _, s := range list {
		text, script := s.source()
		versions := filepath.Join(dir, "versions")
		if err := os.WriteFile(versions, []byte(script), 0o600); err != nil {
			return err
		}
		argv := []string{"-shared", "-fPIC", "-O1", "-w", "-fno-builtin", "-Wl,-soname," + s.soname, "-o", filepath.Join(dir, s.soname)}
		if script != "" {
			argv = append(argv, "-Wl,--version-script="+versions)
		}
		cmd := exec.CommandContext(ctx, "gcc", append(argv, "-x", "c", "-")...)
		cmd.Stdin = strings.NewReader(text)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", s.soname, err, bytes.TrimSpace(said))
		}
		if err := os.Remove(versions); err != nil {
			return err
		}
	}
	return nil
}

// gpuCode matches sections that only a device's driver reads.
var gpuCode = regexp.MustCompile(`^(\.nv_fatbin|__nv_relfatbin)$`)

// dropGPUCode punches holes into the GPU code of libraries, so that it takes no
// space on the disk.
func dropGPUCode(ctx context.Context, files []string) error {
	for _, file := range files {
		f, err := elf.Open(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		for _, section := range f.Sections {
			if !gpuCode.MatchString(section.Name) {
				continue
			}
			said, err := exec.CommandContext(ctx, "fallocate", "--punch-hole",
				"--offset", fmt.Sprint(section.Offset), "--length", fmt.Sprint(section.FileSize), file).CombinedOutput()
			if err != nil {
				f.Close()
				return fmt.Errorf("drop GPU code of %s: %w\n%s", file, err, said)
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
