package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/test/lab/cluster/keys"
)

// archive is a docker-archive file: the digest of its content and the names of its images.
type archive struct {
	file   string
	digest string
	names  []string
}

func readArchive(file string) (archive, error) {
	f, err := os.Open(file)
	if err != nil {
		return archive{}, err
	}
	defer f.Close()
	names, err := archiveNames(f)
	if err != nil {
		return archive{}, fmt.Errorf("read %s: %w", file, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return archive{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return archive{}, err
	}
	return archive{file, hex.EncodeToString(h.Sum(nil)), names}, nil
}

// load imports archives into all nodes at the same time. It skips nodes that already have the images from the
// same file.
func (c cluster) load(files []string) error {
	if len(files) == 0 {
		return usageError{"load: missing argument: FILE"}
	}
	for _, file := range files {
		a, err := readArchive(file)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		var on []node
		for _, n := range nodes() {
			if _, _, ok := c.running(n.name); !ok {
				return fmt.Errorf("load %s: %s is off", file, n.name)
			}
			has, err := c.hasImage(n, a)
			if err != nil {
				return err
			}
			if !has {
				on = append(on, n)
			}
		}
		if len(on) == 0 {
			continue
		}
		err = c.say.step("loading "+strings.Join(a.names, " "), func() error { return c.importAll(on, a) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) importAll(on []node, a archive) error {
	errs := make([]error, len(on))
	var all sync.WaitGroup
	for i, n := range on {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = c.importImage(n, a)
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c cluster) importImage(n node, a archive) error {
	out, err := c.ctr(n, "images", "import", a.file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import %s into %s: %w\n%s", a.file, n.name, err, tail(out, 10))
	}
	for _, name := range a.names {
		if err := keys.WriteFile(c.loadedMark(n, name), []byte(a.digest), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// loadedMark returns the path of a file with the digest of the archive from which a node's image was imported.
func (c cluster) loadedMark(n node, image string) string {
	return c.nodeDir(n, "loaded", strings.ReplaceAll(image, "/", "_"))
}

func (c cluster) hasImage(n node, a archive) (bool, error) {
	for _, name := range a.names {
		if mark, err := os.ReadFile(c.loadedMark(n, name)); err != nil || string(mark) != a.digest {
			return false, nil
		}
	}
	// The kubelet may have garbage-collected the image meanwhile.
	out, err := c.ctr(n, "images", "ls", "-q").Output()
	if err != nil {
		return false, fmt.Errorf("list images of %s: %w", n.name, err)
	}
	there := strings.Fields(string(out))
	for _, name := range a.names {
		if !slices.Contains(there, fullName(name)) {
			return false, nil
		}
	}
	return true, nil
}

// fullName returns an image's name as containerd writes it. Docker's short names refer to docker.io and its library
// (github.com/distribution/reference, ParseNormalizedNamed).
func fullName(name string) string {
	first, _, slash := strings.Cut(name, "/")
	if !slash {
		return "docker.io/library/" + name
	}
	if strings.ContainsAny(first, ".:") || first == "localhost" {
		return name
	}
	return "docker.io/" + name
}

func (c cluster) ctr(n node, args ...string) *exec.Cmd {
	return exec.Command(c.program("ctr"), append([]string{"--address", c.socket(n), "--namespace", "k8s.io"}, args...)...)
}

// awaitContainerd waits until a node's containerd accepts connections.
func (c cluster) awaitContainerd(n node) error {
	err := c.await("containerd of "+n.name+" answers", 30*time.Second, func() error {
		conn, err := net.Dial("unix", c.socket(n))
		if err != nil {
			return err
		}
		return conn.Close()
	}, n.name)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, c.lastLines(n.name+"-containerd"))
	}
	return err
}

const probeImage = "localhost/muster-probe:1"

func (c cluster) probeArchive() string { return c.images("probe.tar") }

// A docker-archive (the format of `docker save`, Docker image specification v1.2) is a tar of manifest.json, one
// configuration and the layers.

type archiveManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// imageArchive returns a docker-archive of an image with a single file: the program, which is also the entrypoint.
func imageArchive(name, path string, program []byte) ([]byte, error) {
	layer, err := tarOf(tarFile{strings.TrimPrefix(path, "/"), program, 0o755})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{path}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
	if err != nil {
		return nil, err
	}
	m := archiveManifest{digest(config) + ".json", []string{name}, []string{digest(layer) + "/layer.tar"}}
	manifest, err := json.Marshal([]archiveManifest{m})
	if err != nil {
		return nil, err
	}
	return tarOf(tarFile{"manifest.json", manifest, 0o644}, tarFile{m.Config, config, 0o644}, tarFile{m.Layers[0], layer, 0o644})
}

type tarFile struct {
	name string
	data []byte
	mode int64
}

func tarOf(files ...tarFile) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// archiveNames returns the image names in a docker-archive, read from its manifest.
func archiveNames(archive io.Reader) ([]string, error) {
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("not a docker-archive: no manifest.json")
		}
		if err != nil {
			return nil, fmt.Errorf("not a docker-archive: %w", err)
		}
		if h.Name != "manifest.json" {
			continue
		}
		var manifests []archiveManifest
		if err := json.NewDecoder(r).Decode(&manifests); err != nil {
			return nil, fmt.Errorf("read manifest.json: %w", err)
		}
		var names []string
		for _, m := range manifests {
			names = append(names, m.RepoTags...)
		}
		if len(names) == 0 {
			return nil, errors.New("its image has no name: save it with a tag")
		}
		return names, nil
	}
}
