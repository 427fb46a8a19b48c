package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podsOnly spares the discovery of everything else that the API server has.
func podsOnly(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}

// await gives the addresses of n Ready workers by name.
func await(ctx context.Context, api client.WithWatch, namespace string, n int) (map[string]string, error) {
	ready := map[string]string{}
	take := func(pod *corev1.Pod, gone bool) {
		delete(ready, pod.Name)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !gone && pod.DeletionTimestamp == nil {
				ready[pod.Name] = pod.Status.PodIP
			}
		}
	}
	var list corev1.PodList
	if err := api.List(ctx, &list, client.InNamespace(namespace), selector); err != nil {
		return nil, err
	}
	for i := range list.Items {
		take(&list.Items[i], false)
	}
	if len(ready) == n {
		return ready, nil
	}
	news, err := api.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace), selector,
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return nil, err
	}
	defer news.Stop()
	for event := range news.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("watch: %v", event.Object)
		}
		if take(pod, event.Type == watch.Deleted); len(ready) == n {
			return ready, nil
		}
	}
	return nil, errors.New("watch: it has ended")
}
