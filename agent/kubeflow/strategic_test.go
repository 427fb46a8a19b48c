package kubeflow

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// TestStrategic compares patched with Kubernetes' own strategic merge.
func TestStrategic(t *testing.T) {
	const have = `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{
		"schedulerName":"volcano","nodeSelector":{"disk":"ssd"},"dnsConfig":{"searches":["x"],"options":[{"name":"ndots","value":"5"}]},
		"imagePullSecrets":[{"name":"one"}],"tolerations":[{"key":"gpu","operator":"Exists"}],
		"hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]}],"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}],
		"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}]}},
		"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"pvc"}},{"name":"shm","emptyDir":{"medium":"Memory"}}],
		"initContainers":[{"name":"fetch","image":"git"}],
		"containers":[{"name":"node","image":"old","command":["a","b"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
			"envFrom":[{"configMapRef":{"name":"x"}}],"ports":[{"containerPort":80},{"containerPort":81,"protocol":"UDP"}],
			"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"volumeMounts":[{"name":"data","mountPath":"/data"}],
			"livenessProbe":{"httpGet":{"path":"/x","port":80}},"securityContext":{"capabilities":{"add":["A"]}}},{"name":"side","image":"s"}]}}`
	for name, patch := range map[string]string{ //nolint:gosec // G101: patches, not tokens
		"nothing":                `{}`,
		"labels":                 `{"metadata":{"labels":{"b":"3","c":"4"}}}`,
		"a field is removed":     `{"spec":{"schedulerName":null,"nodeSelector":{"disk":null,"gpu":"a100"}}}`,
		"containers":             `{"spec":{"containers":[{"name":"node","image":"new","command":["c"]},{"name":"more","image":"m"}]}}`,
		"env":                    `{"spec":{"containers":[{"name":"node","env":[{"name":"B","value":"9"},{"name":"C","value":"3"},{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"x"}}}]}]}}`,
		"envFrom, without a key": `{"spec":{"containers":[{"name":"node","envFrom":[{"secretRef":{"name":"y"}}]}]}}`,
		"ports by number":        `{"spec":{"containers":[{"name":"node","ports":[{"containerPort":80,"name":"http"},{"containerPort":90}]}]}}`,
		"mounts by path":         `{"spec":{"containers":[{"name":"node","volumeMounts":[{"name":"other","mountPath":"/data"},{"name":"data","mountPath":"/more"}]}]}}`,
		"resources":              `{"spec":{"containers":[{"name":"node","resources":{"limits":{"cpu":"2","nvidia.com/gpu":"8"},"requests":{"cpu":"1"}}}]}}`,
		"a field of a probe":     `{"spec":{"containers":[{"name":"node","livenessProbe":{"httpGet":{"path":"/y"},"periodSeconds":3}}]}}`,
		"a volume's source":      `{"spec":{"volumes":[{"name":"shm","emptyDir":{"sizeLimit":"8Gi"}},{"name":"new","hostPath":{"path":"/x"}}]}}`,
		"tolerations, replaced":  `{"spec":{"tolerations":[{"key":"other"}]}}`,
		"secrets":                `{"spec":{"imagePullSecrets":[{"name":"two"},{"name":"one"}]}}`,
		"aliases by address":     `{"spec":{"hostAliases":[{"ip":"10.0.0.1","hostnames":["b"]},{"ip":"10.0.0.2","hostnames":["c"]}]}}`,
		"spread by key":          `{"spec":{"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":2},{"topologyKey":"node","maxSkew":1}]}}`,
		"affinity, replaced":     `{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":{}}]}}}}`,
		"dns":                    `{"spec":{"dnsConfig":{"searches":["y"],"nameservers":["10.0.0.3"]}}}`,
		"capabilities":           `{"spec":{"containers":[{"name":"node","securityContext":{"capabilities":{"add":["B"],"drop":["ALL"]}}}]}}`,
		"new fields":             `{"spec":{"securityContext":{"runAsUser":1000},"hostNetwork":true,"initContainers":[{"name":"warm","image":"w"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			theirs, err := strategicpatch.StrategicMergePatch([]byte(have), []byte(patch), corev1.PodTemplateSpec{})
			require.NoError(t, err)
			var before, want corev1.PodTemplateSpec
			require.NoError(t, json.Unmarshal([]byte(have), &before))
			require.NoError(t, json.Unmarshal(theirs, &want))
			got, err := patched(before, []byte(patch))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	for want, patch := range map[string]string{
		"merge directives are not supported": `{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}`,
		"an entry has no name":               `{"spec":{"containers":[{"image":"x"}]}}`,
	} {
		_, err := patched(corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "side"}}}}, []byte(patch))
		require.ErrorContains(t, err, want)
	}
}
