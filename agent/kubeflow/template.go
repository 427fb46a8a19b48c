package kubeflow

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
)

// strictly decodes JSON, and lists the fields that the type does not have.
func strictly(raw []byte, to any) (unknown []string, err error) {
	strict, err := json.UnmarshalStrict(raw, to)
	for _, s := range strict {
		path := s.Error()
		if _, quoted, ok := strings.Cut(path, `"`); ok {
			path = strings.TrimSuffix(quoted, `"`)
		}
		unknown = append(unknown, path)
	}
	return unknown, err
}

// template reads a pod template, and reports what no pod gets.
func (c *conversion) template(r reader) corev1.PodTemplateSpec {
	var t corev1.PodTemplateSpec
	if !r.has() {
		r.fatal("add one", "there is no pod template")
		return t
	}
	if !r.into(&t) {
		return t
	}
	if len(t.Spec.Containers) == 0 {
		r.at("spec").at("containers").fatal("add one", "the template has no container")
	}
	if len(t.Spec.EphemeralContainers) > 0 {
		r.at("spec").at("ephemeralContainers").fatal("remove them; kubectl debug adds one to a running pod", "a pod cannot be created with ephemeral containers")
	}
	meta := r.at("metadata")
	for _, key := range meta.keys() {
		switch f := meta.at(key); {
		case !f.has() || key == "labels" || key == "annotations":
		case key == "name" || key == "namespace" || key == "generateName":
			f.note("pods are named after the job and run in its namespace")
		default:
			f.warn("", "pods of a job get only labels and annotations from their template: not carried")
		}
	}
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}
	c.reserved(r, t.Spec)
	return t
}

// reserved returns an error for names that Muster uses for what it adds to pods.
func (c *conversion) reserved(r reader, spec corev1.PodSpec) {
	for i, v := range spec.Volumes {
		if v.Name == "muster-agent" || v.Name == "muster-shm" {
			r.at("spec").at("volumes").list()[i].fatal("rename it", "%s is the name of one of Muster's volumes", v.Name)
		}
	}
}

// ownContainer returns the container that decides for a pod: main if the object names it, else the
// one that the operator looks for, else the first. Errors are findings at main.
func ownContainer(t corev1.PodTemplateSpec, main reader, usual string) string {
	named := func(name string) bool {
		return slices.ContainsFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	}
	given := ""
	if main.has() {
		given = main.text()
	}
	if given != "" && !named(given) {
		main.fatal("name one of the template's containers", "there is no container %s", given)
	}
	switch name := cmp.Or(given, usual); {
	case len(t.Spec.Containers) < 2 && t.Annotations["kubectl.kubernetes.io/default-container"] == "":
		return ""
	case named(name):
		return name
	case len(t.Spec.Containers) > 0:
		return t.Spec.Containers[0].Name
	}
	return ""
}

// own returns the container of that name, or the first for "".
func own(t *corev1.PodTemplateSpec, name string) (*corev1.Container, int) {
	for i := range t.Spec.Containers {
		if name == "" || t.Spec.Containers[i].Name == name {
			return &t.Spec.Containers[i], i
		}
	}
	return &corev1.Container{}, 0
}

// container returns the reader of a template's container.
func container(template reader, i int) reader {
	if all := template.at("spec").at("containers").list(); i < len(all) {
		return all[i]
	}
	return template.at("spec").at("containers")
}

// setDefault adds a variable unless the container has it.
func setDefault(c *corev1.Container, name, value string) (kept bool) {
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return true
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	return false
}
