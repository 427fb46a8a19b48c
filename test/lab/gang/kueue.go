//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// webhooksAt is Kueue's address in testdata/kueue.yaml. It needs no Service, because Kueue is a process of the API
// server's machine.
const webhooksAt = "https://127.0.0.1:19443"

func kueue() module {
	m := pinned("kueue", "sigs.k8s.io/kueue", "cmd/kueue")
	for _, kind := range []string{
		"admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "multikueueconfigs", "provisioningrequestconfigs",
		"resourceflavors", "topologies", "workloadpriorityclasses", "workloads",
	} {
		m.crds = append(m.crds, "config/components/crd/bases/kueue.x-k8s.io_"+kind+".yaml")
	}
	return m
}

// hook registers Kueue's webhooks for its own kinds, and for pods only in our
// namespaces. Pods in other namespaces are created without it.
func (w *world) hook(ctx context.Context, m module) error {
	ca, err := certify(w.dir)
	if err != nil {
		return err
	}
	files, err := m.files(ctx)
	if err != nil {
		return err
	}
	base := strings.TrimSuffix(files[0], m.crds[0])
	text, err := os.ReadFile(filepath.Join(base, "config/components/webhook/manifests.yaml"))
	if err != nil {
		return err
	}
	_, first, _ := strings.Cut(string(text), "---\n")
	first, second, _ := strings.Cut(first, "---\n")
	var mutating admissionv1.MutatingWebhookConfiguration
	var validating admissionv1.ValidatingWebhookConfiguration
	if err := errors.Join(yaml.Unmarshal([]byte(first), &mutating), yaml.Unmarshal([]byte(second), &validating)); err != nil {
		return fmt.Errorf("read webhooks of %s: %w", m.Path, err)
	}
	mutating.Name, validating.Name = "kueue-"+mutating.Name, "kueue-"+validating.Name
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(h admissionv1.MutatingWebhook) bool { return foreign(h.Rules) })
	for i := range mutating.Webhooks {
		h := &mutating.Webhooks[i]
		h.ClientConfig, h.NamespaceSelector = reach(h.ClientConfig, ca), ours(h.Rules)
	}
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(h admissionv1.ValidatingWebhook) bool { return foreign(h.Rules) })
	for i := range validating.Webhooks {
		h := &validating.Webhooks[i]
		h.ClientConfig, h.NamespaceSelector = reach(h.ClientConfig, ca), ours(h.Rules)
	}
	return kube.Apply(ctx, corev1.NamespaceDefault, mutating, validating)
}

// queues creates Kueue's queue of four GPUs, as soon as Kueue's webhooks answer.
func (w *world) queues(ctx context.Context) error {
	text, err := testdata.ReadFile("testdata/kueue-queues.yaml")
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := kube.Kubectl(ctx, w.ns, text, "apply", "-f", "-")
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := await.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

func unhook(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "delete", "--ignore-not-found", "mutatingwebhookconfiguration/kueue-mutating-webhook-configuration",
		"validatingwebhookconfiguration/kueue-validating-webhook-configuration")
	return err
}

// foreign reports whether the rules are about neither pods nor Kueue's own kinds.
func foreign(rules []admissionv1.RuleWithOperations) bool {
	return !slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		return r.APIGroups[0] == "kueue.x-k8s.io" || r.APIGroups[0] == "" && r.Resources[0] == "pods"
	})
}

func reach(c admissionv1.WebhookClientConfig, ca []byte) admissionv1.WebhookClientConfig {
	url := webhooksAt + *c.Service.Path
	return admissionv1.WebhookClientConfig{URL: &url, CABundle: ca}
}

func ours(rules []admissionv1.RuleWithOperations) *metav1.LabelSelector {
	if rules[0].APIGroups[0] != "" {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{owner: "row"}}
}

// certify writes tls.key and tls.crt for 127.0.0.1, valid for an hour, and returns the
// certificate, which is its own authority.
func certify(dir string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	who := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, who, who, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	return crt, errors.Join(err, os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600))
}

// topology runs jobs with a ps and a worker, one after the other, with an affinity between
// them and without, under the same scheduler.
func topology(ctx context.Context, w *world) error {
	together := map[string]int{}
	nodes := map[string]string{}
	const each = 3
	for _, kind := range []string{"near", "free"} {
		for i := range each {
			name := fmt.Sprintf("%s-%d", kind, i)
			err := w.apply(ctx, "roles.yaml", []string{name}, gang("volcano"), func(j *v1alpha1.LaunchJob) {
				if kind == "near" {
					j.Spec.Gang.Topology = &v1alpha1.Topology{Affinity: "ps,worker"}
				}
			})
			if err != nil {
				return err
			}
			if _, err := w.becomes(ctx, name, "over", time.Minute, succeeded); err != nil {
				return err
			}
			on, err := w.nodesOf(ctx, name)
			if err != nil {
				return err
			}
			nodes[name] = fmt.Sprint(on)
			if len(slices.Compact(slices.Sorted(maps.Values(on)))) == 1 {
				together[kind]++
			}
		}
	}
	w.raw["nodes"] = nodes
	w.figure("jobs with both on one node, of 3 with the affinity ps,worker", together["near"], "==", each, "jobs")
	w.figure("jobs with both on one node, of 3 without", together["free"], "", 0, "jobs")
	w.see("ps and worker shared a node in %d of %d jobs with the affinity, in %d of %d without", together["near"], each, together["free"], each)
	return nil
}

// nodesOf returns the node of each pod of a job.
func (w *world) nodesOf(ctx context.Context, job string) (map[string]string, error) {
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{"muster.dev/job": job}); err != nil {
		return nil, err
	}
	on := map[string]string{}
	for _, p := range pods.Items {
		on[p.Name] = p.Spec.NodeName
	}
	if len(on) != 2 {
		return nil, fmt.Errorf("%s has %d pods", job, len(on))
	}
	return on, nil
}

const (
	gpu     = "nvidia.com/gpu"
	gpuNode = "node1"
)
