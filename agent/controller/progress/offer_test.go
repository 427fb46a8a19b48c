package progress

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/exec/names"
)

// trusting returns a transport for a server with this certificate.
func trusting(ca []byte) *http.Transport {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: host}}
}

// TestGive checks what a pod gets, and that a pod which reports elsewhere stays as it is.
func TestGive(t *testing.T) {
	o := &Offer{address: "https://" + host + ":8443", ca: "PEM"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "sidecar"}}}}
	o.Give(pod, &pod.Spec.Containers[0], "train")
	own := pod.Spec.Containers[0]
	require.Equal(t, []corev1.EnvVar{
		{Name: names.EnvTrainerURL, Value: "https://" + host + ":8443/apis/muster.dev/v1alpha1/namespaces/hpc/launchjobs/train/status"},
		{Name: names.EnvTrainerCA, Value: "/var/run/secrets/muster.dev/progress/ca.crt"},
		{Name: names.EnvTrainerToken, Value: "/var/run/secrets/muster.dev/progress/token"},
	}, own.Env)
	require.Equal(t, "PEM", pod.Annotations[names.AnnotationProgressCA])
	require.Equal(t, Audience, pod.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.Audience)
	require.Empty(t, pod.Spec.Containers[1].Env, "other containers get no token")

	theirs := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: names.EnvTrainerURL, Value: "https://elsewhere"}}}}}}
	before := theirs.DeepCopy()
	o.Give(theirs, &theirs.Spec.Containers[0], "train")
	require.Equal(t, before, theirs)

	var none *Offer
	none.Give(before, &before.Spec.Containers[0], "train")
	require.Equal(t, theirs, before)
}
