//go:build linux

// Package manager installs and configures Kueue, which then runs as a process beside a test: its custom resources,
// webhooks, certificate and configuration. Kueue is built from the module that test/lab/kueue/pinned pins.
package manager

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed" // the configuration
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
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
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// group is the API group of Kueue's own kinds.
const group = "kueue.x-k8s.io"

// Namespace is the namespace in which Kueue looks for its certificate, and for the kubeconfigs of worker clusters.
const Namespace = "kueue-system"

// Kubectl runs kubectl on the cluster of Kueue.
type Kubectl func(ctx context.Context, namespace string, stdin []byte, args ...string) (string, error)

// Module returns Kueue's module.
func Module() (program.Module, error) {
	root, err := figure.Root()
	return program.Module{Dir: filepath.Join(root, "test/lab/kueue/pinned"), Path: "sigs.k8s.io/kueue", Name: "kueue", Commands: []string{"cmd/kueue"}}, err
}

// CRDs returns the paths of Kueue's custom resources in its module.
func CRDs() (list []string) {
	for _, kind := range []string{
		"admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "multikueueconfigs", "provisioningrequestconfigs",
		"resourceflavors", "topologies", "workloadpriorityclasses", "workloads",
	} {
		list = append(list, "config/components/crd/bases/"+group+"_"+kind+".yaml")
	}
	return list
}

// converted returns the custom resources that Kueue converts from older versions.
func converted() []string {
	return []string{"clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"}
}

//go:embed configuration.yaml
var configuration string

// Configure writes a certificate and Kueue's configuration into dir, and returns the configuration's path. change adds
// to the configuration. Webhooks are on a port of loopback.
func Configure(dir, port string, change func(configuration map[string]any)) (path string, err error) {
	if err := certify(dir); err != nil {
		return "", fmt.Errorf("make a certificate for Kueue: %w", err)
	}
	all := map[string]any{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("DIRECTORY", dir, "PORT", port).Replace(configuration)), &all); err != nil {
		return "", fmt.Errorf("read Kueue's configuration: %w", err)
	}
	if change != nil {
		change(all)
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "kueue.yaml")
	return path, os.WriteFile(path, text, 0o600)
}

// Hook registers Kueue's webhooks for its own kinds, and no others: Muster's controller makes the Workload of a
// LaunchJob, and its pods are none of Kueue's. Configure has written the certificate into dir.
func Hook(ctx context.Context, kubectl Kubectl, dir, port string) error {
	ca, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(dir, "tls.key"))
	if err != nil {
		return err
	}
	mutating, validating, err := webhooks(ctx)
	if err != nil {
		return err
	}
	reach := func(c admissionv1.WebhookClientConfig) admissionv1.WebhookClientConfig {
		url := "https://127.0.0.1:" + port + *c.Service.Path
		return admissionv1.WebhookClientConfig{URL: &url, CABundle: ca}
	}
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig = reach(mutating.Webhooks[i].ClientConfig)
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig = reach(validating.Webhooks[i].ClientConfig)
	}
	for _, object := range []any{
		corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: Namespace}},
		// Kueue makes a new certificate, which is not valid for 127.0.0.1, unless it finds a good one here.
		corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "kueue-webhook-server-cert", Namespace: Namespace},
			Data: map[string][]byte{"ca.crt": ca, "ca.key": key, "tls.crt": ca, "tls.key": key}},
		mutating, validating,
	} {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := kubectl(ctx, "", text, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
			return err
		}
	}
	conversion, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": map[string]any{
		"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []string{"v1"},
			"clientConfig": map[string]any{"url": "https://127.0.0.1:" + port + "/convert", "caBundle": ca}},
	}}})
	if err != nil {
		return err
	}
	for _, kind := range converted() {
		if _, err := kubectl(ctx, "default", nil, "patch", "crd", kind+"."+group, "--type=merge", "--patch", string(conversion)); err != nil {
			return err
		}
	}
	return nil
}

// webhooks returns Kueue's webhooks for its own kinds.
func webhooks(ctx context.Context) (mutating admissionv1.MutatingWebhookConfiguration, validating admissionv1.ValidatingWebhookConfiguration, err error) {
	m, err := Module()
	if err != nil {
		return mutating, validating, err
	}
	source, err := m.Source(ctx)
	if err != nil {
		return mutating, validating, err
	}
	text, err := os.ReadFile(filepath.Join(source, "config/components/webhook/manifests.yaml"))
	if err != nil {
		return mutating, validating, err
	}
	_, first, _ := strings.Cut(string(text), "---\n")
	first, second, _ := strings.Cut(first, "---\n")
	if err := errors.Join(yaml.Unmarshal([]byte(first), &mutating), yaml.Unmarshal([]byte(second), &validating)); err != nil {
		return mutating, validating, fmt.Errorf("read webhooks of %s: %w", m.Path, err)
	}
	mutating.Name, validating.Name = "kueue-"+mutating.Name, "kueue-"+validating.Name
	foreign := func(rules []admissionv1.RuleWithOperations) bool { return rules[0].APIGroups[0] != group }
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(h admissionv1.MutatingWebhook) bool { return foreign(h.Rules) })
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(h admissionv1.ValidatingWebhook) bool { return foreign(h.Rules) })
	if len(mutating.Webhooks) == 0 || len(validating.Webhooks) == 0 {
		return mutating, validating, fmt.Errorf("%s has no webhooks for %s", m.Path, group)
	}
	return mutating, validating, nil
}

// Unhook removes the webhooks, and Kueue's namespace. The conversion goes with the custom resources.
func Unhook(ctx context.Context, kubectl Kubectl) error {
	_, err := kubectl(ctx, "default", nil, "delete", "--ignore-not-found", "mutatingwebhookconfiguration/kueue-mutating-webhook-configuration",
		"validatingwebhookconfiguration/kueue-validating-webhook-configuration", "namespace/"+Namespace)
	return err
}

// certify writes tls.key and tls.crt for 127.0.0.1. The certificate is its own authority. It has the names and the
// time that Kueue requires of an authority and a certificate that it need not replace.
func certify(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048) // Kueue reads no other kind of key
	if err != nil {
		return err
	}
	who := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"kueue-ca", "kueue-webhook-service." + Namespace + ".svc"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, who, who, &key.PublicKey, key)
	if err != nil {
		return err
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600))
}
