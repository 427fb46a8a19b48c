// Package golden defines the format of the golden files of agent/framework: the environment that
// an operator sets in each pod of one job. It does not depend on an operator, so that the programs for
// two versions of the operator write the same format.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// Case is one job and, after a tool has filled them, its pods.
type Case struct {
	Name      string `json:"-"`      // name of the file, without .json
	Source    string `json:"source"` // the operator and its version
	Kind      string `json:"kind"`
	Job       string `json:"job"`
	Namespace string `json:"namespace"`
	Spec      Spec   `json:"spec"`
	// Refused is the error of the operator's admission webhook. The job
	// then has no pods.
	Refused string `json:"refused,omitempty"`
	Pods    []Pod  `json:"pods"`
}

// Spec holds the settings that the environment depends on.
type Spec struct {
	Roles          []Role   `json:"roles"`
	NprocPerNode   string   `json:"nprocPerNode,omitempty"`   // PyTorchJob; "": the operator's default
	SlotsPerWorker int32    `json:"slotsPerWorker,omitempty"` // MPIJob
	GPULauncher    bool     `json:"gpuLauncher,omitempty"`    // MPIJob: the launcher has GPUs and takes ranks
	Sparse         bool     `json:"enableDynamicWorker,omitempty"`
	Elastic        *Elastic `json:"elasticPolicy,omitempty"`
	// ClusterDomain is CUSTOM_CLUSTER_DOMAIN in the operator's environment.
	ClusterDomain string `json:"clusterDomain,omitempty"`
	// Sidecar adds a second container to every pod.
	Sidecar bool `json:"sidecar,omitempty"`
}

// Role is a replica type of the job, in the operator's spelling, and its replicas.
type Role struct {
	Name  string `json:"name"`
	Count int32  `json:"count"`
}

// Elastic is a PyTorchJob's elasticPolicy; nil and "" are unset fields.
type Elastic struct {
	Min          *int32      `json:"minReplicas,omitempty"`
	Max          *int32      `json:"maxReplicas,omitempty"`
	Backend      string      `json:"rdzvBackend,omitempty"`
	Host         string      `json:"rdzvHost,omitempty"`
	Port         int32       `json:"rdzvPort,omitempty"`
	ID           string      `json:"rdzvId,omitempty"`
	Conf         [][2]string `json:"rdzvConf,omitempty"`
	Standalone   bool        `json:"standalone,omitempty"`
	NprocPerNode *int32      `json:"nProcPerNode,omitempty"`
	MaxRestarts  *int32      `json:"maxRestarts,omitempty"`
}

// Pod is a replica of a role.
type Pod struct {
	Name       string      `json:"name"`
	Role       string      `json:"role"` // in lower case, as in a pod's name
	Index      int         `json:"index"`
	Containers []Container `json:"containers"`
}

// Container has the variables that the operator set, as NAME=VALUE, in the operator's
// order. The kubelet replaces $( ) by a field of the pod
// (status.podIP) or an earlier variable.
type Container struct {
	Name string   `json:"name"`
	Env  []string `json:"env"`
}

// Template returns a pod template with the operator's default container and, for a
// job with Sidecar, a second one.
func (c Case) Template(container string) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "example.com/train"}}}
	if c.Spec.Sidecar {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "sidecar", Image: "example.com/sidecar"})
	}
	return corev1.PodTemplateSpec{Spec: spec}
}

// Containers returns the variables of a pod. It is an error if the source of a variable is not a field of the pod,
// because the format cannot represent it.
func Containers(spec corev1.PodSpec) ([]Container, error) {
	var found []Container
	for _, c := range spec.Containers {
		env := []string{}
		for _, v := range c.Env {
			if v.ValueFrom != nil {
				if v.ValueFrom.FieldRef == nil {
					return nil, fmt.Errorf("read %s of container %s: a source other than a field", v.Name, c.Name)
				}
				v.Value = "$(" + v.ValueFrom.FieldRef.FieldPath + ")"
			}
			env = append(env, v.Name+"="+v.Value)
		}
		found = append(found, Container{Name: c.Name, Env: env})
	}
	return found, nil
}

// Write writes each case to dir/NAME.json. It does not remove files of earlier runs whose
// cases no longer exist; the caller empties dir.
func Write(dir string, cases []Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create golden directory: %w", err)
	}
	for _, c := range cases {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(c); err != nil {
			return fmt.Errorf("encode %s: %w", c.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.Name+".json"), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write golden file: %w", err)
		}
	}
	return nil
}

// Main is the main function of a program that writes golden files. It fills cases
// one after the other, and writes them to the directory of the flag -out. It
// exits with 2 for a wrong command line, and with 1 for an error.
func Main(name string, cases []Case, fill func(*Case) error) {
	out := flag.String("out", "", "write the golden files to `DIR`")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := fillAll(*out, cases, fill); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func fillAll(out string, cases []Case, fill func(*Case) error) error {
	for i := range cases {
		if err := fill(&cases[i]); err != nil {
			return fmt.Errorf("case %s: %w", cases[i].Name, err)
		}
	}
	if err := Write(out, cases); err != nil {
		return err
	}
	fmt.Printf("%d golden files in %s\n", len(cases), out)
	return nil
}
