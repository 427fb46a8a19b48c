//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fakekube"
)

func TestNoCluster(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "token")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, nil, 0o600))
	empty := fmt.Errorf("read kubeconfig: %w", clientcmd.ErrEmptyConfig)
	broken := errors.New("read kubeconfig: line 3: not yaml")
	for name, tc := range map[string]struct {
		cfg        config.Config
		named      string // value of KUBECONFIG
		err        error
		inPod      bool
		token      string
		want, hint string
	}{
		"no pod, no kubeconfig": {err: empty, token: nowhere, want: "find the cluster: not running in a pod, and there is no kubeconfig", hint: "--fake=4"},
		"a missing KUBECONFIG": {named: "/no/such", err: empty, token: nowhere,
			want: "find the cluster: not running in a pod, and KUBECONFIG=/no/such does not exist", hint: "--kubeconfig"},
		"a pod without a token": {err: empty, inPod: true, token: nowhere, want: "find the cluster: this pod has no ServiceAccount token", hint: "serviceAccountName"},
		"an invalid kubeconfig": {err: broken, token: nowhere, want: "find the cluster: read kubeconfig: line 3: not yaml", hint: "--kubeconfig"},
		"a pod with a token":    {err: broken, inPod: true, token: token, want: "find the cluster: read kubeconfig: line 3: not yaml", hint: "--kubeconfig"},
		"a kubeconfig in a pod": {cfg: config.Config{Selection: config.Selection{Kubeconfig: "/x"}}, err: broken, inPod: true, token: nowhere,
			want: "find the cluster: read kubeconfig: line 3: not yaml", hint: "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.named)
			var f *failure.Failure
			require.ErrorAs(t, noCluster(tc.cfg, tc.err, tc.inPod, tc.token), &f)
			require.Equal(t, tc.want, f.Error())
			require.Contains(t, f.Hint(), tc.hint)
			require.Equal(t, names.ExitNoCluster, f.Code)
		})
	}
}

func TestEpochOfAClusterThatDoesNotAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // connections are refused from now on
	client, err := rendezvous.Client(&rest.Config{Host: "http://" + l.Addr().String()})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 700*time.Millisecond, errors.New("--timeout has passed"))
	defer cancel()
	_, err = (&Kube{client: client, Namespace: "ns"}).Epoch(ctx, config.Config{Pod: config.Pod{PodName: "pi-launcher"}}, "id")
	require.ErrorContains(t, err, "the cluster cannot be reached: get our own pod pi-launcher: ")
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "\n", "every error is one line")
	require.Equal(t, 1, strings.Count(err.Error(), "cannot be reached"))
	require.Equal(t, names.ExitNoCluster, failure.CodeOf(err))
}

// TestEpochOfARestartedContainer checks that a launcher whose container was restarted is newer,
// even if the pod's status does not count the restart yet.
func TestEpochOfARestartedContainer(t *testing.T) {
	api := fakekube.New(t)
	api.Set(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi-launcher", UID: "u1"}})
	client, err := rendezvous.Client(&rest.Config{Host: api.URL()})
	require.NoError(t, err)
	k := &Kube{client: client, Namespace: "ns"}
	first, err := k.Epoch(t.Context(), config.Config{Pod: config.Pod{PodName: "pi-launcher"}}, "id")
	require.NoError(t, err)
	second, err := k.Epoch(t.Context(), config.Config{Pod: config.Pod{PodName: "pi-launcher"}}, "id")
	require.NoError(t, err)
	require.Equal(t, first.Restarts, second.Restarts)
	require.Positive(t, second.Compare(first))
}

// TestOwnPodByListOrGet checks that the launcher finds its own pod if it may only list pods, and if
// it may only get pods.
func TestOwnPodByListOrGet(t *testing.T) {
	const list = "/api/v1/namespaces/ns/pods"
	for _, right := range []string{"list", "get"} {
		api := fakekube.New(t)
		api.Set(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi-launcher", UID: "u1"}})
		api.Set(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "u2"}})
		api.Fail(fakekube.Failure{Match: func(r *http.Request) bool {
			return (r.URL.Path == list) == (right == "get")
		}, Code: http.StatusForbidden})
		client, err := rendezvous.Client(&rest.Config{Host: api.URL()})
		require.NoError(t, err)
		k := &Kube{client: client, Namespace: "ns"}
		pod, err := k.get(t.Context(), "pi-launcher")
		require.NoError(t, err)
		require.Equal(t, "u1", string(pod.UID))
		_, err = k.get(t.Context(), "gone")
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		client.(*rest.RESTClient).Client.CloseIdleConnections()
	}
}
