//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/figure"
)

// TestLaunchJobMistakes checks that the API server rejects each mistake with a message.
func TestLaunchJobMistakes(t *testing.T) {
	t.Parallel()
	_, err := kubectlCall{namespace: "default"}.run("apply", "-f", "../../images/chart/files/crd/crd.yaml")
	require.NoError(t, err)
	s := newSpace(t)
	dry := func(object any) error {
		text, err := json.Marshal(object)
		require.NoError(t, err)
		_, err = kubectlCall{namespace: s.name, stdin: text}.run("apply", "--server-side", "--dry-run=server", "-f", "-")
		return err
	}
	good := func() map[string]any {
		text, err := json.Marshal(launchJob(t, "pi", []string{"mpirun", "./pi"}))
		require.NoError(t, err)
		var object map[string]any
		require.NoError(t, json.Unmarshal(text, &object))
		delete(object, "status")
		return object
	}
	require.NoError(t, dry(good()))
	for _, name := range framework.Names() {
		object := good()
		at(object, "spec")["framework"] = name
		require.NoError(t, dry(object), name)
	}
	role := func(o map[string]any) map[string]any { return at(o, "spec")["roles"].([]any)[0].(map[string]any) }
	for name, tc := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"name too long":          {func(o map[string]any) { at(o, "metadata")["name"] = "a-very-long-name-that-no-pod-of-it-could-have" }, "metadata.name has at most 40 lowercase letters"},
		"name with dots":         {func(o map[string]any) { at(o, "metadata")["name"] = "a.b" }, "metadata.name has"},
		"no roles":               {func(o map[string]any) { at(o, "spec")["roles"] = []any{} }, "spec.roles"},
		"a typo":                 {func(o map[string]any) { at(o, "spec")["slost"] = 2 }, "spec.slost"},
		"a typo in a pod":        {func(o map[string]any) { at(role(o), "template", "spec")["contianers"] = 2 }, "contianers"},
		"no workers":             {func(o map[string]any) { delete(at(o, "spec"), "workers") }, "workers is the number of pods of the role worker"},
		"workers and replicas":   {func(o map[string]any) { role(o)["replicas"] = 2 }, "set spec.workers instead of replicas"},
		"workers without worker": {func(o map[string]any) { role(o)["name"] = "ps" }, "workers is the number of pods of the role worker"},
		"a role named launcher":  {func(o map[string]any) { role(o)["name"] = "launcher" }, "a role cannot be named launcher"},
		"a role's name":          {func(o map[string]any) { role(o)["name"] = "Worker_1" }, "a role's name has at most 16 lowercase letters"},
		"the same role twice": {func(o map[string]any) {
			at(o, "spec")["roles"] = []any{role(o), role(o)}
		}, "duplicate"},
		"framework":              {func(o map[string]any) { at(o, "spec")["framework"] = "tourch" }, "unknown framework"},
		"MPI without a launcher": {func(o map[string]any) { delete(at(o, "spec"), "launcher") }, "MPI requires a launcher"},
		"names without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["discovery"] = "torch", "names"
		}, "discovery names requires a launcher"},
		"no containers":                       {func(o map[string]any) { at(role(o), "template", "spec")["containers"] = []any{} }, "the role's template has no container"},
		"restart policy":                      {func(o map[string]any) { at(role(o), "template", "spec")["restartPolicy"] = "OnFailure" }, "restartPolicy of a pod must be Never or omitted"},
		"success":                             {func(o map[string]any) { at(o, "spec")["success"] = "chief" }, "the role or pod must exist"},
		"success of a pod that doesn't exist": {func(o map[string]any) { at(o, "spec")["success"] = "worker:2" }, "the role or pod must exist"},
		"success of an index in words":        {func(o map[string]any) { at(o, "spec")["success"] = "worker:first" }, "ROLE:INDEX as in worker:0"},
		"processes of mpirun":                 {func(o map[string]any) { at(o, "spec")["procsPerWorker"] = 2 }, "the number of ranks that mpirun places on a worker"},
		"ranks in a launcher without MPI": {func(o map[string]any) {
			at(o, "spec")["framework"] = "torch"
			at(o, "spec", "launcher")["slots"] = 2
		}, "launcher.slots works only with MPI"},
		"only the launcher": {func(o map[string]any) { at(o, "spec")["workers"] = 0 }, "no workers: set spec.workers"},
		"an image for a baked agent": {func(o map[string]any) {
			at(o, "spec")["agent"] = map[string]any{"delivery": "baked", "image": "x/agent:1"}
		},
			"agent.image cannot be used with agent.delivery baked"},
		"no slots": {func(o map[string]any) { at(o, "spec")["slots"] = 0 }, "spec.slots"},
		"restartOn": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "restartOn": "sometimes"}
		},
			"want exit codes (1 to 255)"},
		"rules without restarts": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"rules": []any{map[string]any{"action": "Fail"}}}
		}, "of restartPolicy require maxRestarts"},
		"rules without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["restartPolicy"] = "torch", map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "Fail"}}}
		}, "of restartPolicy require a launcher"},
		"the action of a rule": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "retry"}}}
		}, `supported values: "Restart", "ReplaceWorker", "RestartPods", "Fail", "Ignore"`},
		"the cause of a rule": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "Fail", "causes": []any{"nan"}}}}
		}, `supported values: "oom", "lost", "infra", "preflight", "device", "hang", "stall", "drain"`},
		"the output of a rule": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "Fail", "output": "("}}}
		}, "output is not a regular expression"},
		"the exit code of a rule": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "Fail", "exitCodes": []any{0}}}}
		}, "spec.restartPolicy.rules[0].exitCodes[0]"},
		"the signal of a rule": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "rules": []any{map[string]any{"action": "Fail", "signals": []any{"KILLED"}}}}
		}, "spec.restartPolicy.rules[0].signals[0]"},
		"a limit by time": {func(o map[string]any) {
			at(o, "spec")["restartPolicy"] = map[string]any{"maxRestarts": 1, "maxRestartsPer": "6"}
		}, "want NUMBER/TIME, as in 6/1h"},
		"spares without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["spares"] = "torch", 1
		}, "spares require a launcher"},
		"spares of an elastic job": {func(o map[string]any) {
			at(o, "spec")["spares"], at(o, "spec")["elastic"] = 1, map[string]any{"min": 2, "max": 2}
		}, "spares cannot be used with elastic"},
		"spares and another role": {func(o map[string]any) {
			chief := map[string]any{"name": "chief", "template": role(o)["template"]}
			at(o, "spec")["framework"], at(o, "spec")["spares"], at(o, "spec")["roles"] = "tensorflow", 1, []any{role(o), chief}
		}, "a job with spares has no other role"},
		"spares of a Kubeflow job": {func(o map[string]any) {
			at(o, "spec")["framework"], at(o, "spec")["spares"], at(o, "spec")["compat"] = "torch", 1, "kubeflow-v1"
		}, "spares cannot be used with compat"},
		"fewer spares than none": {func(o map[string]any) { at(o, "spec")["spares"] = -1 }, "spec.spares"},
		"elastic":                {func(o map[string]any) { at(o, "spec")["elastic"] = map[string]any{"min": 3, "max": 2} }, "elastic.min is more than elastic.max"},
		"workers outside":        {func(o map[string]any) { at(o, "spec")["elastic"] = map[string]any{"min": 3, "max": 4} }, "workers must be between elastic.min and elastic.max"},
		"a time":                 {func(o map[string]any) { at(o, "spec")["hangAfter"] = "10 minutes" }, "want a time such as 90s, 10m or 1h"},
		"hangs without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["hangAfter"] = "torch", "10m"
		}, "hangAfter requires a launcher"},
		"ranks that outlast others without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["exitWithin"] = "torch", "5m"
		}, "exitWithin requires a launcher"},
		"ranks by topology without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["topologyKeys"] = "torch", []any{"rack"}
		}, "topologyKeys requires a launcher"},
		"RDMA without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["requireRDMA"] = "torch", true
		}, "requireRDMA requires a launcher"},
		"the network without a launcher": {func(o map[string]any) {
			delete(at(o, "spec"), "launcher")
			at(o, "spec")["framework"], at(o, "spec")["transport"] = "torch", "network"
		}, "transport network or auto requires a launcher"},
		"a transport":    {func(o map[string]any) { at(o, "spec")["transport"] = "ssh" }, `supported values: "exec", "network", "auto"`},
		"a topology key": {func(o map[string]any) { at(o, "spec")["topologyKeys"] = []any{"a b"} }, "want the key of a node label"},
		"none and a key": {func(o map[string]any) { at(o, "spec")["topologyKeys"] = []any{"none", "rack"} }, "none cannot be used together with keys"},
		"too many keys": {func(o map[string]any) {
			at(o, "spec")["topologyKeys"] = []any{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
		}, "must have at most 8 items"},
		"a line that must come": {func(o map[string]any) {
			at(o, "spec")["progress"] = []any{map[string]any{"expect": "step (", "within": "10m"}}
		}, "expect is not a regular expression"},
		"a line that must not come": {func(o map[string]any) { at(o, "spec")["progress"] = []any{map[string]any{"failOn": "("}} }, "failOn is not a regular expression"},
		"a size":                    {func(o map[string]any) { at(o, "spec")["shm"] = "big" }, "want a size such as 512Mi or 8Gi"},
		"clean pods":                {func(o map[string]any) { at(o, "spec")["runPolicy"] = map[string]any{"cleanPodPolicy": "Some"} }, `supported values: "None", "Running", "All"`},
		"deadline":                  {func(o map[string]any) { at(o, "spec")["runPolicy"] = map[string]any{"activeDeadlineSeconds": 0} }, "spec.runPolicy.activeDeadlineSeconds"},
		"delivery":                  {func(o map[string]any) { at(o, "spec")["agent"] = map[string]any{"delivery": "mail"} }, `supported values: "auto", "baked", "init", "imageVolume"`},
		"gang":                      {func(o map[string]any) { at(o, "spec")["gang"] = map[string]any{"backend": "yarn"} }, `supported values: "none", "auto", "volcano"`},
		"queue":                     {func(o map[string]any) { at(o, "spec")["gang"] = map[string]any{"backend": "kueue"} }, "gang.backend kueue requires gang.queue"},
		"queue without a gang": {func(o map[string]any) { at(o, "spec")["gang"] = map[string]any{"backend": "none", "queue": "x"} },
			"gang.queue works only with gang.backend volcano, kueue or auto"},
		"a scheduler without a gang": {func(o map[string]any) {
			at(o, "spec")["gang"] = map[string]any{"backend": "none", "schedulerName": "mine"}
		}, "gang.backend none cannot be used with"},
		"gang too large": {func(o map[string]any) { at(o, "spec")["gang"] = map[string]any{"backend": "volcano", "minMember": 4} },
			"gang.minMember is more than the number of pods"},
		"topology of a missing role": {func(o map[string]any) {
			at(o, "spec")["gang"] = map[string]any{"backend": "volcano", "topology": map[string]any{"affinity": "launcher,worker;woker"}}
		}, "gang.topology names a role that the job does not have"},
		"topology": {func(o map[string]any) {
			at(o, "spec")["gang"] = map[string]any{"backend": "kueue", "queue": "x", "topology": map[string]any{"affinity": "ps,worker"}}
		}, "gang.topology works only with gang.backend volcano"},
	} {
		t.Run(name, func(t *testing.T) {
			object := good()
			tc.change(object)
			err := dry(object)
			require.Error(t, err)
			require.Contains(t, err.Error(), tc.want)
		})
	}
	t.Run("changes", func(t *testing.T) {
		job := launchJob(t, "pi", []string{"mpirun", "./pi"}, func(j *v1alpha1.LaunchJob) { j.Spec.ManagedBy = new("example.com/other") })
		s.apply(job)
		for patch, want := range map[string]string{
			`{"spec":{"workers":3}}`:       "workers can be changed only in an elastic job",
			`{"spec":{"managedBy":"x/y"}}`: "managedBy cannot be changed",
			`{"spec":{"launcher":null}}`:   "a launcher cannot be added to or removed from a job",
			`{"spec":{"slots":4}}`:         "while a job runs, only runPolicy can be changed",

			`{"spec":{"framework":"openmpi"}}`:                        "while a job runs, only runPolicy can be changed",
			`{"spec":{"gang":{"backend":"volcano"}}}`:                 "while a job runs, only runPolicy can be changed",
			`{"spec":{"restartPolicy":{"maxRestarts":3}}}`:            "while a job runs, only runPolicy can be changed",
			`{"spec":{"elastic":{"min":1,"max":9}}}`:                  "while a job runs, only runPolicy can be changed",
			`{"spec":{"runPolicy":{"suspend":true},"workers":3}}`:     "workers can be changed only in an elastic job",
			`{"spec":{"exitWithin":"9m"}}`:                            "while a job runs, only runPolicy can be changed",
			`{"spec":{"requireRDMA":true}}`:                           "while a job runs, only runPolicy can be changed",
			`{"spec":{"transport":"network"}}`:                        "while a job runs, only runPolicy can be changed",
			`{"spec":{"topologyKeys":["rack"]}}`:                      "while a job runs, only runPolicy can be changed",
			`{"spec":{"agent":{"delivery":"init"},"hangAfter":"9m"}}`: "while a job runs, only runPolicy can be changed",
		} {
			_, err := s.try(0, "patch", "lj", "pi", "--type=merge", "-p", patch)
			require.ErrorContains(t, err, want)
		}
		s.kubectl("patch", "lj", "pi", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":true}}}`)
		s.kubectl("scale", "lj/pi", "--replicas=3")
		s.kubectl("patch", "lj", "pi", "--type=merge", "-p", `{"spec":{"slots":4,"restartPolicy":{"maxRestarts":3},"elastic":{"min":1,"max":9},"runPolicy":{"suspend":false,"ttlSecondsAfterFinished":9}}}`)
		s.kubectl("scale", "lj/pi", "--replicas=4")
		_, err := s.try(0, "patch", "lj", "pi", "--type=merge", "-p", `{"spec":{"elastic":{"max":10}}}`)
		require.ErrorContains(t, err, "while a job runs, only runPolicy can be changed")
		_, err = s.try(0, "patch", "lj", "pi", "--type=merge", "-p", `{"spec":{"restartPolicy":{"rules":[{"action":"Fail"}]}}}`)
		require.ErrorContains(t, err, "while a job runs, only runPolicy can be changed")
		require.EqualValues(t, 4, *s.lj("pi").Spec.Workers)
		require.Empty(t, s.lj("pi").Status.Phase, "the controller must not change another controller's job")
	})
}

// at goes into an object by keys.
func at(o map[string]any, keys ...string) map[string]any {
	for _, key := range slices.Concat(keys) {
		o = o[key].(map[string]any)
	}
	return o
}

// TestLaunchJobNames uses discovery names, and an agent from an init container. The launcher's token may get and
// exec the job's own pods, but may not list pods.
func TestLaunchJobNames(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "byname", []string{"sh", "-c", "mpirun /opt/muster-test/hello && sleep 15"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Discovery, j.Spec.Agent = "names", &v1alpha1.Agent{Delivery: "init"}
	}))
	s.kubectl("wait", "--for=condition=Launched", "launchjob/byname", "--timeout=2m")
	may := func(args ...string) bool {
		out, _ := s.try(time.Minute, append([]string{"auth", "can-i", "--as=system:serviceaccount:" + s.name + ":byname-launcher"}, args...)...)
		return strings.TrimSpace(out) == "yes"
	}
	require.True(t, may("get", "pods/byname-worker-0"))
	require.True(t, may("create", "pods/byname-worker-0", "--subresource=exec"))
	require.False(t, may("list", "pods"))
	require.False(t, may("watch", "pods"))
	require.False(t, may("get", "pods/another"))
	require.False(t, may("create", "pods/byname-launcher", "--subresource=exec"))

	s.becomes("byname", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("byname-launcher"), job{name: "byname", workers: 2}))
	require.Eventually(t, func() bool { return !may("create", "pods/byname-worker-0", "--subresource=exec") }, 20*time.Second, time.Second,
		"the right outlives the job")
}

// TestLaunchJobHostNetwork runs two workers that share a node's network.
func TestLaunchJobHostNetwork(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "privileged")
	s.launch(launchJob(t, "host", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
		spec := &j.Spec.Roles[0].Template.Spec
		spec.HostNetwork, spec.NodeSelector = true, map[string]string{corev1.LabelHostname: "node1"}
	}))
	s.becomes("host", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("host-launcher"), job{name: "host", workers: 2}))
}

// TestLaunchJobLauncherTakesRanks checks a launcher that is also a host of the job.
func TestLaunchJobLauncherTakesRanks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "both", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Slots = 2 }))
	s.becomes("both", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	log := s.logs("both-launcher")
	require.Equal(t, 6, strings.Count(log, " of 6 on "), log)
	require.Regexp(t, `(?m)^rank 1 of 6 on \S+ session none `, log)
}

// TestLaunchJobCompat checks that scripts for Kubeflow's operator find its variables, and that the names in them
// resolve to every pod of the job.
func TestLaunchJobCompat(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	as := func(framework string) func(*v1alpha1.LaunchJob) {
		return func(job *v1alpha1.LaunchJob) {
			for i := range job.Spec.Roles {
				job.Spec.Roles[i].Template.Labels = map[string]string{"team": "ml"}
				job.Spec.Roles[i].Template.Annotations = map[string]string{"sidecar.example.com/inject": "false"}
			}

			job.Spec.Framework, job.Spec.Compat, job.Spec.Success = framework, "kubeflow-v1", "all"
		}
	}
	s.launch(
		members(t, "pt", `set -e; echo "rank $RANK of $WORLD_SIZE"; getent hosts $MASTER_ADDR`, as("torch")),
		members(t, "tf", `set -e; echo "$TF_CONFIG"; for h in master-0 worker-0 worker-1; do getent hosts tf-$h.$MUSTER_NAMESPACE.svc; done`, as("tensorflow")),
	)
	s.becomes("pt", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for rank, name := range []string{"pt-master-0", "pt-worker-0", "pt-worker-1"} {
		pod := s.pod(name)
		log := s.logs(name)
		require.Contains(t, log, fmt.Sprintf("rank %d of 3\n", rank))
		require.Contains(t, log, s.pod("pt-master-0").Status.PodIP+" ")
		require.Equal(t, "ml", pod.Labels["team"])
		require.Equal(t, "false", pod.Annotations["sidecar.example.com/inject"])
		require.Equal(t, fmt.Sprint(max(rank-1, 0)), pod.Labels[names.LabelReplicaIndex])
	}
	s.becomes("tf", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for _, name := range s.podsOf("tf") {
		log := s.logs(name)
		require.Contains(t, log, fmt.Sprintf(`"worker":["tf-worker-0.%s.svc:2222","tf-worker-1.%s.svc:2222"]`, s.name, s.name))
		for _, other := range s.podsOf("tf") {
			require.Contains(t, log, s.pod(other).Status.PodIP)
		}
	}
}

// recordRequests records the requests to the API server for one job of 20 workers, from its audit log. It counts
// the controller's requests, and the answers 403 to the controller, the launcher, and users of the namespace's
// tokens. Events are included.
func (s *space) recordRequests(since time.Time) {
	t := s.t
	t.Helper()
	path := os.Getenv("MUSTER_AUDIT_LOG")
	if path == "" && os.Getenv("MUSTER_CLUSTER") == "" {
		t.Log("this cluster's audit log is unknown (MUSTER_AUDIT_LOG): requests are not counted")
		return
	}
	all, err := audit.Since(path, since)
	require.NoError(t, err, "test/lab/cluster up starts an API server that writes one")
	ours := audit.Of(all, "muster-controller", s.name)
	require.NotEmpty(t, ours)
	count := audit.Count(ours)
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %d", what, count[what])
	}
	denied := audit.Forbidden(all, s.name)
	for _, r := range denied {
		t.Logf("403: %+v", r)
	}
	const name, refused = "controller's requests for a LaunchJob of 20 workers", "answers 403 during it"
	raw := map[string]figure.Series{
		name:    {Unit: "requests", Reduce: "last", Samples: []float64{float64(len(ours))}},
		refused: {Unit: "requests", Reduce: "last", Samples: []float64{float64(len(denied))}},
	}
	record(t, figure.Row{Name: name, Op: "<=", Bar: 60}, raw)
	record(t, figure.Row{Name: refused, Op: "==", Bar: 0}, raw)
}
