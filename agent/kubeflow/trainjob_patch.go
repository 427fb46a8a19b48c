package kubeflow

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patches applies the TrainJob's own patches to the runtime's templates: podSpecOverrides of
// Trainer 2.0, podTemplateOverrides of 2.1, runtimePatches of 2.3. Each is merged like kubectl
// patch does.
func (c *conversion) patches(jobs []*replicatedJob) {
	for _, p := range c.spec.at("podSpecOverrides").list() {
		c.override(p, jobs, func(target []*replicatedJob) {
			for _, key := range p.keys() {
				if key != "targetJobs" {
					c.merge(target, p.at(key), "spec", key)
				}
			}
		})
	}
	for _, p := range c.spec.at("podTemplateOverrides").list() {
		c.override(p, jobs, func(target []*replicatedJob) { c.mergeTemplate(target, p) })
	}
	for _, p := range c.spec.at("runtimePatches").list() {
		p.at("manager").take()
		p.at("time").mention(true, theServers)
		set := p.at("trainingRuntimeSpec").at("template")
		c.job.Labels = merged(set.at("metadata").at("labels").texts(), c.job.Labels)
		c.job.Annotations = merged(set.at("metadata").at("annotations").texts(), c.job.Annotations)
		for _, r := range set.at("spec").at("replicatedJobs").list() {
			if target := c.named(jobs, r.at("name")); len(target) > 0 {
				c.mergeTemplate(target, r.at("template").at("spec").at("template"))
			}
		}
	}
}

// override finds the jobs to which an override applies.
func (c *conversion) override(p reader, jobs []*replicatedJob, do func([]*replicatedJob)) {
	var target []*replicatedJob
	for _, t := range p.at("targetJobs").list() {
		target = append(target, c.named(jobs, t.at("name"))...)
	}
	if len(target) == 0 {
		p.warn("name one of the runtime's jobs in targetJobs", "it applies to no job: not carried")
		return
	}
	do(target)
}

func (c *conversion) named(jobs []*replicatedJob, name reader) []*replicatedJob {
	at := slices.IndexFunc(jobs, func(j *replicatedJob) bool { return j.name == name.text() })
	if at < 0 {
		name.fatal("name one of the runtime's replicatedJobs", "the runtime has no job %s", name.text())
		return nil
	}
	return jobs[at : at+1]
}

// mergeTemplate merges metadata and spec.
func (c *conversion) mergeTemplate(target []*replicatedJob, p reader) {
	for _, part := range []string{"labels", "annotations"} {
		if f := p.at("metadata").at(part); f.has() {
			c.merge(target, f, "metadata", part)
		}
	}
	for _, key := range p.at("spec").keys() {
		c.merge(target, p.at("spec").at(key), "spec", key)
	}
}

// merge applies one field of a pod template to the jobs.
func (c *conversion) merge(target []*replicatedJob, f reader, part, key string) {
	patch, err := json.Marshal(map[string]any{part: map[string]any{key: f.value}})
	if err != nil {
		f.fatal("", "cannot be read: %v", err)
		return
	}
	unknown, err := strictly(patch, &corev1.PodTemplateSpec{})
	for _, path := range unknown {
		reader{true, strings.TrimSuffix(f.path, key) + strings.TrimPrefix(path, part+"."), f.book}.warn("", "Kubernetes has no such field: not carried")
	}
	if err != nil {
		f.fatal("kubectl explain pod.spec shows the valid fields", "%v", err)
		return
	}
	f.take()
	for _, j := range target {
		t, err := patched(j.template, patch)
		if err != nil {
			f.fatal("", "cannot be merged into the template of %s: %v", j.name, err)
			return
		}
		j.template = t
		j.template.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}
	}
}

// patched returns a template with a patch applied.
func patched(template corev1.PodTemplateSpec, patch []byte) (t corev1.PodTemplateSpec, err error) {
	text, err := json.Marshal(template)
	if err != nil {
		return t, err
	}
	var have, over map[string]any
	if err := errors.Join(json.Unmarshal(text, &have), json.Unmarshal(patch, &over)); err != nil {
		return t, err
	}
	merged, err := strategic(have, over, reflect.TypeFor[corev1.PodTemplateSpec]())
	if err != nil {
		return t, err
	}
	if text, err = json.Marshal(merged); err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}
