package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clusterTable has the checks of `agent doctor` about the cluster, in the order in which they make
// sense: without the API server nothing else can be found out.
var clusterTable = []Check{
	{"cluster", OfCluster, "The API server answers, and the namespace exists.", "a kubeconfig, or a pod with a service account", "check the kubeconfig and the network to the API server"},
	{"version", OfCluster, "Kubernetes is a version that LaunchJobs work with.", "an API server that answers", "upgrade Kubernetes to 1.30 or later; the rules of LaunchJobs need it"},
	{"crd", OfCluster, "The cluster serves LaunchJobs.", "an API server that answers", "install Muster's CRD and controller: kubectl apply -f images/install.yaml, see docs/operations/install.md"},
	{"controller", OfCluster, "A controller is at work.", "the right to read its lease, or a job", "look at the controller: kubectl get pods -A -l app.kubernetes.io/name=muster-controller"},
	{"rights", OfCluster, "You may do what the verbs for jobs do. A launcher may find its workers and exec into them.", "an API server that answers", "an administrator can grant the rights"},
	{"exec", OfCluster, "A command can be run in a worker's pod, and the agent there is ready.", "a running pod of a job", "check what is between here and the API server: proxies must pass WebSocket or SPDY"},
	{"quota", OfCluster, "The quotas of the namespace have room for the job's pods.", "the right to list quotas", "delete jobs that have ended, ask for less, or ask an administrator for a larger quota"},
	{"pod-security", OfCluster, "The namespace's Pod Security level admits the job's pods.", "the right to get the namespace", "change the pod templates of the job, or use another namespace"},
	{"gang", OfCluster, "The gang scheduler that the job names is installed.", "a job with a gang", "install the gang scheduler, or change spec.gang.backend"},
	{"image", OfCluster, "Each image of the job can be pulled.", "pods of the job", "check the name and tag of the image, and imagePullSecrets of the pod"},
}

// clusterFinding returns a finding of the cluster. A finding that is not OK has the remedy of its
// check.
func clusterFinding(name, of string, verdict Verdict, format string, args ...any) Finding {
	f := Finding{Check: name, Of: of, Verdict: verdict, Found: fmt.Sprintf(format, args...)}
	if verdict != OK {
		f.Remedy = remedy(name)
	}
	return f
}

// NotChecked returns a finding for each check that could not run. It has no remedy: what is in the
// way is a finding of its own, or a right that the user may not need.
func NotChecked(why string, checks ...string) []Finding {
	var found []Finding
	for _, name := range checks {
		found = append(found, Finding{Check: name, Verdict: Unknown, Found: "not checked: " + why})
	}
	return found
}

// Server is how an API server answered.
type Server struct {
	Host      string
	Namespace string
	Absent    bool   // the namespace does not exist
	Error     string // why there is no answer that helps
	Remedy    string // a better way out than the table's, if there is one
}

// OfServer judges whether the API server can be used at all.
func OfServer(s Server) []Finding {
	switch {
	case s.Error != "":
		f := clusterFinding("cluster", "", Fail, "%s", s.Error)
		if s.Remedy != "" {
			f.Remedy = s.Remedy
		}
		return []Finding{f}
	case s.Absent:
		f := clusterFinding("cluster", "", Fail, "namespace %s does not exist", s.Namespace)
		f.Remedy = "choose another namespace with -n, or create it: kubectl create namespace " + s.Namespace
		return []Finding{f}
	}
	return []Finding{clusterFinding("cluster", "", OK, "%s answers", s.Host)}
}

// leastMinor is the Kubernetes 1.N whose API server knows the functions in the CRD's rules.
const leastMinor = 30

// OfVersion judges the version of the API server, such as v1.34.1.
func OfVersion(version string) []Finding {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	m, merr := strconv.Atoi(major)
	switch {
	case err != nil || merr != nil:
		return NotChecked(fmt.Sprintf("the API server's version is %q", version), "version")
	case m == 1 && n < leastMinor:
		return []Finding{clusterFinding("version", "", Warn, "Kubernetes is %s, and LaunchJobs need 1.%d or later", version, leastMinor)}
	}
	return []Finding{clusterFinding("version", "", OK, "Kubernetes is %s", version)}
}

// CRD is which kinds of Muster the API server serves.
type CRD struct {
	Name    string   // launchjobs.muster.dev
	Want    string   // the version that this program uses
	Served  []string // the versions of the group; none: there is no CRD
	HasKind bool     // Want has the kind
}

// OfCRD judges whether the API server serves LaunchJobs.
func OfCRD(c CRD) []Finding {
	switch {
	case len(c.Served) == 0:
		return []Finding{clusterFinding("crd", "", Fail, "the cluster has no CRD %s", c.Name)}
	case !c.HasKind:
		return []Finding{clusterFinding("crd", "", Fail, "the cluster serves %s in %s only, and this agent needs %s", c.Name, strings.Join(c.Served, ", "), c.Want)}
	}
	return []Finding{clusterFinding("crd", "", OK, "the cluster serves %s in %s", c.Name, c.Want)}
}

// Controller is what was seen of the controller.
type Controller struct {
	// Namespace and Holder are of its lease. Stale is for how long nobody has renewed it; 0 if
	// somebody does.
	Leased            bool
	Namespace, Holder string
	Stale             time.Duration
	// Deployed says that there is a Deployment, with Available pods.
	Deployed  bool
	Available int
	// Everywhere says that all namespaces were searched.
	Everywhere bool
	Error      string // why neither could be read
	// Unseen is a job that no controller has taken up for UnseenFor.
	Unseen    string
	UnseenFor time.Duration
}

// leastUnseen is how long a job may be new to a controller that is busy.
const leastUnseen = 15 * time.Second

// OfController judges whether a controller is at work.
func OfController(c Controller) []Finding {
	one := func(verdict Verdict, format string, args ...any) []Finding {
		return []Finding{clusterFinding("controller", "", verdict, format, args...)}
	}
	switch {
	case c.Unseen != "" && c.UnseenFor > leastUnseen:
		return one(Fail, "no controller has seen the job %s, which was created %s ago", c.Unseen, c.UnseenFor.Round(time.Second))
	case c.Leased && c.Holder == "":
		return one(Fail, "no controller holds the lease in namespace %s", c.Namespace)
	case c.Leased && c.Stale > 0:
		return one(Fail, "%s in namespace %s has not renewed its lease for %s", c.Holder, c.Namespace, c.Stale.Round(time.Second))
	case c.Leased:
		return one(OK, "%s leads in namespace %s", c.Holder, c.Namespace)
	case c.Deployed && c.Available == 0:
		return one(Fail, "the controller in namespace %s has no available pod", c.Namespace)
	case c.Deployed:
		return one(OK, "the controller in namespace %s has %d available %s", c.Namespace, c.Available, plural(int64(c.Available), "pod"))
	case c.Error != "":
		return NotChecked(c.Error, "controller")
	case c.Everywhere:
		return one(Fail, "no namespace has a controller")
	}
	return NotChecked("there is no controller in namespace "+c.Namespace+", and no right to look in others", "controller")
}
