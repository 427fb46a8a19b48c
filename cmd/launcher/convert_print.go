package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
)

// printer writes LaunchJobs to stdout, and findings about them to stderr.
type printer struct {
	out, err     io.Writer
	strict       bool
	options      kubeflow.Options
	jobs, failed int
	begun        bool
}

// document converts a document, or passes it through.
func (p *printer) document(d fileDocument) error {
	place := d.file
	if place == "-" {
		place = "stdin"
	}
	place += ": " + d.ID()
	switch {
	case d.Known() || d.Foreign():
		return p.job(place, d.Object)
	case p.usedAsRuntime(d):
		fmt.Fprintf(p.err, "agent: %s: used for the TrainJobs that refer to it, not printed\n", place)
		return nil
	}
	fmt.Fprintf(p.err, "agent: %s: printed unchanged\n", place)
	return p.print(d.Raw)
}

// usedAsRuntime reports whether it is one of Trainer's runtimes, which have no meaning without
// Trainer.
func (p *printer) usedAsRuntime(d fileDocument) bool {
	return len(kubeflow.Runtimes([]kubeflow.Document{d.Document})) > 0
}

func (p *printer) job(place string, object map[string]any) error {
	p.jobs++
	r := kubeflow.Convert(object, p.options)
	if !p.say(place, r) {
		p.failed++
		return nil
	}
	raw, err := kubeflow.YAML(r.Job)
	if err != nil {
		return err
	}
	return p.print(raw)
}

func (p *printer) print(raw []byte) error {
	if p.begun {
		fmt.Fprintln(p.out, "---")
	}
	p.begun = true
	_, err := p.out.Write(append(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("---"))), '\n'))
	return err
}

// say prints the findings, and combines notes with the same text. It reports whether the job may be
// printed.
func (p *printer) say(place string, r kubeflow.Result) bool {
	ok := r.Job != nil
	for i, f := range r.Findings {
		word, field := "warning: ", f.Field
		switch {
		case f.Note:
			if field = alike(r.Findings, i); field == "" {
				continue
			}
			word = "note: "
		case f.Fatal:
			word = ""
		case p.strict:
			word, ok = "", false
		}
		fmt.Fprintf(p.err, "agent: %s%s: %s: %s\n", word, place, field, f.Text)
		if f.Way != "" {
			fmt.Fprintf(p.err, "hint: %s\n", f.Way)
		}
	}
	return ok
}

// alike lists the fields of all notes with the text of the i-th, or returns "" if an earlier one
// has listed them.
func alike(all []kubeflow.Finding, i int) string {
	var fields []string
	for k, f := range all {
		if f.Note && f.Text == all[i].Text {
			if k < i {
				return ""
			}
			fields = append(fields, f.Field)
		}
	}
	return strings.Join(fields, ", ")
}
