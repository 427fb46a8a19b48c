package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// both returns the TLS configuration of both sides: a self-signed certificate that is its own authority.
func both(b *testing.B) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"worker"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(b, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(b, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, ServerName: "worker", MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true}
}

// listen echoes the input of each connection, until the benchmark ends.
func listen(b *testing.B, config *tls.Config) string {
	ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(b, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				_, _ = io.Copy(conn, conn) // until the peer closes the connection
				_ = conn.Close()
			})
		}
	})
	b.Cleanup(func() { _ = ln.Close(); conns.Wait() })
	return ln.Addr().String()
}

// greeted dials, writes a byte and waits for the echo.
func greeted(b *testing.B, address string, config *tls.Config) net.Conn {
	conn, err := tls.Dial("tcp", address, config)
	require.NoError(b, err)
	_, err = conn.Write([]byte{1})
	require.NoError(b, err)
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(b, err)
	return conn
}

// BenchmarkTLS makes a connection with certificates on both sides, and measures the work of both.
func BenchmarkTLS(b *testing.B) {
	config := both(b)
	address := listen(b, config)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, greeted(b, address, config).Close())
	}
}

// BenchmarkHeld holds 500 such connections, each with a reader, and reports the memory of one side
// of a connection.
func BenchmarkHeld(b *testing.B) {
	const n = 500
	config := both(b)
	address := listen(b, config)
	memory := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc + m.StackInuse)
	}
	var each float64
	for b.Loop() {
		before := memory()
		var conns []net.Conn
		var readers sync.WaitGroup
		for range n {
			conn := greeted(b, address, config)
			conns = append(conns, conn)
			readers.Go(func() { _, _ = io.Copy(io.Discard, conn) }) // until it is closed
		}
		each = (memory() - before) / n / 2
		for _, conn := range conns {
			require.NoError(b, conn.Close())
		}
		readers.Wait()
	}
	b.ReportMetric(each/1e3, "kB/conn")
}

// BenchmarkPod decodes the pods of a list as the launcher does. A pod is about as large as after the updates of a
// controller, a scheduler, a kubelet and their field managers.
func BenchmarkPod(b *testing.B) {
	const n = 100
	scheme := kube.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for i := range n {
		list.Items = append(list.Items, typical(i))
	}
	text, err := json.Marshal(list)
	require.NoError(b, err)
	b.ReportMetric(float64(len(text))/n, "B/pod")
	count := 0
	for b.Loop() { // one operation is one pod
		if count++; count%n != 1 {
			continue
		}
		_, _, err := decoder.Decode(text, nil, nil)
		require.NoError(b, err)
	}
}

func typical(i int) corev1.Pod {
	now := metav1.Now()
	name := fmt.Sprintf("job-worker-%d", i)
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "jobs", UID: "0b5a5a52-0000-4000-8000-000000000000", ResourceVersion: "123456", CreationTimestamp: now,
		Labels: map[string]string{"muster.dev/job": "job", "muster.dev/role": "worker", "muster.dev/index": fmt.Sprint(i)}}}
	for _, manager := range []string{"controller", "kube-scheduler", "kubelet"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.244.1.2\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`)})
	}
	p.Spec = corev1.PodSpec{NodeName: "node-1", Hostname: name, Subdomain: "job", RestartPolicy: "Never", ServiceAccountName: "default", SchedulerName: "default-scheduler",
		Containers: []corev1.Container{{Name: "worker", Image: "registry.example/team/image:v7", Command: []string{"/muster/agent", "worker"}, ImagePullPolicy: "IfNotPresent",
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "shm", MountPath: "/dev/shm"}}}},
		Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"}, {Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"}},
		Volumes:     []corev1.Volume{{Name: "data"}, {Name: "shm"}}}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: "True", LastTransitionTime: now})
	}
	p.Status.Phase, p.Status.HostIP, p.Status.PodIP, p.Status.StartTime, p.Status.QOSClass = "Running", "10.0.0.7", "10.244.1.2", &now, "BestEffort"
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", Ready: true, Image: "registry.example/team/image:v7", ImageID: "sha256:0123456789012345678901234567890123456789012345678901234567890123",
		ContainerID: "containerd://0123456789012345678901234567890123456789012345678901234567890123", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}
	return p
}
