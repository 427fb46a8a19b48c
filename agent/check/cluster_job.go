package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Exec is one command that was run in a pod of a job, through the API server.
type Exec struct {
	Pod      string
	Protocol string // WebSocket or SPDY
	Took     time.Duration
	Code     int    // exit code of `agent ready` in the pod
	Said     string // what it printed
	Error    string // why there is no exit code
}

// slowExec is how long a command in a pod may take. mpirun starts one for each worker.
const slowExec = 2 * time.Second

// OfExec judges the way into the pods.
func OfExec(e Exec) []Finding {
	one := func(verdict Verdict, format string, args ...any) []Finding {
		return []Finding{clusterFinding("exec", e.Pod, verdict, format, args...)}
	}
	way := fmt.Sprintf("exec works over %s in %.2g s", e.Protocol, e.Took.Seconds())
	switch {
	case e.Error != "":
		return one(Fail, "%s", e.Error)
	case e.Code != 0:
		f := one(Warn, "%s, but the agent in the pod is not ready (exit code %d): %s", way, e.Code, cmp.Or(e.Said, "it says nothing"))
		f[0].Remedy = "look at the pod's log and events: kubectl describe pod " + e.Pod
		return f
	case e.Took > slowExec:
		return one(Warn, "%s, which is slow", way)
	}
	return one(OK, "%s", way)
}

// Quota is a ResourceQuota of the namespace.
type Quota struct {
	Name       string
	Hard, Used corev1.ResourceList
	Scoped     bool // it may not apply to the job's pods
}

// OfQuotas judges whether the quotas have room for what a job still needs. Without a job need is
// nil, and quotas that are used up are named. refused is the API server's message if it has refused
// a pod already.
func OfQuotas(quotas []Quota, need corev1.ResourceList, refused string) []Finding {
	if refused != "" {
		return []Finding{clusterFinding("quota", "", Fail, "%s", refused)}
	}
	if len(quotas) == 0 {
		return []Finding{clusterFinding("quota", "", OK, "the namespace has no quota")}
	}
	var found []Finding
	for _, q := range quotas {
		found = append(found, q.judge(need))
	}
	return found
}

// judge names each resource of which too little is left.
func (q Quota) judge(need corev1.ResourceList) Finding {
	var short []string
	for _, key := range slices.Sorted(maps.Keys(q.Hard)) {
		hard, used := q.Hard[key], q.Used[key]
		left := hard.DeepCopy()
		left.Sub(used)
		want, asked := need[canonical(key)]
		switch {
		case need == nil && common(key) && left.Sign() <= 0:
			short = append(short, fmt.Sprintf("all %s of %s are in use", hard.String(), key))
		case asked && want.Sign() > 0 && want.Cmp(left) > 0:
			short = append(short, fmt.Sprintf("the job needs %s more of %s, and %s of %s is left", want.String(), key, positive(left), hard.String()))
		}
	}
	verdict := Fail
	if q.Scoped || need == nil {
		verdict = Warn
	}
	if len(short) == 0 {
		return clusterFinding("quota", q.Name, OK, "%s", map[bool]string{true: "the quota has room", false: "the quota has room for the job"}[need == nil])
	}
	text := strings.Join(short, "; ")
	if q.Scoped {
		text += " (if the quota's scope covers the pods)"
	}
	return clusterFinding("quota", q.Name, verdict, "%s", text)
}

func positive(q resource.Quantity) string {
	if q.Sign() < 0 {
		return "0"
	}
	return q.String()
}

// canonical returns the longer of two names that a quota may use for a resource.
func canonical(key corev1.ResourceName) corev1.ResourceName {
	switch key {
	case corev1.ResourceCPU:
		return corev1.ResourceRequestsCPU
	case corev1.ResourceMemory:
		return corev1.ResourceRequestsMemory
	case "count/pods":
		return corev1.ResourcePods
	}
	return key
}

// common reports whether every job needs the resource.
func common(key corev1.ResourceName) bool {
	return slices.Contains([]corev1.ResourceName{corev1.ResourcePods, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory}, canonical(key))
}

// Needs returns what a quota counts for a number of pods with this specification.
func Needs(pods int, spec *corev1.PodSpec) corev1.ResourceList {
	n := int64(max(0, pods))
	need := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	for key, q := range needsOf(spec) {
		q.Mul(n)
		need[key] = q
	}
	return need
}

// needsOf returns what a quota counts for one pod: the sum of its containers, or what the pod itself
// says about a resource. The API server takes a limit as the request if there is none.
func needsOf(spec *corev1.PodSpec) corev1.ResourceList {
	need := corev1.ResourceList{}
	for _, c := range spec.Containers {
		for key, q := range c.Resources.Limits {
			addTo(need, "limits."+key, q)
			if _, asked := c.Resources.Requests[key]; !asked {
				addTo(need, "requests."+key, q)
			}
		}
		for key, q := range c.Resources.Requests {
			addTo(need, "requests."+key, q)
		}
	}
	if spec.Resources == nil {
		return need
	}
	for key, q := range spec.Resources.Limits {
		need["limits."+key] = q.DeepCopy()
		if _, asked := need["requests."+key]; !asked {
			need["requests."+key] = q.DeepCopy()
		}
	}
	for key, q := range spec.Resources.Requests {
		need["requests."+key] = q.DeepCopy()
	}
	return need
}

func addTo(list corev1.ResourceList, key corev1.ResourceName, q resource.Quantity) {
	sum := list[key]
	sum.Add(q)
	list[key] = sum
}

// Sum adds what several groups of pods need.
func Sum(lists ...corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, list := range lists {
		for key, q := range list {
			addTo(total, key, q)
		}
	}
	return total
}

// Gang is a gang scheduler that a job needs.
type Gang struct {
	Backend string // spec.gang.backend; "": no gang
	Kind    string // of the object that it needs: PodGroup.scheduling.volcano.sh
	Served  bool
	Error   string // why that is not known
}

// OfGang judges whether the gang scheduler is installed. Without a gang it returns nothing.
func OfGang(g Gang) []Finding {
	switch {
	case g.Backend == "":
		return nil
	case g.Error != "":
		return NotChecked(g.Error, "gang")
	case !g.Served:
		return []Finding{clusterFinding("gang", g.Backend, Fail, "the cluster does not serve %s", g.Kind)}
	}
	return []Finding{clusterFinding("gang", g.Backend, OK, "the cluster serves %s", g.Kind)}
}

// Image is an image of a job's pods.
type Image struct {
	Image string
	// Pod, Reason and Message are of a container that waits for the image; "" if none does.
	Pod, Reason, Message string
	Pulled               bool // some node has it
}

// pullReasons are the reasons of a container that cannot get its image (kubelet, pkg/kubelet/images).
var pullReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}

// OfImages judges whether the images of a job can be pulled.
func OfImages(images []Image) []Finding {
	var found []Finding
	for _, i := range images {
		switch {
		case slices.Contains(pullReasons, i.Reason):
			text := i.Reason
			if i.Message != "" {
				text += ": " + i.Message
			}
			found = append(found, clusterFinding("image", i.Image, Fail, "%s cannot get it: %s", i.Pod, text))
		case i.Pulled:
			found = append(found, clusterFinding("image", i.Image, OK, "a node has pulled it"))
		default:
			f := NotChecked("no pod has pulled it yet", "image")
			f[0].Of = i.Image
			found = append(found, f...)
		}
	}
	return found
}
