//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/test/lab/examples/example"
	"github.com/musterhq/muster/test/suite/program"
)

// standIn replaces images and packages that the cluster cannot pull.
type standIn struct {
	venvs []string // environments of test/lab/frameworks; the programs of the first one come first in PATH
	at    string   // mount path of the volume with packages that venvs[0] replaces; "": no such volume
	build bool     // the example compiles, with the compilers in /usr of this machine
	files []string // files of this machine, as PATH:PATH IN THE POD
}

const image = "localhost/muster-frameworks:dev" // images/frameworks

// apply changes the objects of an example for the cluster.
func (s standIn) apply(objects []*unstructured.Unstructured) error {
	dirs := map[string]string{}
	for _, name := range s.venvs {
		dir, err := program.MadeVenv(name)
		if err != nil {
			return err
		}
		dirs[name] = dir
	}
	for _, object := range objects {
		for _, pod := range example.Pods(object.Object) {
			s.pod(pod, dirs)
		}
	}
	return nil
}

// pod applies the stand-ins to a pod.
func (s standIn) pod(pod map[string]any, dirs map[string]string) {
	volumes, _ := pod["volumes"].([]any)
	var mounts []any
	mount := func(name, from, to, kind string) {
		volumes = append(volumes, hostPath(name, from, kind))
		mounts = append(mounts, map[string]any{"name": name, "mountPath": to, "readOnly": true})
	}
	var path, packages []string
	for i, name := range s.venvs {
		at := "/stand-in/" + name
		if i == 0 && s.at != "" {
			volumes = slices.DeleteFunc(volumes, func(v any) bool { return v.(map[string]any)["name"] == "venv" })
			volumes = append(volumes, hostPath("venv", dirs[name], "Directory"))
			at = s.at
		} else {
			mount("stand-in-"+name, dirs[name], at, "Directory")
		}
		path = append(path, at+"/bin")
		if i > 0 {
			packages = append(packages, at+"/lib/python3.11/site-packages")
		}
	}
	if s.build {
		mount("usr", "/usr", "/usr", "Directory")
		mount("alternatives", "/etc/alternatives", "/etc/alternatives", "Directory")
	}
	for i, file := range s.files {
		from, to, _ := strings.Cut(file, ":")
		mount(fmt.Sprintf("file-%d", i), from, to, "File")
	}
	env := []any{
		map[string]any{"name": "PATH", "value": strings.Join(append(path, "/usr/local/bin:/usr/bin:/bin"), ":")},
		map[string]any{"name": "PYTHONPATH", "value": strings.Join(packages, ":")},
		map[string]any{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}, map[string]any{"name": "OMP_NUM_THREADS", "value": "1"},
	}
	inits, _ := pod["initContainers"].([]any)
	inits = slices.DeleteFunc(inits, func(c any) bool { return s.at != "" && c.(map[string]any)["name"] == "packages" })
	for _, c := range slices.Concat(inits, pod["containers"].([]any)) {
		c := c.(map[string]any)
		if name := fmt.Sprint(c["image"]); strings.HasPrefix(name, released) {
			c["image"] = "localhost/" + strings.TrimPrefix(name, released)
			continue
		}
		c["image"] = image
		add(c, "env", env)
		add(c, "volumeMounts", mounts)
	}
	if delete(pod, "initContainers"); len(inits) > 0 {
		pod["initContainers"] = inits
	}
	if len(volumes) > 0 {
		pod["volumes"] = volumes
	}
}

const released = "ghcr.io/musterhq/"

func hostPath(name, path, kind string) any {
	return map[string]any{"name": name, "hostPath": map[string]any{"path": path, "type": kind}}
}

func add(container map[string]any, key string, items []any) {
	have, _ := container[key].([]any)
	if all := slices.Concat(have, items); len(all) > 0 {
		container[key] = all
	}
}

// plugin builds the programs in the image of examples/plugin, and writes the plugin's checksum into the job.
func plugin(ctx context.Context, dir string, objects []*unstructured.Unstructured) ([]string, error) {
	var files []string
	for name, tags := range map[string]string{"nodelist": "", "agent-launcher-plugins": "grpcnotrace,plugins"} {
		path := map[string]string{"nodelist": "./agent/framework/plugin/sample", "agent-launcher-plugins": "./cmd/launcher"}[name]
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tags, "-o", filepath.Join(dir, name), path)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, said)
		}
		files = append(files, filepath.Join(dir, name)+":/muster/"+name)
	}
	sum, err := exec.CommandContext(ctx, "sha256sum", filepath.Join(dir, "nodelist")).Output()
	if err != nil {
		return nil, fmt.Errorf("compute the plugin's checksum: %w", err)
	}
	for _, object := range objects {
		example.Containers(object, func(_, c map[string]any) {
			env, _ := c["env"].([]any)
			for _, v := range env {
				if v := v.(map[string]any); v["name"] == "MUSTER_PLUGIN" {
					v["value"] = strings.ReplaceAll(v["value"].(string), strings.Repeat("0", 64), string(sum[:64]))
				}
			}
		})
	}
	return files, nil
}
