package kubeflow

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/lazyregexp"
)

// serversOwn are the metadata fields that the API server and its controllers write.
var serversOwn = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink", "clusterName"}

// theServers is the text of the finding for all of them.
const theServers = "set by the API server: the new object gets its own value"

// lastApplied is the annotation in which kubectl keeps the old object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// jobName matches valid names of LaunchJobs.
var jobName = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// longestName is the maximum length of such a name.
const longestName = 40

// metadata carries over name, namespace, labels and annotations.
func (c *conversion) metadata() {
	m := c.object.at("metadata")
	name := m.at("name")
	c.job.Name, c.job.Namespace = name.text(), m.at("namespace").text()
	switch {
	case c.job.Name == "" && m.at("generateName").has():
		m.at("generateName").fatal("set metadata.name", "kubectl apply needs a name; pods and the Service are named after it")
	case c.job.Name == "":
		name.fatal("set metadata.name", "the job has no name")
	case len(c.job.Name) > longestName:
		name.fatal("choose a shorter one, and update references to the job", "%s has %d characters, but the name of a LaunchJob has at most %d: its pods are named after it", c.job.Name, len(c.job.Name), longestName)
	case !jobName().MatchString(c.job.Name):
		name.fatal("choose another one, as in "+plainName(c.job.Name), "%s: a LaunchJob's name starts with a letter and has only lowercase letters, digits and dashes", c.job.Name)
	}
	c.job.Labels, c.job.Annotations = m.at("labels").texts(), m.at("annotations").texts()
	if _, ok := c.job.Annotations[lastApplied]; ok {
		delete(c.job.Annotations, lastApplied)
		m.at("annotations").at(lastApplied).note("kubectl's record of the old object")
	}
	for _, key := range serversOwn {
		if f := m.at(key); f.has() {
			f.note(theServers)
		}
	}
	if f := m.at("ownerReferences"); f.has() {
		f.warn("", "the LaunchJob has no owner: not carried")
	}
	if f := m.at("finalizers"); f.has() {
		f.warn("", "another controller waits for the deletion of the old object: not carried")
	}
	if status := c.object.at("status"); status.has() {
		status.note(theServers)
	}
}

// plainName returns a valid name that is similar to name.
func plainName(name string) string {
	plain := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
	if plain == "" || plain[0] < 'a' {
		plain = "job-" + plain
	}
	return strings.Trim(plain[:min(len(plain), longestName)], "-")
}

// merged returns the union of both maps. Entries of the second one take precedence.
func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// lower returns replica types as they are in labels, names and roles.
func lower(types []string) []string {
	all := slices.Clone(types)
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	return all
}
