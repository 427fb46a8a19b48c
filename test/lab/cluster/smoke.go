package main

import (
	"fmt"
	"strings"
	"time"
)

// smoke checks the cluster from inside pods, one on each node, in a namespace of its own.
type smoke struct {
	cluster   cluster
	namespace string
}

// smoke runs all checks, then deletes the namespace.
func (c cluster) smoke() error {
	name := fmt.Sprintf("smoke-%d", time.Now().Unix())
	if err := c.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"); err != nil {
		return err
	}
	defer c.kubectl("delete", "namespace", name, "--wait=false").Run()
	s := smoke{c, name}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"a pod on each node is Ready", s.pods},
		{"exec into each", s.exec},
		{"each resolves a service and its own pod's name", s.lookup},
		{"each reaches every pod of the service", s.service},
		{"each is known to the API server by its service account", s.whoami},
		{"names outside are refused at once", s.outside},
	} {
		if err := c.say.step(step.what, step.do); err != nil {
			return err
		}
	}
	return nil
}

const smokeService = `apiVersion: v1
kind: Service
metadata: {name: probe, namespace: NAMESPACE}
spec: {selector: {app: probe}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: pods, namespace: NAMESPACE}
spec: {selector: {app: probe}, clusterIP: None}
`

const smokePod = `---
apiVersion: v1
kind: Pod
metadata: {name: probe-NODE, namespace: NAMESPACE, labels: {app: probe}}
spec:
  hostname: probe-NODE
  subdomain: pods
  nodeSelector: {kubernetes.io/hostname: NODE}
  terminationGracePeriodSeconds: 1
  containers:
  - name: probe
    image: IMAGE
    imagePullPolicy: Never
    args: [serve]
    readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
`

func (s smoke) pods() error {
	manifests := smokeService
	for _, n := range nodes() {
		manifests += strings.ReplaceAll(smokePod, "NODE", n.name)
	}
	manifests = strings.NewReplacer("NAMESPACE", s.namespace, "IMAGE", probeImage).Replace(manifests)
	err := s.cluster.await("service account default in "+s.namespace, 20*time.Second, func() error {
		return s.cluster.kubectl("-n", s.namespace, "get", "serviceaccount", "default").Run()
	}, "kube-controller-manager")
	if err != nil {
		return err
	}
	if err := s.cluster.apply(manifests); err != nil {
		return err
	}
	out, err := s.cluster.kubectl("-n", s.namespace, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s").CombinedOutput()
	if err != nil {
		why, _ := s.cluster.kubectl("-n", s.namespace, "describe", "pods").CombinedOutput()
		return fmt.Errorf("%w\n%s\n%s", err, out, tail(why, 20))
	}
	return nil
}

// in runs the probe in the pod on a node.
func (s smoke) in(n node, args ...string) (string, error) {
	argv := append([]string{"-n", s.namespace, "exec", "probe-" + n.name, "--", "/probe"}, args...)
	out, err := s.cluster.kubectl(argv...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("on %s: probe %s: %w: %s", n.name, strings.Join(args, " "), err, text)
	}
	return text, nil
}

func (s smoke) each(do func(n node) error) error {
	for _, n := range nodes() {
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}

func (s smoke) exec() error {
	return s.each(func(n node) error {
		host, err := s.in(n, "fetch", "http://localhost:8080")
		if err == nil && host != "probe-"+n.name {
			err = fmt.Errorf("exec on %s reached the pod %q", n.name, host)
		}
		return err
	})
}

func (s smoke) lookup() error {
	return s.each(func(n node) error {
		if found, err := s.in(n, "lookup", "kubernetes.default"); err != nil || found != serviceIP {
			return fmt.Errorf("on %s: kubernetes.default is %q, not %s: %w", n.name, found, serviceIP, err)
		}
		for _, other := range nodes() {
			if _, err := s.in(n, "lookup", "probe-"+other.name+".pods"); err != nil {
				return err
			}
		}
		return nil
	})
}

// service calls the service until every pod has answered. kube-proxy picks a random pod for each connection.
func (s smoke) service() error {
	return s.each(func(n node) error {
		met := map[string]bool{}
		for range 40 {
			host, err := s.in(n, "fetch", "http://probe")
			if err != nil {
				return err
			}
			if met[host] = true; len(met) == len(nodes()) {
				return nil
			}
		}
		return fmt.Errorf("on %s: 40 connections reached only %v", n.name, met)
	})
}

func (s smoke) whoami() error {
	want := "system:serviceaccount:" + s.namespace + ":default"
	return s.each(func(n node) error {
		user, err := s.in(n, "whoami")
		if err == nil && user != want {
			err = fmt.Errorf("on %s: the API server says %q, not %q", n.name, user, want)
		}
		return err
	})
}

func (s smoke) outside() error {
	return s.each(func(n node) error {
		begin := time.Now()
		found, err := s.in(n, "lookup", "example.com")
		if err == nil {
			return fmt.Errorf("on %s: example.com is %s", n.name, found)
		}
		if took := time.Since(begin); took > 2*time.Second {
			return fmt.Errorf("on %s: the answer for example.com took %s: %w", n.name, took, err)
		}
		return nil
	})
}
