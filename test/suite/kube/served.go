package kube

import (
	"context"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	corev1 "k8s.io/api/core/v1"
)

// Served waits until custom resources that were just defined are served; which are
// arguments of kubectl wait: crd/NAME, or -f FILE.
func Served(ctx context.Context, which ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, strings.Join(which, " "), func() (bool, error) {
		_, err := Kubectl(ctx, corev1.NamespaceDefault, nil, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, which...)...)
		// One that is so new that its conditions are null is an error to kubectl, at once.
		return err == nil || !strings.Contains(err.Error(), "conditions accessor error"), err
	})
}
