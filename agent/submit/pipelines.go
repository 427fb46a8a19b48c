package submit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/failure"
)

// PipelinesFlag marks the command line of images/pipelines/component.yaml.
const PipelinesFlag = "--pipelines"

// IsStep reports whether that component has written the arguments of `agent submit`.
func IsStep(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	at := slices.Index(args, PipelinesFlag)
	return at == 0 || at == 1 && IsKind(args[0])
}

// Step is the pod of a pipeline that submits a job.
type Step struct {
	Pod      string
	Workflow string // "" if not known
}

// Typed is what the arguments of a step mean.
type Typed struct {
	Args    []string          // as a user would type them after `agent submit`
	Outputs map[string]string // file contents that must exist when the step ends, by path
	Notes   []string          // what is not carried over

	measured bool // there is a --metric, which --metrics-file requires
}

// Pipelines reads the arguments of images/pipelines/component.yaml. They are pairs of a flag and
// its value, so that no text is assembled from two. A value that means none, as in Arena's
// mpi_job_op, is left out. A list is JSON. The command is a line for a shell, or a list.
//
// Each run of a pipeline is a separate job: five letters derived from the step's pod follow the
// name. The job's processes get WORKFLOW_NAME and STEP_NAME.
func Pipelines(args []string, step Step) (Typed, error) {
	t := Typed{Outputs: map[string]string{}}
	t.Args = append(t.Args, "--env=STEP_NAME="+step.Pod) // the caller's own variables follow these, and take precedence
	if step.Workflow != "" {
		t.Args = append(t.Args, "--env=WORKFLOW_NAME="+step.Workflow)
	}
	var job, nameFile string
	for len(args) > 0 {
		word := args[0]
		flag, isFlag := strings.CutPrefix(word, "--")
		switch {
		case word == "--":
			if nameFile != "" {
				t.Outputs[nameFile] = job
			}
			return t, t.command(args[1:])
		case word == PipelinesFlag:
			args = args[1:]
			continue
		case !isFlag: // the kind, as in arena submit mpijob
			t.Args, args = append(t.Args, word), args[1:]
			continue
		case len(args) == 1:
			return t, failure.Usage("images/pipelines/component.yaml has the flags", "%s: missing value", word)
		}
		value := args[1]
		args = args[2:]
		switch flag {
		case "name":
			job = jobOf(value, step.Pod)
			value = job
		case "name-file":
			nameFile = value
			continue
		}
		words, err := t.read(flag, value, step)
		if err != nil {
			return t, err
		}
		t.Args = append(t.Args, words...)
	}
	return t, failure.Usage("-- COMMAND at the end", "missing command: the step has no --")
}

// read returns the words to type for one flag and its value.
func (t *Typed) read(flag, value string, step Step) ([]string, error) {
	none := value == "" || value == "0"
	word := []string{"--" + flag + "=" + value}
	switch flag {
	case "env", "annotation", "data", "metric":
		words, err := each(flag, value)
		t.measured = t.measured || flag == "metric" && len(words) > 0
		return words, err
	case "workers", "gpus", "timeout-hours":
		return number(flag, value)
	case "rdma", "tensorboard":
		on, err := strconv.ParseBool(value)
		switch {
		case err != nil:
			return nil, failure.Usage("want true or false", "--%s=%s is not true or false", flag, value)
		case !on:
			return nil, nil
		case flag == "tensorboard":
			t.Notes = append(t.Notes, "tensorboard is not started; run your own on the volume with the events")
			return nil, nil
		}
		return []string{"--" + flag}, nil
	case "tensorboard-image", "arena-image":
		if !none {
			t.Notes = append(t.Notes, fmt.Sprintf("--%s=%s is not used", flag, value))
		}
		return nil, nil
	case "sync-source":
		word = append([]string{"--sync-mode=git"}, word...)
	case "metrics-file":
		t.Outputs[value] = "{\"metrics\":[]}\n" // the file must exist even if the job fails
		if !t.measured {
			return nil, nil
		}
	case "workflow-file":
		t.Outputs[value] = step.Workflow
		return nil, nil
	case "step-file":
		t.Outputs[value] = step.Pod
		return nil, nil
	}
	if none {
		return nil, nil
	}
	return word, nil
}

// command waits for the job, and adds the command: a line for a shell, or a list of words.
func (t *Typed) command(rest []string) error {
	if len(rest) != 1 || rest[0] == "" {
		return failure.Usage("-- COMMAND, one word for all of it", "the step's command has %d words, want 1", len(rest))
	}
	words := rest
	if strings.HasPrefix(rest[0], "[") && json.Unmarshal([]byte(rest[0]), &words) != nil {
		words = rest // [ is the shell's own command
	}
	t.Args = append(append(t.Args, "--wait", "--logs", "--delete-on-signal", "--"), words...)
	return nil
}

// mostName is the maximum length of a LaunchJob's name (agent/api).
const mostName = 40

// jobOf returns the job name for a step. Each pod of a pipeline has its own.
func jobOf(name, pod string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	sum := sha256.Sum256([]byte(pod))
	tail := []byte("-")
	for _, b := range sum[:5] {
		tail = append(tail, letters[int(b)%len(letters)])
	}
	if most := mostName - len(tail); len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	return name + string(tail)
}

// each reads a list, or a single value.
func each(flag, value string) (words []string, err error) {
	if value == "" {
		return nil, nil
	}
	list := []string{value}
	if strings.HasPrefix(value, "[") {
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			return nil, failure.Usage(`["A=1","B=2"], as Pipelines writes a list`, "--%s: %w", flag, err)
		}
	}
	for _, one := range list {
		if one != "" {
			words = append(words, "--"+flag+"="+one)
		}
	}
	return words, nil
}

// number reads a number, which version 2 of Pipelines may write as 3.0.
func number(flag, value string) ([]string, error) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || n != float64(int64(n)) && flag != "timeout-hours" {
		return nil, failure.Usage("want a whole number", "--%s=%s is not a number", flag, value)
	}
	if n == 0 {
		return nil, nil
	}
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if flag == "timeout-hours" {
		return []string{"--active-deadline=" + text + "h"}, nil
	}
	return []string{"--" + flag + "=" + text}, nil
}
