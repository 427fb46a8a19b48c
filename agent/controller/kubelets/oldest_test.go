package kubelets

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// table returns a table of nodes like the API server's, with the columns that are used and others.
func table(nodes ...[2]string) *metav1.Table {
	t := &metav1.Table{}
	for _, name := range []string{"Name", "Status", "Version", "Kernel-Version", "Container-Runtime"} {
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: name})
	}
	for _, n := range nodes {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: []any{"node", "Ready", n[0], "6.18", n[1]}})
	}
	return t
}

func TestMountsImages(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes [][2]string
		want  bool
	}{
		"containerd 2":          {[][2]string{{"v1.37.2", "containerd://2.4.2"}}, true},
		"the oldest":            {[][2]string{{"v1.35.0", "containerd://2.1.0"}}, true},
		"CRI-O":                 {[][2]string{{"v1.36.1", "cri-o://1.36.0"}}, true},
		"a provider's versions": {[][2]string{{"v1.36.3-eks-3abbec1", "containerd://2.2.1+unknown"}, {"v1.35.4+k3s1", "containerd://2.1.5-k3s1"}}, true},
		"one old kubelet":       {[][2]string{{"v1.37.2", "containerd://2.4.2"}, {"v1.34.9", "containerd://2.4.2"}}, false},
		"one old containerd":    {[][2]string{{"v1.35.2", "containerd://1.7.27"}, {"v1.37.2", "containerd://2.4.2"}}, false},
		"another runtime":       {[][2]string{{"v1.37.2", "docker://28.0.0"}}, false},
		"a virtual kubelet":     {[][2]string{{"v1.37.2", ""}}, false},
		"no version":            {[][2]string{{"", "containerd://2.4.2"}}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, mountsImages(table(tc.nodes...))) })
	}
	short := table([2]string{"v1.37.2", "containerd://2.4.2"})
	short.Rows[0].Cells = short.Rows[0].Cells[:3]
	require.False(t, mountsImages(short), "a row without the runtime")
	short.ColumnDefinitions = short.ColumnDefinitions[:3]
	require.False(t, mountsImages(short), "a table without the runtime")
}
