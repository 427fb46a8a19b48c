package kubelets

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// age is how long an answer is used. Nodes of another version are rare.
	age = 10 * time.Minute
	// page is how many nodes one request reads.
	page = 500
	// within limits the reading: a job waits for it.
	within = 10 * time.Second
)

// Nodes asks the API server about its nodes. It is safe for concurrent use.
type Nodes struct {
	client rest.Interface
	clock  clock.PassiveClock

	mu     sync.Mutex
	until  time.Time // when the answer is too old
	answer bool
}

// New returns a Nodes for a cluster.
func New(cfg *rest.Config, c clock.PassiveClock) (*Nodes, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &metav1.SchemeGroupVersion, serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for nodes: %w", err)
	}
	return &Nodes{client: client, clock: c}, nil
}

// MountImages reports whether all nodes can mount an image as a volume. If the nodes cannot be read, or
// there are none, it reports false and logs why.
func (n *Nodes) MountImages(ctx context.Context) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.clock.Now().Before(n.until) {
		return n.answer
	}
	answer, err := n.read(ctx)
	if ctx.Err() != nil {
		return false // the controller ends
	}
	if err != nil {
		log.FromContext(ctx).Info("cannot tell whether the nodes mount images: an init container copies the agent", "error", err.Error())
	}
	n.answer, n.until = answer, n.clock.Now().Add(age)
	return answer
}

func (n *Nodes) read(ctx context.Context) (all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for next := ""; ; {
		text, err := n.client.Get().AbsPath("/api/v1/nodes").Param("limit", strconv.Itoa(page)).Param("continue", next).
			Param("includeObject", string(metav1.IncludeNone)).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
		if err != nil {
			return false, fmt.Errorf("list nodes: %w", err)
		}
		t := &metav1.Table{}
		if err := json.Unmarshal(text, t); err != nil {
			return false, fmt.Errorf("read the table of nodes: %w", err)
		}
		if len(t.Rows) == 0 || !mountsImages(t) {
			return false, nil
		}
		if next = t.Continue; next == "" {
			return true, nil
		}
	}
}
