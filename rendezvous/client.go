package rendezvous

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Client returns a client for pods and their events, and for nothing else. The typed clientset
// would register every kind of Kubernetes: 22 MB of binary and 1.6 ms at each start. The client
// does not limit its requests, because a launcher makes few, and a GET per worker in names mode.
// cfg is not changed.
func Client(cfg *rest.Config) (rest.Interface, error) {
	c := rest.CopyConfig(cfg)
	gv := corev1.SchemeGroupVersion
	c.GroupVersion = &gv
	c.APIPath = "/api"
	c.ContentType = runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(podScheme()).WithoutConversion()
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	c.WarningHandler = rest.NoWarnings{} // warnings would be printed across the progress line
	if c.QPS == 0 && c.RateLimiter == nil {
		c.QPS = -1
	}
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}

func podScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{}, &corev1.Event{}, &corev1.EventList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return s
}
