package rendezvous

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// Containers says which container of a pod is the role's own.
type Containers struct {
	Flag      string   // the user's choice, which must exist
	Framework []string // names from the job's framework, such as "pytorch"
}

// Pick chooses by flag, else by the annotation that kubectl uses, else by the framework's name,
// else the only container. Sidecars that are init containers do not count. The error is a
// *ContainerError.
func (c Containers) Pick(pod *corev1.Pod) (string, error) {
	var have []string
	for i := range pod.Spec.Containers {
		have = append(have, pod.Spec.Containers[i].Name)
	}
	if c.Flag != "" {
		if !slices.Contains(have, c.Flag) {
			return "", &ContainerError{Pod: pod.Name, Wanted: c.Flag, Have: have}
		}
		return c.Flag, nil
	}
	if name := pod.Annotations[names.AnnotationDefaultContainer]; slices.Contains(have, name) {
		return name, nil
	}
	for _, name := range c.Framework {
		if slices.Contains(have, name) {
			return name, nil
		}
	}
	if len(have) == 1 {
		return have[0], nil
	}
	return "", &ContainerError{Pod: pod.Name, Have: have}
}

// ContainerError reports that the worker's container is not known.
type ContainerError struct {
	Pod    string
	Wanted string // the requested container; "" if the choice is ambiguous
	Have   []string
}

func (e *ContainerError) Error() string {
	if e.Wanted != "" {
		return fmt.Sprintf("choose container: pod %s has no container %s, only %s", e.Pod, e.Wanted, strings.Join(e.Have, ", "))
	}
	return fmt.Sprintf("choose container: pod %s has %d, and none is marked as the worker's: %s", e.Pod, len(e.Have), strings.Join(e.Have, ", "))
}

// Hint says what the user can do.
func (e *ContainerError) Hint() string {
	return "name it with --container, or annotate the pods with " + names.AnnotationDefaultContainer
}
