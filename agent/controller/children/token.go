package children

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// key is the key of the token in its Secret.
const key = "token"

// Secret returns the Secret that the pods of a job share: the keys of a launcher and its workers, or
// the token of members. Without a name the API server chooses a free one. The controller may not
// read Secrets, so only a successful create proves that a Secret is its own.
func Secret(job *v1alpha1.LaunchJob, name string) *corev1.Secret {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: Meta(job, name),
		StringData: map[string]string{key: rand.Text() + rand.Text()},
	}
	kind := "-token-"
	if ByNetwork(job) {
		// Kubelets do not watch an immutable Secret, and a job may have thousands of workers.
		kind, secret.StringData, secret.Immutable = "-keys-", pair(), new(true)
	}
	if name == "" {
		secret.GenerateName = job.Name + kind
	}
	return secret
}

// TokenEnv returns the variable that gives a member the token of a Secret.
func TokenEnv(secret string) corev1.EnvVar {
	of := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
	return corev1.EnvVar{Name: names.EnvToken, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: of}}
}

// TokenOf returns the Secret of a member's token, or "".
func TokenOf(own *corev1.Container) string {
	for _, v := range own.Env {
		if v.Name == names.EnvToken && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			return v.ValueFrom.SecretKeyRef.Name
		}
	}
	return ""
}
