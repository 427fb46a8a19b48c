package kubelets

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// kubelet is the first kubelet that mounts images without a feature gate.
const kubelet = "1.35"

// runtimes are the first container runtimes that mount images.
var runtimes = map[string]string{"containerd": "2.1", "cri-o": "1.33"}

// mountsImages reports whether every node in a page of the API server's table of nodes can mount an
// image. A node whose versions are unknown cannot.
func mountsImages(page *metav1.Table) bool {
	column := func(name string) int {
		return slices.IndexFunc(page.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == name })
	}
	of, by := column("Version"), column("Container-Runtime")
	if of < 0 || by < 0 {
		return false
	}
	for _, row := range page.Rows {
		if len(row.Cells) <= max(of, by) {
			return false
		}
		own, _ := row.Cells[of].(string)
		runtime, _ := row.Cells[by].(string)
		name, its, _ := strings.Cut(runtime, "://")
		if !atLeast(own, kubelet) || !atLeast(its, runtimes[name]) {
			return false
		}
	}
	return true
}

// atLeast reports whether a version, such as v1.37.2-eks-1, is not older than another one. Nothing is as
// new as a version that cannot be read.
func atLeast(have, want string) bool {
	h, err := version.ParseGeneric(have)
	if err != nil {
		return false
	}
	w, err := version.ParseGeneric(want)
	return err == nil && h.AtLeast(w)
}
