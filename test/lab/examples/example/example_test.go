package example

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

const root = "../../../.."

// wanted returns the names of all required examples, and whether they have objects. Those without objects are programs.
func wanted() map[string]bool {
	all := map[string]bool{"pipeline": false}
	for _, name := range []string{
		"pi", "mpi-c", "mpi-fortran", "mpi-python", "pytorch-ddp", "pytorch-fsdp", "torchrun-elastic", "jax", "tensorflow-ps", "deepspeed",
		"horovod", "ray", "xgboost", "gang-volcano", "gang-coscheduling", "gang-kueue", "gang-workload", "spares", "restricted-namespace",
		"shared-volume", "log-archive", "join", "plugin",
	} {
		all[name] = true
	}
	return all
}

// folders lists the folders of a directory.
func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() && e.Name() != "gpu" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestEveryExampleExistsAndIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "examples/README.md"))
	require.NoError(t, err)
	var listed, all, withObjects []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(([a-z-]+)/README\.md\) \|`).FindAllStringSubmatch(string(index), -1) {
		require.Equal(t, m[1], m[2])
		listed = append(listed, m[1])
	}
	for name, objects := range wanted() {
		if all = append(all, name); objects {
			withObjects = append(withObjects, name)
		}
	}
	require.ElementsMatch(t, all, folders(t, "examples"))
	require.ElementsMatch(t, all, listed)
	require.ElementsMatch(t, withObjects, folders(t, "examples/gpu"))
}

func TestEveryReadmeIsShortAndComplete(t *testing.T) {
	const most = 12 // lines
	for name, objects := range wanted() {
		r, err := Read(filepath.Join(root, "examples", name))
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.Lines), most, name)
		text := strings.Join(r.Lines, "\n")
		require.Contains(t, text, "Takes ", "%s: the README must say how long the example takes", name)
		require.Contains(t, text, "With GPUs", name)
		if objects {
			require.Contains(t, r.Commands, "kubectl apply -k examples/"+name)
			require.Contains(t, text, "`kubectl apply -k examples/gpu/"+name+"`")
		}
	}
}

func TestALineMayHaveARankPrefix(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("```sh\nkubectl logs x\n```\n- Prints `loss ... on 2 ranks`.\n"), 0o600))
	r, err := Read(dir)
	require.NoError(t, err)
	for output, want := range map[string]string{
		"a\nloss 0.1 on 2 ranks\nb":                 "loss 0.1 on 2 ranks",
		"0: loss 0.1 on 2 ranks":                    "loss 0.1 on 2 ranks",
		"[0]<stdout>:loss 1e-05 on 2 ranks":         "loss 1e-05 on 2 ranks",
		"loss 0.1 on 3 ranks":                       "",
		"loss 0.1 on 2 ranks followed by more text": "",
		"no loss 0.1 on 2 ranks":                    "",
	} {
		require.Equal(t, want, r.Said(output), output)
	}
}

func TestTheAPIServerAcceptsEveryExample(t *testing.T) {
	v := newValidator(t)
	for name, objects := range wanted() {
		for _, dir := range []string{name, "gpu/" + name} {
			if !objects {
				continue
			}
			all, err := Build(filepath.Join(root, "examples", dir))
			require.NoError(t, err)
			require.NotEmpty(t, all)
			for _, object := range all {
				if object.GetKind() == v1alpha1.Kind {
					require.NoError(t, v.check(t.Context(), object.DeepCopy()), "%s: LaunchJob %s", dir, object.GetName())
				}
				decode(t, dir, object)
			}
		}
	}
}

// TestTheCheckFindsMistakes checks that the rules of TestTheAPIServerAcceptsEveryExample reject objects that
// the API server would reject.
func TestTheCheckFindsMistakes(t *testing.T) {
	v := newValidator(t)
	all, err := Build(filepath.Join(root, "examples/jax"))
	require.NoError(t, err)
	job := all[slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == v1alpha1.Kind })]
	require.NoError(t, v.check(t.Context(), job.DeepCopy()))
	for want, change := range map[string]func(spec map[string]any){
		"unknown field: spec.wokers":             func(spec map[string]any) { spec["wokers"] = int64(2) },
		"unknown framework":                      func(spec map[string]any) { spec["framework"] = "jaxx" },
		"spec.workers: Invalid value":            func(spec map[string]any) { spec["workers"] = int64(20000) },
		"gang.backend kueue requires gang.queue": func(spec map[string]any) { spec["gang"] = map[string]any{"backend": "kueue"} },
	} {
		bad := job.DeepCopy()
		change(bad.Object["spec"].(map[string]any))
		require.ErrorContains(t, v.check(t.Context(), bad), want)
	}
}

// decode decodes an object strictly. It skips Kueue's kinds, whose types are not imported; make e2e-gang
// creates them.
func decode(t *testing.T, dir string, object *unstructured.Unstructured) {
	t.Helper()
	if object.GroupVersionKind().Group == "kueue.x-k8s.io" {
		return
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, v1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	text, err := json.Marshal(object.Object)
	require.NoError(t, err)
	_, _, err = serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(text, nil, nil)
	require.NoError(t, err, "%s: %s %s", dir, object.GetKind(), object.GetName())
}

// TestTheGPUVariantIsTheSameJob checks that the variants differ only in images, in packages that are installed before the
// start, and in resources, and that only the GPU variant requests a GPU.
func TestTheGPUVariantIsTheSameJob(t *testing.T) {
	for name, objects := range wanted() {
		if !objects {
			continue
		}
		cpu, err := Build(filepath.Join(root, "examples", name))
		require.NoError(t, err)
		gpu, err := Build(filepath.Join(root, "examples/gpu", name))
		require.NoError(t, err)
		asks := func(all []*unstructured.Unstructured) (n int) {
			for _, object := range all {
				Containers(object, func(_ map[string]any, c map[string]any) {
					if _, found, _ := unstructured.NestedFieldNoCopy(c, "resources", "limits", "nvidia.com/gpu"); found {
						n++
					}
				})
			}
			return n
		}
		require.Zero(t, asks(cpu), name)
		require.Positive(t, asks(gpu), name)
		require.Equal(t, plain(cpu), plain(gpu), name)
	}
}

// plain returns objects without the fields that may differ.
func plain(all []*unstructured.Unstructured) (text []map[string]any) {
	for _, object := range all {
		object = object.DeepCopy()
		Containers(object, func(_ map[string]any, c map[string]any) {
			delete(c, "image")
			delete(c, "resources")
			if c["name"] == "packages" {
				delete(c, "command")
			}
		})
		text = append(text, object.Object)
	}
	return text
}
