package rendezvous

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pullCauses maps the messages of registries and containerd to a short cause. permanent means that
// another pull gives the same answer. The first match counts.
var pullCauses = [...]struct {
	said      string
	cause     string
	hint      string
	permanent bool
	grace     time.Duration
}{
	{"no match for platform", "not built for this node's platform", "build the image for the architecture of node {node}, or select nodes of the image's", true, 0},
	{"with pull policy of Never", "not on the node, and imagePullPolicy is Never", "load {image} on node {node}, or allow pulling it", true, 0},
	// A registry that requires a login answers this both for a missing and for a private image.
	{"pull access denied", "access denied, or no such repository", "correct the name {image}, or give the pods an imagePullSecret", true, OwnedGrace},
	{"authorization failed", "access denied", "give the pods an imagePullSecret for {image}", true, OwnedGrace},
	{"unauthorized", "access denied", "give the pods an imagePullSecret for {image}", true, OwnedGrace},
	{"403 Forbidden", "access denied", "give the pods an imagePullSecret for {image}", true, OwnedGrace},
	{"toomanyrequests", "the registry limits requests", "wait, log in to the registry, or use a mirror", false, 0},
	{"429 Too Many Requests", "the registry limits requests", "wait, log in to the registry, or use a mirror", false, 0},
	{"no such host", "the registry's name does not resolve", "correct the registry in {image}, or the DNS of node {node}", false, 0},
	{"connection refused", "the registry refuses connections", "check that the registry of {image} runs and that node {node} reaches it", false, 0},
	{"i/o timeout", "the registry does not answer", "check that node {node} reaches the registry of {image}", false, 0},
	{"x509:", "the registry's certificate is not trusted", "give node {node} the registry's CA", false, 0},
	{"no space left on device", "the node's disk is full", "free space on node {node}", false, 0},
	{"manifest unknown", "not found", "correct the name or tag of the image, or push it: {image}", true, 0},
	{"not found", "not found", "correct the name or tag of the image, or push it: {image}", true, 0},
}

func (e explainer) pull(container, image string, w corev1.ContainerStateWaiting) Reason {
	word := w.Reason
	if word == "ErrImagePull" { // the kubelet alternates between the two
		word = "ImagePullBackOff"
	}
	r := Reason{
		Code: ImagePull, Brief: word + ": " + image,
		Sentence: fmt.Sprintf("%s: the image %s of container %s cannot be pulled", e.pod.Name, image, container),
		Hint:     e.describe() + " shows the registry's answer",
	}
	for _, c := range pullCauses {
		if strings.Contains(w.Message, c.said) {
			r.Permanent, r.Grace = c.permanent, c.grace
			r.Brief += map[bool]string{true: " ", false: ": "}[c.cause == "not found"] + c.cause
			r.Sentence += ": " + c.cause
			r.Hint = strings.NewReplacer("{image}", image, "{node}", or(e.pod.Spec.NodeName, "(none)")).Replace(c.hint)
			return r
		}
	}
	// Before Kubernetes 1.31 "Back-off pulling image" did not repeat the registry's answer.
	_, cause, ok := strings.Cut(w.Message, ": ")
	if !strings.HasPrefix(w.Message, "Back-off") {
		cause, ok = w.Message, w.Message != ""
	}
	if !ok {
		r.vague = true
		return r
	}
	r.Brief += ": " + clip(cause, 120)
	r.Sentence += ": " + clip(cause, 400)
	return r
}
