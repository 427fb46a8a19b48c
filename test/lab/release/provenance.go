package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// See https://slsa.dev/spec/v1.0/provenance and https://github.com/in-toto/attestation.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/musterhq/muster/blob/main/docs/operations/release.md#how-a-release-is-built"
	repository     = "https://github.com/musterhq/muster"
)

// subject is a file or image with its digest.
type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// provenance says how a release was built.
type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder  map[string]string `json:"builder"`
		Metadata map[string]string `json:"metadata,omitempty"`
	} `json:"runDetails"`
}

// origin describes the source and the builder of a release.
type origin struct {
	version, commit string
	registry        string
	goVersion       string
	builder         string // a URI
	run             string // a URI of this run, if any
}

// prove returns the in-toto statement about files, by the lines of their checksums, and images, by their
// digests.
func prove(o origin, checksums string, images []subject) ([]byte, error) {
	s := statement{Type: statementType, PredicateType: provenanceType, Subject: slices.Clone(images)}
	for _, line := range strings.Split(strings.TrimSpace(checksums), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok {
			return nil, fmt.Errorf("read the checksums: %q", line)
		}
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	build := &s.Predicate.BuildDefinition
	build.BuildType = buildType
	build.ExternalParameters = map[string]string{"version": o.version, "repository": repository, "registry": o.registry}
	build.InternalParameters = map[string]string{"go": o.goVersion}
	build.ResolvedDependencies = []subject{{URI: "git+" + repository + "@refs/tags/" + o.version, Digest: map[string]string{"gitCommit": o.commit}}}
	s.Predicate.RunDetails.Builder = map[string]string{"id": o.builder}
	if o.run != "" {
		s.Predicate.RunDetails.Metadata = map[string]string{"invocationId": o.run}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the provenance: %w", err)
	}
	return append(text, '\n'), nil
}
