package check

import (
	"fmt"
	"slices"
	"strings"
)

// Right is one permission in a namespace, and whether the user has it.
type Right struct {
	Group    string // "" is the core group
	Resource string // with its subresource: pods/log
	Verb     string
	Name     string // of one object; "": of all
	// Spare says that most users can do without it.
	Spare   bool
	Allowed bool
	Error   string // why the API server does not say
}

// String returns the right as a user reads it: get pods/log.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// Subject is whose rights were asked for.
type Subject struct {
	User      string // as the API server calls it; "": not known
	Namespace string
	Launcher  bool // the account of a launcher, not a person
}

// who names the subject at the beginning of a sentence.
func (s Subject) who() string {
	switch {
	case s.Launcher:
		return "the launcher"
	case s.User != "":
		return s.User
	}
	return "this user"
}

// OfRights judges the rights of a subject. All that are missing are in one finding, whose remedy is
// the YAML that grants them.
func OfRights(s Subject, rights []Right) []Finding {
	var missing, unknown []Right
	verdict := OK
	for _, r := range rights {
		switch {
		case r.Error != "":
			unknown = append(unknown, r)
		case !r.Allowed:
			missing = append(missing, r)
			if !r.Spare {
				verdict = Fail
			} else if verdict == OK {
				verdict = Warn
			}
		}
	}
	var found []Finding
	if len(missing) > 0 {
		f := clusterFinding("rights", "", verdict, "%s may not %s in namespace %s", s.who(), listed(missing), s.Namespace)
		f.Remedy = "an administrator can grant the rights:\n" + s.grant(missing)
		found = append(found, f)
	}
	if len(unknown) > 0 {
		found = append(found, NotChecked(fmt.Sprintf("%s: %s", listed(unknown), unknown[0].Error), "rights")...)
	}
	if len(found) == 0 {
		found = append(found, clusterFinding("rights", "", OK, "%s has all %d rights in namespace %s", s.who(), len(rights), s.Namespace))
	}
	return found
}

func listed(rights []Right) string {
	var all []string
	for _, r := range rights {
		all = append(all, r.String())
	}
	return strings.Join(all, ", ")
}

// grant returns a command that grants rights to the subject, with the YAML of a Role.
func (s Subject) grant(rights []Right) string {
	name := "muster-jobs"
	if s.Launcher {
		name = "muster-launcher"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kubectl apply -f - <<'EOF'\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s, namespace: %s}\nrules:\n", name, s.Namespace)
	for len(rights) > 0 {
		first := rights[0]
		same := func(r Right) bool {
			return r.Group == first.Group && r.Resource == first.Resource && r.Name == first.Name
		}
		var verbs []string
		for _, r := range rights {
			if same(r) {
				verbs = append(verbs, r.Verb)
			}
		}
		object := ""
		if first.Name != "" {
			object = fmt.Sprintf(", resourceNames: [%q]", first.Name)
		}
		fmt.Fprintf(&b, "  - {apiGroups: [%q], resources: [%s]%s, verbs: [%s]}\n", first.Group, first.Resource, object, strings.Join(verbs, ", "))
		rights = slices.DeleteFunc(slices.Clone(rights), same)
	}
	fmt.Fprintf(&b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: %s, namespace: %s}\n", name, s.Namespace)
	fmt.Fprintf(&b, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}\nsubjects:\n  - %s\nEOF", name, s.subject())
	return b.String()
}

// subject returns the subject of a RoleBinding. A user that is not known is left to fill in.
func (s Subject) subject() string {
	if account, ok := strings.CutPrefix(s.User, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		return fmt.Sprintf("{kind: ServiceAccount, name: %q, namespace: %q}", name, namespace)
	}
	user := s.User
	if user == "" {
		user = "USER"
	}
	return fmt.Sprintf("{kind: User, name: %q, apiGroup: rbac.authorization.k8s.io}", user)
}
