package jobs

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// archived is where a job's launcher writes the output of ranks with --output=dir=PATH or s3://. It does
// not go to the launcher's log then.
type archived struct {
	dir    string
	bucket string // s3://BUCKET/PREFIX; "": the output is only in dir
	own    corev1.Container
	spec   corev1.PodSpec
	volume *corev1.Volume // on which dir is; nil: it is in the container
	mount  corev1.VolumeMount
}

// archiveOf returns where the output of a job's ranks is, if not in the launcher's log.
func archiveOf(job *v1alpha1.LaunchJob) (a archived, ok bool) {
	if job.Spec.Launcher == nil {
		return a, false
	}
	a.spec = job.Spec.Launcher.Template.Spec
	if a.own, ok = launcherContainer(job.Spec.Launcher); !ok {
		return a, false
	}
	if a.dir, a.bucket = outputDir(a.own); a.dir == "" {
		return a, a.bucket != ""
	}
	for _, m := range a.own.VolumeMounts {
		at := path.Clean(m.MountPath)
		if a.dir != at && !strings.HasPrefix(a.dir, strings.TrimSuffix(at, "/")+"/") || len(at) < len(a.mount.MountPath) {
			continue
		}
		for i := range a.spec.Volumes {
			if a.spec.Volumes[i].Name == m.Name {
				a.volume, a.mount = &a.spec.Volumes[i], m
			}
		}
	}
	return a, true
}

// outputDir returns the directory and the bucket of --output, from the variable or the words of a container.
func outputDir(own corev1.Container) (dir, bucket string) {
	value := ""
	for _, v := range own.Env {
		if v.Name == names.EnvOutput {
			value = v.Value
		}
	}
	words := agentWords(own)
	for i, word := range words {
		if word == "--" { // what follows belongs to the user's command
			break
		}
		if given, ok := strings.CutPrefix(word, "--output="); ok {
			value = given
		} else if word == "--output" && i+1 < len(words) {
			value = words[i+1]
		}
	}
	if strings.HasPrefix(value, "s3://") {
		bucket, dir, _ = strings.Cut(value, ",dir=")
	} else {
		dir, _ = strings.CutPrefix(value, "dir=")
		if dir == value { // tag, plain
			return "", ""
		}
	}
	if dir == "" {
		return "", bucket
	}
	if !path.IsAbs(dir) {
		dir = path.Join("/", own.WorkingDir, dir)
	}
	return path.Clean(dir), bucket
}

// agentWords returns the words of a container that runs the agent, or nothing if they are the user's
// command. The controller puts agent run before those, and tells it its settings by variables.
func agentWords(own corev1.Container) []string {
	words := slices.Concat(own.Command, own.Args)
	switch {
	case len(own.Command) > 0 && path.Base(own.Command[0]) == "agent":
		return words
	case len(own.Command) == 0 && len(words) > 0 && words[0] == "run": // for the entrypoint of an image with the agent
		return words
	}
	return nil
}

// lasts reports whether the output outlives the launcher's pod.
func (a archived) lasts() bool { return a.bucket != "" || a.volume != nil && a.volume.EmptyDir == nil }

// place names the bucket, or the directory with its volume.
func (a archived) place() string {
	switch {
	case a.bucket != "":
		return a.bucket
	case a.volume == nil:
		return a.dir + " in the launcher's container"
	case a.volume.PersistentVolumeClaim != nil:
		return a.dir + " on PersistentVolumeClaim " + a.volume.PersistentVolumeClaim.ClaimName
	}
	return a.dir + " on volume " + a.volume.Name
}

// way returns the command line that reads the output; rank is nil for all ranks. While the launcher
// runs, its agent reads it. Later another pod must mount the volume. A bucket can be read from anywhere.
func (a archived) way(api *API, job *v1alpha1.LaunchJob, rank *int) string {
	switch {
	case a.bucket != "":
		line := "agent logs --from=" + a.bucket
		if rank != nil {
			line += fmt.Sprintf(" --rank=%d", *rank)
		}
		return line
	case !Over(job):
		line := fmt.Sprintf("kubectl exec %s-launcher -n %s -c %s -- %s logs --from=%s", job.Name, api.Namespace, a.own.Name, names.AgentPath, a.dir)
		if rank != nil {
			line += fmt.Sprintf(" --rank=%d", *rank)
		}
		return line
	case !a.lasts():
		return "put the directory on a volume that outlives the pod: docs/guides/logs.md"
	}
	files := path.Join(a.dir, "rank-*")
	if rank != nil {
		files = path.Join(a.dir, fmt.Sprintf("rank-%d.*", *rank))
	}
	return a.reader(api, job.Name, files)
}

// reader returns a kubectl line that prints files of the volume, in a pod with the launcher's image and
// rights. The image may have no agent.
func (a archived) reader(api *API, job, files string) string {
	name := job + "-logs"
	mount := a.mount
	mount.ReadOnly = true
	overrides, err := json.Marshal(map[string]any{"spec": corev1.PodSpec{
		SecurityContext: a.spec.SecurityContext, ImagePullSecrets: a.spec.ImagePullSecrets, Volumes: []corev1.Volume{*a.volume},
		Containers: []corev1.Container{{Name: name, Image: a.own.Image, SecurityContext: a.own.SecurityContext,
			Command: []string{"sh", "-c", "tail -n +1 " + files}, VolumeMounts: []corev1.VolumeMount{mount}}},
	}})
	if err != nil {
		return "mount the volume in a pod, and run agent logs --from=" + a.dir + " there"
	}
	return fmt.Sprintf("kubectl run %s -n %s --rm -i -q --restart=Never --image=%s --overrides='%s'",
		name, api.Namespace, a.own.Image, strings.ReplaceAll(string(overrides), "'", `'\''`))
}
