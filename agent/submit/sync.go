package submit

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/failure"
)

const (
	// syncDir is where Arena puts the code: WORKING-DIR/code/REPOSITORY.
	syncDir = "code"
	// arenaDir is the default working directory if code is synced.
	arenaDir    = "/root"
	syncVolume  = "code-sync"
	syncRoot    = "/code"
	gitSyncName = "git-sync"
	// gitSyncImage is the default of --sync-image.
	gitSyncImage = "registry.k8s.io/git-sync/git-sync:v4.4.0"
)

// cloneScript is for images that have git but do not know git-sync's variables. The user's values
// stay in variables: the shell parses none of them, and no argument contains a password.
const cloneScript = `set -eu
case $GIT_SYNC_DEST in
''|.|/*|..|../*|*/..|*/../*) echo "GIT_SYNC_DEST=$GIT_SYNC_DEST is not a directory below $GIT_SYNC_ROOT" >&2; exit 1;;
esac
at=$GIT_SYNC_ROOT/$GIT_SYNC_DEST
rm -rf "$at"
if [ -n "${GIT_SYNC_PASSWORD:-}" ]; then
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper
  export GIT_CONFIG_VALUE_0='!f() { echo "username=$GIT_SYNC_USERNAME"; echo "password=$GIT_SYNC_PASSWORD"; }; f'
fi
git clone --recurse-submodules --depth "$GIT_SYNC_DEPTH" ${GIT_SYNC_BRANCH:+--branch="$GIT_SYNC_BRANCH"} -- "$GIT_SYNC_REPO" "$at"
if [ -n "${GIT_SYNC_REV:-}" ]; then
  git -C "$at" fetch --depth "$GIT_SYNC_DEPTH" origin "$GIT_SYNC_REV"
  git -C "$at" checkout --quiet FETCH_HEAD
fi
git -C "$at" log -1 --format='at %H %s'
`

var (
	// shortURL matches git@example.com:team/repo.git.
	shortURL = regexp.MustCompile(`^[\w.-]+@[\w.-]+:[^/].*`)
	secretly = regexp.MustCompile(`(?i)^(GIT_?SYNC_(PASSWORD|TOKEN).*)$`)
)

// validateSync checks the flags for code from a repository.
func (r Request) validateSync() error {
	wrong := failure.Usage
	given := r.SyncSource != "" || r.SyncBranch != "" || r.SyncImage != "" || r.SyncSecret != ""
	switch {
	case r.Sync == "" && !given:
		return nil
	case r.Sync == "" && r.SyncSource == "":
		return wrong("--sync-mode=git --sync-source=https://example.com/team/train.git", "--sync-source is required")
	case r.Sync == "rsync" || r.Sync == "hdfs":
		return wrong("--sync-mode=git, or a volume that holds the code: --data=PVC:PATH", "--sync-mode=%s works in Arena, but not in Muster", r.Sync)
	case r.Sync != "" && r.Sync != "git":
		return failure.OneOf("--sync-mode", r.Sync, "git")
	case r.SyncSource == "":
		return wrong("--sync-source=https://example.com/team/train.git", "--sync-mode=git requires --sync-source")
	}
	if err := validSource(r.SyncSource); err != nil {
		return err
	}
	if r.SyncSecret != "" && !strings.HasPrefix(r.SyncSource, "http") {
		return wrong("--sync-source=https://...", "--sync-secret requires an http or https --sync-source")
	}
	for _, word := range r.Env {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case slices.Contains([]string{"GIT_SYNC_DEST", "GITSYNC_LINK"}, name) && !isBelow(value):
			return wrong("--env "+name+"=train", "--env %s: want a directory below %s", word, syncDir)
		case slices.Contains([]string{"GIT_SYNC_ROOT", "GITSYNC_ROOT"}, name) && path.Clean(value) != syncRoot:
			return wrong("omit it", "--env %s: want %s, the only directory that the pods get", word, syncRoot)
		case secretly.MatchString(name):
			return wrong("--sync-secret=NAME takes a Secret of the type kubernetes.io/basic-auth", "--env %s=... would store a password in the job, where everyone can read it", name)
		}
	}
	return nil
}

func validSource(source string) error {
	way := "--sync-source=https://example.com/team/train.git"
	if repository(source) == "" {
		return failure.Usage(way, "--sync-source: no repository name at the end of the URL")
	}
	if shortURL.MatchString(source) {
		return nil
	}
	u, err := url.Parse(source)
	if err != nil || u.Host == "" && u.Scheme != "file" || !slices.Contains([]string{"http", "https", "git", "ssh", "file"}, u.Scheme) {
		return failure.Usage(way, "--sync-source is not the URL of a git repository") // it may contain a password, so the message does not repeat it
	}
	if _, secret := u.User.Password(); secret || u.User != nil && (u.Scheme == "http" || u.Scheme == "https") {
		u.User = nil
		return failure.Usage("kubectl create secret generic NAME --type=kubernetes.io/basic-auth --from-literal=username=... --from-literal=password=..., then --sync-secret=NAME --sync-source="+u.String(),
			"--sync-source contains a user name or password, which everyone who can read the job would see")
	}
	return nil
}

// repository returns the last word of a URL, which is the directory that git would create. It
// returns "" if that is not a valid name.
func repository(source string) string {
	name := path.Base(strings.TrimRight(source, "/"))
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		name = name[at+1:]
	}
	name = strings.TrimSuffix(name, ".git")
	if !isBelow(name) {
		return ""
	}
	return name
}

// isBelow reports whether a name is a directory below another, and nowhere else.
func isBelow(name string) bool {
	clean := path.Clean(name)
	return !path.IsAbs(name) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.ContainsFunc(name, unicode.IsControl)
}

// addSync fetches the code before the command starts, in each pod separately.
func (r Request) addSync(p *parts) error {
	if r.SyncSource == "" {
		return nil
	}
	p.workingDir = cmp.Or(p.workingDir, arenaDir)
	mount := corev1.VolumeMount{Name: syncVolume, MountPath: path.Join(p.workingDir, syncDir)}
	if slices.ContainsFunc(p.mounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == mount.MountPath }) {
		return failure.Usage("choose another --working-dir, or another path for the claim", "--data: %s is the directory for the code", mount.MountPath)
	}
	// Later entries count, including those of --env, which Arena's users set.
	settings := []corev1.EnvVar{
		{Name: "GIT_SYNC_REPO", Value: r.SyncSource},
		{Name: "GIT_SYNC_ROOT", Value: syncRoot},
		{Name: "GIT_SYNC_DEST", Value: repository(r.SyncSource)},
		{Name: "GIT_SYNC_ONE_TIME", Value: "true"},
		{Name: "GIT_SYNC_DEPTH", Value: "1"},
		{Name: "GIT_TERMINAL_PROMPT", Value: "0"},
		{Name: "HOME", Value: "/tmp"},
	}
	if r.SyncBranch != "" {
		settings = append(settings, corev1.EnvVar{Name: "GIT_SYNC_BRANCH", Value: r.SyncBranch})
	}
	if r.SyncSecret != "" {
		settings = append(settings, fromSecret("GIT_SYNC_USERNAME", r.SyncSecret, corev1.BasicAuthUsernameKey),
			fromSecret("GIT_SYNC_PASSWORD", r.SyncSecret, corev1.BasicAuthPasswordKey))
	}
	p.env = slices.DeleteFunc(slices.Clone(p.env), func(v corev1.EnvVar) bool {
		own := strings.HasPrefix(v.Name, "GIT_SYNC_") || strings.HasPrefix(v.Name, "GITSYNC_")
		if own && !(v.Name == "GIT_SYNC_BRANCH" && r.SyncBranch != "") {
			settings = slices.DeleteFunc(settings, func(s corev1.EnvVar) bool { return s.Name == v.Name })
			settings = append(settings, v)
		}
		return own
	})
	image := cmp.Or(r.SyncImage, gitSyncImage)
	p.sync = &corev1.Container{
		Name: syncVolume, Image: image, ImagePullPolicy: corev1.PullPolicy(r.ImagePullPolicy), Env: settings,
		VolumeMounts: []corev1.VolumeMount{{Name: syncVolume, MountPath: syncRoot}},
	}
	if !isGitSync(image) {
		p.sync.Command = []string{"sh", "-c", cloneScript}
	}
	p.volumes = append(p.volumes, corev1.Volume{Name: syncVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	p.mounts = append(p.mounts, mount)
	return nil
}

// isGitSync reports whether the image's own program reads git-sync's variables.
func isGitSync(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	name := path.Base(image)
	name, _, _ = strings.Cut(name, ":")
	return strings.HasPrefix(name, gitSyncName)
}

func fromSecret(name, secret, key string) corev1.EnvVar {
	ref := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: ref}}
}
