package submit

import (
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
)

// jobName is the rule of the CRD.
var jobName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// validate checks each flag by itself.
func (r Request) validate() error {
	wrong := failure.Usage
	switch {
	case r.Name == "":
		return wrong("--name=train", "--name is required")
	case len(r.Name) > 40 || !jobName.MatchString(r.Name):
		return wrong("as in --name=resnet-50", "--name=%s: a name has at most 40 lowercase letters, digits and dashes, and starts with a letter", r.Name)
	case r.Image == "":
		return wrong("--image=registry.example.com/train:1", "--image is required")
	case strings.TrimFunc(strings.Join(r.Command, ""), func(c rune) bool { return unicode.IsSpace(c) || c == '\'' }) == "":
		return wrong("agent submit --name="+r.Name+" --image="+r.Image+" -- mpirun ./program", "missing command")
	case r.Workers < 1 && !(r.Workers == 0 && r.hasRoles()) || r.Workers > 10000:
		return wrong("--workers=4 makes four pods; the launcher is not counted", "--workers=%d: a job has 1 to 10000 workers", r.Workers)
	case r.GPUs < 0 || r.Slots < 0 || r.GPUs > 4096 || r.Slots > 4096:
		return wrong("--gpus=8 --slots=8", "--gpus=%d --slots=%d: a worker has 0 to 4096 of each", r.GPUs, r.Slots)
	case r.PS < 0 || r.PS > 10000:
		return wrong("--ps=2", "--ps=%d: a job has 0 to 10000 parameter servers", r.PS)
	case r.MaxRestarts < 0 || r.MaxRestarts > 1000:
		return wrong("--max-restarts=3", "--max-restarts=%d: want 0 to 1000", r.MaxRestarts)
	case r.CheckTime != 0 && r.CheckTime < time.Second:
		return wrong("--preflight-timeout=2m", "--preflight-timeout=%s: must be at least 1s", r.CheckTime)
	case r.WorkingDir != "" && !path.IsAbs(r.WorkingDir):
		return wrong("--working-dir=/root", "--working-dir=%s is not an absolute path", r.WorkingDir)
	}
	if err := failure.OneOf("--delivery", r.Delivery, "", "auto", "init", "imageVolume", "baked"); err != nil {
		return err
	}
	if err := failure.OneOf("--gang", r.Gang, "", "auto", volcano, "coscheduling", kueue, "workload", "none"); err != nil {
		return err
	}
	if err := failure.OneOf("--clean-pods", r.CleanPods, "", "Running", "None", "All"); err != nil {
		return err
	}
	if err := failure.OneOf("--preflight", r.Preflight, "", "off", "warn", "fail"); err != nil {
		return err
	}
	if err := failure.OneOf("--transport", r.Transport, "", "exec", "network", "auto"); err != nil {
		return err
	}
	if err := failure.OneOf("--hang-action", r.HangAction, "", "report", "stop"); err != nil {
		return err
	}
	if err := failure.OneOf("--image-pull-policy", r.ImagePullPolicy, "", "Always", "IfNotPresent", "Never"); err != nil {
		return err
	}
	if !strings.HasPrefix(r.Framework, "plugin:") {
		if err := failure.OneOf("--framework", r.Framework, append(framework.Names(), "")...); err != nil {
			return err
		}
	}
	return r.together()
}

// together checks flags that require or exclude each other.
func (r Request) together() error {
	wrong := failure.Usage
	switch {
	case r.Gang == kueue && r.Queue == "":
		return wrong("--queue=NAME is a LocalQueue of the namespace", "--gang=kueue requires --queue")
	case r.Queue != "" && r.Gang != "" && r.Gang != volcano && r.Gang != kueue && r.Gang != "auto":
		return wrong("queues are Volcano's and Kueue's: --gang=volcano, --gang=kueue or --gang=auto", "--queue=%s cannot be used with --gang=%s", r.Queue, r.Gang)
	case r.AgentImage != "" && r.Delivery == "baked":
		return wrong("--delivery=init uses the agent of that image", "--agent-image cannot be used with --delivery=baked: the agent is in the job's own image")
	case r.ShmSize != "" && !isAmount(r.ShmSize):
		return wrong("--shm-size=8Gi; 0 keeps the default /dev/shm", "--shm-size=%s is not a size", r.ShmSize)
	case r.Restricted && (r.RDMA || r.HostNetwork):
		return wrong("omit --restricted, or the other flags", "--restricted cannot be used with --rdma or --host-network: restricted namespaces forbid both")
	case r.RunAsUser != nil && *r.RunAsUser < 0:
		return wrong("--run-as-user=1000", "--run-as-user=%d is not a user ID", *r.RunAsUser)
	case r.Restricted && r.RunAsUser != nil && *r.RunAsUser == 0:
		return wrong("--run-as-user=1000", "--run-as-user=0 cannot be used with --restricted: restricted namespaces forbid root")
	case r.Restricted && r.SyncSource != "" && r.WorkingDir == "":
		return wrong("--working-dir=/work", "--restricted with --sync-source requires --working-dir: the default, /root, is writable only by root")
	case r.ActiveFor < 0:
		return wrong("--active-deadline=12h", "--active-deadline=%s must not be negative", r.ActiveFor)
	}
	return r.validateSync()
}
