package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/release/oci"
	"github.com/musterhq/muster/test/suite/figure"
)

// release is a release that is being made.
type release struct {
	version  string // commit that is released
	commit   string
	created  time.Time // time of the commit
	trial    bool      // there is no tag with this version
	registry string    // registry that the manifests name
	root     string    // root of the checkout
	built    string    // output directory of goreleaser
	dir      string    // all files of the release, and nothing else
	layout   string    // directory with images and chart
	notes    string    // file with the release notes
}

// number returns the version without the v.
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

// versionPattern admits what both semantic versioning and PEP 440 of Python can express.
var versionPattern = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)\.(0|[1-9]\d*))?$`)

func dist(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("dist", flag.ContinueOnError)
	version := fs.String("version", "", "make the release `VERSION`, such as v0.1.0")
	registry := fs.String("registry", "", "push images and chart to `REGISTRY`, such as ghcr.io/musterhq")
	key := fs.String("key", "", "sign with this cosign `KEY`: a file, or a URI of a key service")
	if err := fs.Parse(args); err != nil {
		return &codeError{exitUsage, err}
	}
	if !versionPattern.MatchString(*version) {
		return &codeError{exitUsage, fmt.Errorf("VERSION=%s: give a version such as v0.1.0", *version)}
	}
	r, err := begin(ctx, *version, *registry)
	if err != nil {
		return err
	}
	s, err := newSigner(*key, r.dir)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.wheel, r.manuals, r.goreleaser} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	images, err := r.pack(ctx)
	if err != nil {
		return err
	}
	if *key == "" {
		fmt.Println("nothing was signed, because KEY is not set")
	}
	if err := s.files(ctx); err != nil {
		return err
	}
	if *registry == "" {
		fmt.Println("nothing was pushed, because REGISTRY is not set")
		return nil
	}
	return r.publish(ctx, oci.ParseRegistry(*registry), s, images)
}

// begin collects the metadata of the release. If the version is a tag, the tag must be the commit that is
// checked out.
func begin(ctx context.Context, version, registry string) (release, error) {
	root, err := figure.Root()
	if err != nil {
		return release{}, err
	}
	out := filepath.Join(root, "out")
	r := release{version: version, root: root, registry: sourceRegistry, built: filepath.Join(out, "goreleaser"),
		dir: filepath.Join(out, "dist"), layout: filepath.Join(out, "oci"), notes: filepath.Join(out, "release-notes.md")}
	if registry != "" {
		r.registry = oci.ParseRegistry(registry).Path
	}
	head, err := output(ctx, root, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return r, err
	}
	commit, when, _ := strings.Cut(strings.TrimSpace(head), " ")
	r.commit = commit
	if r.created, err = time.Parse(time.RFC3339, when); err != nil {
		return r, fmt.Errorf("read the time of the commit: %w", err)
	}
	tagged, err := output(ctx, root, "git", "rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}")
	if r.trial = err != nil; r.trial {
		fmt.Printf("there is no tag %s: this is a trial release of %s\n", version, commit[:12])
		return r, nil
	}
	if strings.TrimSpace(tagged) != commit {
		return r, fmt.Errorf("the tag %s is commit %.12s, but %.12s is checked out", version, tagged, commit)
	}
	return r, nil
}

// goreleaser builds the binaries and their archives, with the manual pages in them.
func (r release) goreleaser(ctx context.Context) error {
	skip := "publish,announce"
	if r.trial {
		skip += ",validate"
	}
	// goreleaser requires a remote, which not every checkout has.
	remote := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.url", "GIT_CONFIG_VALUE_0=" + repository}
	return tool(ctx, r.root, remote, "GORELEASER", "release", "--config", "test/lab/release/goreleaser.yaml", "--clean", "--skip", skip)
}

// tool runs the program whose path is in a variable, with additional variables env.
func tool(ctx context.Context, dir string, env []string, variable string, args ...string) error {
	path := os.Getenv(variable)
	if path == "" {
		path = strings.ToLower(variable)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", strings.ToLower(variable), args[0], err)
	}
	return nil
}

// publish pushes images and chart, and signs them in the registry.
func (r release) publish(ctx context.Context, to oci.Registry, s signer, images []pushed) error {
	layout, err := oci.Open(r.layout, r.created, nil)
	if err != nil {
		return err
	}
	var all error
	for _, i := range images {
		if err := layout.Push(ctx, to, i.name, i.tag); err != nil {
			return err
		}
		fmt.Printf("pushed %s/%s:%s@%s\n", to.Path, i.name, i.tag, i.digest)
		all = errors.Join(all, s.image(ctx, to, i))
	}
	return all
}
