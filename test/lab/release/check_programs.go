package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// emulator is qemu-user for arm64.
const emulator = "qemu-aarch64-static"

func (b *bench) amd64(ctx context.Context) (string, error) { return b.archive(ctx, "amd64") }
func (b *bench) arm64(ctx context.Context) (string, error) { return b.archive(ctx, "arm64", emulator) }

// archive runs the programs of a Linux archive; words precede each command.
func (b *bench) archive(ctx context.Context, arch string, words ...string) (string, error) {
	dir := filepath.Join(b.tmp, "archive-"+arch)
	if err := unpack(filepath.Join(b.dir, "muster_"+b.number()+"_linux_"+arch+".tar.gz"), dir); err != nil {
		return "", err
	}
	for _, name := range []string{"agent-exporter", "LICENSE", "README.md", "CHANGELOG.md", "examples/pi/pi.py"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	if err := b.manuals(dir); err != nil {
		return "", err
	}
	return b.both(ctx, arch, dir, words...)
}

// manuals looks for manual pages of this version in the archive that was unpacked into dir.
func (b *bench) manuals(dir string) error {
	for _, name := range []string{"agent", "agent-run", "agent-submit"} {
		text, err := os.ReadFile(filepath.Join(dir, "share/man/man1", name+".1"))
		if err != nil {
			return err
		}
		if head, _, _ := strings.Cut(string(text), "\n"); !strings.Contains(head, `"Muster `+b.version+`"`) {
			return fmt.Errorf("%s.1 begins with %s", name, head)
		}
	}
	return nil
}

// both checks the launcher in dir, and then the agent. If agent-launcher is in its directory, the agent executes it for
// these arguments, which does not work under an emulator, so the launcher is removed first.
func (b *bench) both(ctx context.Context, arch, dir string, words ...string) (string, error) {
	launcher := filepath.Join(dir, "agent-launcher")
	if _, err := b.says(ctx, arch, append(slices.Clone(words), launcher)...); err != nil {
		return "", err
	}
	if err := os.Remove(launcher); err != nil {
		return "", err
	}
	return b.says(ctx, arch, append(slices.Clone(words), filepath.Join(dir, "agent"))...)
}

// says runs a program as `PROGRAM --version` and `PROGRAM version -o json`, checks both outputs, and returns the first.
func (b *bench) says(ctx context.Context, arch string, words ...string) (string, error) {
	text, err := output(ctx, b.tmp, words[0], append(slices.Clone(words[1:]), "version", "-o", "json")...)
	if err != nil {
		return "", err
	}
	var identity struct {
		Version, Commit, Platform string
		ProtocolMin, ProtocolMax  int
	}
	if err := json.Unmarshal([]byte(text), &identity); err != nil {
		return "", fmt.Errorf("%s version -o json: %w", words[len(words)-1], err)
	}
	if identity.Version != b.version || identity.Commit != b.commit || identity.Platform != "linux/"+arch || identity.ProtocolMin < 1 || identity.ProtocolMax < identity.ProtocolMin {
		return "", fmt.Errorf("%s version -o json: %s", words[len(words)-1], text)
	}
	line, err := output(ctx, b.tmp, words[0], append(slices.Clone(words[1:]), "--version")...)
	if err != nil {
		return "", err
	}
	for _, part := range []string{b.version, b.commit[:12], fmt.Sprintf("protocol %d to %d", identity.ProtocolMin, identity.ProtocolMax)} {
		if !strings.Contains(line, part) {
			return "", fmt.Errorf("%s --version does not say %q: %s", words[len(words)-1], part, line)
		}
	}
	return strings.TrimSpace(line), nil
}

// clients checks the program in each archive of a client. It does not run them, because most are for other systems.
func (b *bench) clients(context.Context) (string, error) {
	paths, err := filepath.Glob(filepath.Join(b.dir, "muster-client_"+b.number()+"_*"))
	if err != nil {
		return "", err
	}
	var seen []string
	for _, path := range paths {
		name := strings.TrimPrefix(filepath.Base(path), "muster-client_"+b.number()+"_")
		platform, _, _ := strings.Cut(name, ".")
		dir := filepath.Join(b.tmp, "client-"+platform)
		if err := unpack(path, dir); err != nil {
			return "", err
		}
		if err := b.manuals(dir); err != nil {
			return "", err
		}
		program := filepath.Join(dir, "agent")
		if strings.HasPrefix(platform, "windows") {
			program += ".exe"
		}
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return "", err
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		data, err := os.ReadFile(program)
		if err != nil {
			return "", err
		}
		if settings["GOOS"]+"_"+settings["GOARCH"] != platform {
			return "", fmt.Errorf("%s is for %s/%s", path, settings["GOOS"], settings["GOARCH"])
		}
		if !bytes.Contains(data, []byte(b.version)) || !bytes.Contains(data, []byte(b.commit)) {
			return "", fmt.Errorf("%s does not have %s and %s", path, b.version, b.commit)
		}
		seen = append(seen, platform)
	}
	if len(seen) < 5 {
		return "", fmt.Errorf("found only %v", seen)
	}
	return strings.Join(seen, " "), nil
}

// unpack unpacks a .tar, .tar.gz, .tgz or .zip into a new directory.
func unpack(path, dir string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".zip") {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return fmt.Errorf("unpack %s: %w", path, err)
		}
		return os.CopyFS(dir, archive)
	}
	var from io.Reader = bytes.NewReader(data)
	if !strings.HasSuffix(path, ".tar") {
		if from, err = gzip.NewReader(from); err != nil {
			return fmt.Errorf("unpack %s: %w", path, err)
		}
	}
	return untar(from, dir)
}

func untar(from io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("unpack: %s is not below the archive", header.Name)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if err := root.WriteFile(header.Name, data, header.FileInfo().Mode()); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
}

// found reports a missing Debian program, with the package to install.
func found(program, pkg string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%w (apt-get install %s)", err, pkg)
	}
	return nil
}
