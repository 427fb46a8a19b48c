package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/kubeflow"
	"github.com/musterhq/muster/exec/names"
)

const convertHelp = `usage: agent convert -f FILE [FLAGS]

Prints a LaunchJob for each MPIJob (v1alpha1 to v2beta1), PyTorchJob, TFJob, XGBoostJob,
PaddleJob, MXJob, JAXJob, TrainJob and Volcano Job in FILE. Other objects are printed unchanged.
Fields that are not converted are reported on stderr. A job that could not start is not printed,
and the exit code is then 65.

  agent convert -f job.yaml | kubectl apply -f -
  kubectl get pytorchjob mnist -o yaml | agent convert -f -
  agent convert -f old/ --strict >new.yaml`

// convertFlags are the flags of the verb.
type convertFlags struct {
	files   []string
	strict  bool
	options kubeflow.Options
}

func newConvert(streams Streams) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert -f FILE [flags]",
		Short: "convert the jobs in a file to LaunchJobs",
		Long:  convertHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failure.Usage("agent convert -f "+strings.Join(args, " -f "), "%s: unexpected argument %q", cmd.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return f.convert(streams) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringArrayVarP(&f.files, "filename", "f", nil, "read `FILE`; - is stdin, a directory means its .yaml, .yml and .json files; repeatable")
	set.StringVar(&f.options.Compat, "compat", kubeflow.KubeflowV1, "environment, names and labels of pods of kubeflow.org jobs: `kubeflow-v1` (as that operator) or none (Muster's own)")
	set.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	set.StringVar(&f.options.Delivery, "delivery", names.DefaultDelivery, "how pods get the agent: `auto`, init, imageVolume, or baked (it is in their image)")
	set.StringVar(&f.options.AgentImage, "agent-image", "", "get the agent from `IMAGE` (default: the controller's)")
	return cmd
}

// check checks the command line.
func (f *convertFlags) check() error {
	wrong := func(way, format string, args ...any) error {
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf(format, args...), Way: way}
	}
	stdin := 0
	for _, file := range f.files {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case len(f.files) == 0:
		return wrong("agent convert -f job.yaml, or -f - for stdin", "-f is required")
	case stdin > 1:
		return wrong("", "stdin can be read only once")
	case f.options.AgentImage != "" && f.options.Delivery == "baked":
		return wrong("--delivery=init uses the agent of that image", "--agent-image cannot be used with --delivery=baked: the agent is in the job's own image")
	}
	if err := failure.OneOf("--compat", f.options.Compat, kubeflow.KubeflowV1, kubeflow.None); err != nil {
		return err
	}
	return failure.OneOf("--delivery", f.options.Delivery, "auto", "init", "imageVolume", "baked")
}

// fileDocument is a document and its file.
type fileDocument struct {
	kubeflow.Document
	file string
}

// convert reads all files first, because a TrainJob may name a runtime in another file.
func (f *convertFlags) convert(streams Streams) error {
	if err := f.check(); err != nil {
		return err
	}
	docs, err := f.read(streams.In)
	if err != nil {
		return &failure.Failure{Code: names.ExitData, Err: err}
	}
	var bare []kubeflow.Document
	for _, d := range docs {
		bare = append(bare, d.Document)
	}
	f.options.Runtimes = kubeflow.Runtimes(bare)
	p := printer{out: streams.Out, err: streams.Err, strict: f.strict, options: f.options}
	for _, d := range docs {
		if err := p.document(d); err != nil {
			return &failure.Failure{Code: 1, Err: fmt.Errorf("print: %w", err)}
		}
	}
	if p.failed > 0 {
		return &failure.Failure{Code: names.ExitData, Err: fmt.Errorf("%d of %d jobs not converted: see the errors above", p.failed, p.jobs)}
	}
	if p.jobs == 0 {
		return &failure.Failure{Code: names.ExitData, Err: fmt.Errorf("no job to convert in %d documents", len(docs)), Way: "agent convert --help lists the kinds"}
	}
	return nil
}

func (f *convertFlags) read(stdin io.Reader) (all []fileDocument, err error) {
	for _, name := range f.files {
		files := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if files, err = manifests(name); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			docs, err := readFile(file, stdin)
			if err != nil {
				return nil, err
			}
			for _, d := range docs {
				all = append(all, fileDocument{d, file})
			}
		}
	}
	return all, nil
}

// manifests lists the files of a directory that kubectl would read.
func manifests(dir string) (files []string, err error) {
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		files = append(files, found...)
	}
	if slices.Sort(files); len(files) == 0 {
		return nil, fmt.Errorf("%s has no .yaml, .yml or .json file", dir)
	}
	return files, nil
}

func readFile(file string, stdin io.Reader) ([]kubeflow.Document, error) {
	in, name := stdin, "stdin"
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in, name = opened, file
	}
	docs, err := kubeflow.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return docs, nil
}
