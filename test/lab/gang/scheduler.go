//go:build linux

package main

import (
	"context"
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/lab/kueue/manager"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

//go:embed testdata
var testdata embed.FS

func volcano() module {
	m := pinned("volcano", "volcano.sh/volcano", "cmd/scheduler", "cmd/controller-manager")
	m.crds = []string{
		"config/crd/volcano/bases/batch.volcano.sh_jobs.yaml", "config/crd/volcano/bases/bus.volcano.sh_commands.yaml",
		"config/crd/volcano/bases/nodeinfo.volcano.sh_numatopologies.yaml", "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml",
		"config/crd/volcano/bases/scheduling.volcano.sh_queues.yaml",
	}
	return m
}

func coscheduling() module {
	m := pinned("coscheduling", "sigs.k8s.io/scheduler-plugins", "cmd/scheduler", "cmd/controller")
	m.crds = []string{"config/crd/bases/scheduling.x-k8s.io_podgroups.yaml", "config/crd/bases/scheduling.x-k8s.io_elasticquotas.yaml"}
	return m
}

// scheduler is a running gang scheduler: its custom resources and processes.
type scheduler struct {
	module    module
	processes []*program.Process
}

// bring applies the module's custom resources, and starts its programs with a
// configuration in testdata.
func (w *world) bring(ctx context.Context, m module, conf string) (*scheduler, error) {
	s := &scheduler{module: m}
	bin, err := m.Build(ctx)
	if err != nil {
		return s, err
	}
	if err := define(ctx, m); err != nil {
		return s, err
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	file, err := w.configure(ctx, m, conf, kubeconfig)
	if err != nil {
		return s, err
	}
	programs := map[string][]string{
		"volcano/scheduler":          {"--kubeconfig", kubeconfig, "--leader-elect=false", "--cache-dumper=false", "--scheduler-conf", file, "-v=3"},
		"volcano/controller-manager": {"--kubeconfig", kubeconfig, "--leader-elect=false"},
		"coscheduling/scheduler":     {"--config", file, "--secure-port=0", "-v=3"},
		"coscheduling/controller":    {"--kubeconfig", kubeconfig, "--metricsAddr=0", "--probeAddr=0"},
		"kueue/kueue":                {"--kubeconfig", kubeconfig, "--config", file},
	}
	for _, c := range m.Commands {
		name := filepath.Base(c)
		log := filepath.Join(w.out, "raw", "gang-"+m.folder+"-"+name+".log")
		p, err := program.Start(log, []string{"GOMAXPROCS=2"}, append([]string{filepath.Join(bin, name)}, programs[m.folder+"/"+name]...)...)
		if err != nil {
			return s, err
		}
		s.processes = append(s.processes, p)
	}
	return s, nil
}

// configure writes the configuration of the module's programs, and returns its path.
func (w *world) configure(ctx context.Context, m module, conf, kubeconfig string) (file string, err error) {
	if m.folder == "kueue" {
		return w.hook(ctx)
	}
	text, err := testdata.ReadFile("testdata/" + conf)
	if err != nil {
		return "", err
	}
	file = filepath.Join(w.dir, conf)
	return file, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "KUBECONFIG", kubeconfig)), 0o600)
}

// died returns an error if one of the programs has ended.
func (s *scheduler) died() error {
	for _, p := range s.processes {
		if err := p.Died(); err != nil {
			return err
		}
	}
	return nil
}

// leave deletes the custom resources, and then stops the programs, which may have to remove
// finalizers.
func (s *scheduler) leave(ctx context.Context) error {
	err := errors.Join(s.died(), undefine(ctx, s.module))
	if s.module.folder == "kueue" {
		err = errors.Join(err, manager.Unhook(ctx, kube.Kubectl))
	}
	for _, p := range s.processes {
		_ = p.End() // died has reported programs that ended by themselves
	}
	return err
}

// define applies the custom resources of a module and waits until they are served.
func define(ctx context.Context, m module) error {
	files, err := m.files(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "apply", "--server-side", "-f", f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := kube.Served(ctx, "-f", f); err != nil {
			return err
		}
	}
	return nil
}

func undefine(ctx context.Context, m module) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	files, err := m.files(ctx)
	if err != nil {
		return err
	}
	args := []string{"delete", "--ignore-not-found", "--wait"}
	for _, f := range files {
		args = append(args, "-f", f)
	}
	_, err = kube.Kubectl(ctx, corev1.NamespaceDefault, nil, args...)
	return err
}

// module is the source of a scheduler's programs and custom resources.
type module struct {
	program.Module
	folder string   // folder of its go.mod, below this one
	crds   []string // files below its path
}

func modules() []module { return []module{volcano(), coscheduling(), kueue()} }

// pinned returns the module of a folder.
func pinned(folder, path string, commands ...string) module {
	return module{folder: folder, Module: program.Module{
		Dir: filepath.Join("test", "lab", "gang", folder), Path: path, Name: filepath.Base(path), Commands: commands,
	}}
}

// files returns the paths of the module's custom resources.
func (m module) files(ctx context.Context) (list []string, err error) {
	dir, err := m.Source(ctx)
	for _, name := range m.crds {
		list = append(list, filepath.Join(dir, name))
	}
	return list, err
}

// sweep removes everything that a killed run left behind.
func sweep(ctx context.Context, c client.Client) error {
	if err := errors.Join(manager.Unhook(ctx, kube.Kubectl), release(ctx, c)); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, "default", nil, "delete", "namespace", "-l", owner, "--timeout=90s"); err != nil {
		return err
	}
	for _, m := range modules() {
		if err := undefine(ctx, m); err != nil {
			return err
		}
	}
	return kube.GPUs(ctx, gpuNode, 0)
}

// release removes finalizers, because the controllers that would remove them no longer run.
func release(ctx context.Context, c client.Client) error {
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}, {Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ClusterQueue"},
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ResourceFlavor"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) {
				continue
			}
			return err
		}
		for _, o := range list.Items {
			if kind.Kind == "Pod" && !strings.HasPrefix(o.GetNamespace(), "gang-") || len(o.GetFinalizers()) == 0 {
				continue
			}
			if err := c.Patch(ctx, &o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
