package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/lab/release/commands"
)

const (
	krewFile   = "krew.yaml" // muster.yaml holds settings
	pluginName = "muster"
)

// plugin is what krew reads of the manifest of a plugin.
type plugin struct {
	Metadata struct{ Name string }
	Spec     struct {
		Version   string
		Platforms []platform
	}
}

// platform is one platform of a plugin: an archive, and the plugin's program in it.
type platform struct {
	URI, SHA256, Bin string
	Selector         struct{ MatchLabels struct{ OS, Arch string } }
}

// label names the platform as the archives do.
func (p platform) label() string {
	return p.Selector.MatchLabels.OS + "_" + p.Selector.MatchLabels.Arch
}

// plugin reads the manifest of the release.
func (b *bench) plugin() (p plugin, err error) {
	text, err := os.ReadFile(filepath.Join(b.dir, krewFile))
	if err != nil {
		return p, err
	}
	if err := yaml.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", krewFile, err)
	}
	if p.Metadata.Name != pluginName || p.Spec.Version != b.version {
		return p, fmt.Errorf("%s is of %s %s", krewFile, p.Metadata.Name, p.Spec.Version)
	}
	return p, nil
}

// krewManifest checks that the manifest has each archive of a client, with its checksum and its program.
func (b *bench) krewManifest(context.Context) (string, error) {
	p, err := b.plugin()
	if err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(b.dir, "muster-client_"+b.number()+"_*"))
	if err != nil {
		return "", err
	}
	var named, seen []string
	for _, one := range p.Spec.Platforms {
		file, err := b.platform(one)
		if err != nil {
			return "", fmt.Errorf("%s, %s: %w", krewFile, one.label(), err)
		}
		named, seen = append(named, file), append(seen, one.label())
	}
	slices.Sort(named)
	if !slices.Equal(named, archives) { // Glob sorts
		return "", fmt.Errorf("%s names %v, and the release has %v", krewFile, named, archives)
	}
	return strings.Join(seen, " "), nil
}

// platform checks one platform of the manifest, and returns the path of its archive.
func (b *bench) platform(p platform) (string, error) {
	name, bin := "muster-client_"+b.number()+"_"+p.label()+".tar.gz", "agent"
	if p.Selector.MatchLabels.OS == "windows" {
		name, bin = strings.TrimSuffix(name, ".tar.gz")+".zip", "agent.exe"
	}
	if want := repository + "/releases/download/" + b.version + "/" + name; p.URI != want {
		return "", fmt.Errorf("the address is %s, and not %s", p.URI, want)
	}
	file := filepath.Join(b.dir, name)
	sum, err := sumFile(file)
	if err != nil {
		return "", err
	}
	if p.SHA256 != sum {
		return "", fmt.Errorf("the checksum is %s, and that of %s is %s", p.SHA256, name, sum)
	}
	if p.Bin != bin {
		return "", fmt.Errorf("the program is %s, and not %s", p.Bin, bin)
	}
	dir := filepath.Join(b.tmp, "plugin-"+p.label())
	if err := unpack(file, dir); err != nil {
		return "", err
	}
	info, err := os.Stat(filepath.Join(dir, bin))
	if err != nil {
		return "", err
	}
	if info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s in %s is no program: its mode is %v", bin, name, info.Mode())
	}
	return file, nil
}

// krew has krew install the archive of each platform, as docs/operations/release.md says. kubectl runs the plugin
// of this machine, until krew has uninstalled it.
func (b *bench) krew(ctx context.Context) (string, error) {
	p, err := b.plugin()
	if err != nil {
		return "", err
	}
	var line string
	for _, one := range p.Spec.Platforms {
		said, err := b.krewOf(ctx, one)
		if err != nil {
			return "", fmt.Errorf("%s: %w", one.label(), err)
		}
		line = cmp.Or(said, line)
	}
	if line == "" {
		return "", fmt.Errorf("%s has no plugin for %s/%s", krewFile, runtime.GOOS, runtime.GOARCH)
	}
	return fmt.Sprintf("%d platforms; %s", len(p.Spec.Platforms), line), nil
}

// krewOf installs the plugin for one platform and uninstalls it. If it is for this machine, it returns what the
// plugin says about itself.
func (b *bench) krewOf(ctx context.Context, p platform) (said string, err error) {
	labels := p.Selector.MatchLabels
	k, err := commands.NewKrew(ctx, filepath.Join(b.tmp, "krew-"+p.label()), labels.OS, labels.Arch)
	if err != nil {
		return "", err
	}
	if err := k.Install(ctx, filepath.Join(b.dir, krewFile), filepath.Join(b.dir, path.Base(p.URI))); err != nil {
		return "", err
	}
	installed := filepath.Join(k.Bin(), "kubectl-"+pluginName+filepath.Ext(p.Bin))
	info, err := buildinfo.ReadFile(installed)
	if err != nil {
		return "", err
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" && s.Value != labels.OS || s.Key == "GOARCH" && s.Value != labels.Arch {
			return "", fmt.Errorf("krew installed a program with %s=%s", s.Key, s.Value)
		}
	}
	here := labels.OS == runtime.GOOS && labels.Arch == runtime.GOARCH
	if here {
		if said, err = k.Kubectl(ctx, pluginName, "version"); err != nil {
			return "", err
		}
		if !strings.HasPrefix(said, "kubectl muster "+b.version+" (commit "+b.commit[:12]) {
			return "", fmt.Errorf("kubectl muster version: %s", said)
		}
	}
	if err := k.Uninstall(ctx, pluginName); err != nil {
		return "", err
	}
	switch _, err := os.Lstat(installed); {
	case err == nil:
		return "", fmt.Errorf("krew left %s", installed)
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	if here {
		if text, err := k.Kubectl(ctx, pluginName, "version"); err == nil {
			return "", fmt.Errorf("kubectl muster version after krew uninstall: %s", text)
		}
	}
	return said, nil
}
