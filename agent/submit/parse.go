package submit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/musterhq/muster/agent/failure"
)

// pair reads K=V from a flag.
func pair(flag, word, example string) (key, value string, err error) {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" {
		return "", "", failure.Usage("--"+flag+"="+example, "--%s=%s is not NAME=VALUE", flag, word)
	}
	return key, value, nil
}

// pairs reads all words of a flag. The last one of a name counts.
func pairs(flag string, words []string, example string) (map[string]string, error) {
	var m map[string]string
	for _, word := range words {
		key, value, err := pair(flag, word, example)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
	}
	return m, nil
}

// env reads --env in its order. The last one of a name counts.
func env(words []string) ([]corev1.EnvVar, error) {
	var vars []corev1.EnvVar
	for _, word := range words {
		name, value, err := pair("env", word, "NCCL_DEBUG=INFO")
		if err != nil {
			return nil, err
		}
		vars = slices.DeleteFunc(vars, func(v corev1.EnvVar) bool { return v.Name == name })
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	return vars, nil
}

// data reads --data PVC:PATH; "" is none. A claim that is mounted twice is one volume.
func data(words []string) (volumes []corev1.Volume, mounts []corev1.VolumeMount, err error) {
	for _, word := range words {
		if word == "" {
			continue
		}
		claim, dir, ok := strings.Cut(word, ":")
		switch {
		case !ok || !path.IsAbs(dir):
			return nil, nil, failure.Usage("--data=imagenet:/data mounts the claim imagenet at /data", "--data=%s is not PVC:PATH", word)
		case len(validation.IsDNS1123Subdomain(claim)) > 0:
			return nil, nil, failure.Usage("kubectl get pvc lists the names", "--data=%s: %q is not a valid PersistentVolumeClaim name", word, claim)
		case slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == path.Clean(dir) }):
			return nil, nil, failure.Usage("give each its own path", "--data: two claims are mounted at %s", dir)
		}
		at := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim.ClaimName == claim })
		if at < 0 {
			at = len(volumes)
			volumes = append(volumes, corev1.Volume{Name: fmt.Sprintf("data-%d", at), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}})
		}
		mounts = append(mounts, corev1.VolumeMount{Name: volumes[at].Name, MountPath: dir})
	}
	return volumes, mounts, nil
}

// tolerations reads Arena's words: all, KEY or KEY=VALUE, each optionally followed by :EFFECT and
// then by ,Equal or ,Exists.
func tolerations(words []string) ([]corev1.Toleration, error) {
	var list []corev1.Toleration
	for _, word := range words {
		if word == "all" {
			list = append(list, corev1.Toleration{Operator: corev1.TolerationOpExists})
			continue
		}
		taint, operator, _ := strings.Cut(word, ",")
		taint, effect, _ := strings.Cut(taint, ":")
		key, value, valued := strings.Cut(taint, "=")
		t := corev1.Toleration{Key: key, Value: value, Effect: corev1.TaintEffect(effect), Operator: corev1.TolerationOpExists}
		if valued {
			t.Operator = corev1.TolerationOpEqual
		}
		if operator != "" {
			t.Operator = corev1.TolerationOperator(operator)
		}
		if t.Operator == corev1.TolerationOpExists {
			t.Value = ""
		}
		effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		operators := []corev1.TolerationOperator{corev1.TolerationOpExists, corev1.TolerationOpEqual}
		if key == "" || !slices.Contains(effects, t.Effect) || !slices.Contains(operators, t.Operator) {
			return nil, failure.Usage("want all, KEY, KEY:NoSchedule, KEY=VALUE or KEY=VALUE:NoExecute", "--toleration=%s is not a toleration", word)
		}
		list = append(list, t)
	}
	return list, nil
}

func isAmount(text string) bool {
	q, err := resource.ParseQuantity(text)
	return err == nil && q.Sign() >= 0
}
