//go:build linux

package plane

import (
	"context"
	_ "embed" // the stages
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/lab/kwok"
)

const (
	// EndsAfter is the annotation of pods that succeed after a time, such as 5s. Other pods run until they are deleted.
	EndsAfter = "lab.muster.dev/ends-after"
	// NeverReady is the annotation of pods that stay Pending on their node.
	NeverReady = "lab.muster.dev/never-ready"
	// LostLabel is the label of nodes that stay NotReady, if they are.
	LostLabel = "lab.muster.dev/lost"
)

// stages are what kwok does with nodes and pods.
//
//go:embed stages.yaml
var stages []byte

// Nodes simulates all nodes of the plane, and creates some. Each has room for what its Allocatable says, or else for
// everything.
func (p *Plane) Nodes(ctx context.Context, c client.Client, nodes ...*corev1.Node) error {
	file := filepath.Join(p.dir, "stages.yaml")
	if err := os.WriteFile(file, stages, 0o600); err != nil {
		return err
	}
	one, err := kwok.Run(ctx, p.Kubeconfig, filepath.Join(p.logs, p.Name+"-kwok.log"), "--manage-all-nodes=true", "--config="+file)
	if err != nil {
		return err
	}
	p.running = append(p.running, one)
	for _, node := range nodes {
		if err := c.Create(ctx, node); err != nil {
			return fmt.Errorf("create node: %w", err)
		}
	}
	return kwok.Ready(ctx, c, nodes...)
}
