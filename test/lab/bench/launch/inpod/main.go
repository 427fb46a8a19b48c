// Command inpod runs in the launchers of test/lab/bench/launch.
//
//	inpod wait -workers N [-hosts]   watch until N workers are Ready; write /tmp/hostfile: by name, with
//	                                 their addresses in /etc/hosts, or by address
//	inpod exec -workers N            open an exec of `true` for each worker at once; print the seconds
//	inpod dns -after TIME            serve a DNS that knows no name, and answers with a delay
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selector is the label of the workers.
var selector = client.MatchingLabels{"muster.dev/role": "worker"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "inpod: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("missing argument: wait, exec or dns")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	workers := flags.Int("workers", 0, "wait for `N` workers")
	hosts := flags.Bool("hosts", false, "write host names, and their addresses to /etc/hosts")
	after := flags.Duration("after", 0, "wait for `TIME` before answering that a name outside the cluster is unknown")
	_ = flags.Parse(os.Args[2:]) // flag.ExitOnError: it does not return an error
	if os.Args[1] == "dns" {
		return serveDNS(*after)
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return err
	}
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 1000, 1000
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	api, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, Mapper: podsOnly(scheme)})
	if err != nil {
		return err
	}
	ready, err := await(ctx, api, string(namespace), *workers)
	if err != nil {
		return err
	}
	switch os.Args[1] {
	case "wait":
		return write(ready, *hosts)
	case "exec":
		return execAll(ctx, cfg, string(namespace), ready)
	}
	return fmt.Errorf("unknown verb: %s", os.Args[1])
}

// write writes the hostfile, and /etc/hosts.
func write(ready map[string]string, byName bool) error {
	var hostfile, hosts strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ready)) {
		address := ready[name]
		host := address
		if byName {
			host = name
		}
		fmt.Fprintf(&hostfile, "%s slots=1\n", host)
		fmt.Fprintf(&hosts, "%s\t%s\n", address, name)
	}
	if err := os.WriteFile("/tmp/hostfile", []byte(hostfile.String()), 0o644); err != nil { //nolint:gosec // G303: nobody else is in the pod
		return err
	}
	text := "127.0.0.1\tlocalhost\n"
	if byName {
		text += hosts.String()
	}
	return os.WriteFile("/etc/hosts", []byte(text), 0o644)
}

// podsOnly returns a mapper that knows only pods, which saves the discovery of all other kinds.
func podsOnly(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}

// await returns the addresses of n Ready workers by name.
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
	return nil, errors.New("watch: ended")
}

// serveDNS answers that no name exists. For names of the cluster it answers at once, and for all others after a delay,
// like a cluster's DNS that asks a slow server outside.
func serveDNS(after time.Duration) error {
	conn, err := net.ListenPacket("udp", ":53")
	if err != nil {
		return fmt.Errorf("serve DNS: %w", err)
	}
	defer conn.Close()
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		question := make([]byte, 512)
		n, from, err := conn.ReadFrom(question)
		if err != nil {
			return fmt.Errorf("serve DNS: %w", err)
		}
		answer, slow := unknown(question[:n])
		if answer == nil {
			continue
		}
		answers.Go(func() {
			if slow {
				time.Sleep(after)
			}
			_, _ = conn.WriteTo(answer, from) // the client retries
		})
	}
}

// unknown turns a question (RFC 1035, 4.1) into an answer: no such name. It also reports whether
// the name is outside the cluster.
func unknown(question []byte) (answer []byte, outside bool) {
	const header, response, noSuchName = 12, 0x80, 3
	if len(question) < header {
		return nil, false
	}
	end := bytes.IndexByte(question[header:], 0) // end of the name: labels, then the root
	if end < 0 || len(question) < header+end+5 {
		return nil, false
	}
	name := question[header : header+end+1]
	answer = append([]byte{}, question[:header+end+5]...)
	answer[2] |= response
	answer[3] = noSuchName
	copy(answer[6:header], make([]byte, 6)) // no records
	return answer, !bytes.HasSuffix(name, []byte("\x07cluster\x05local\x00"))
}

// execAll runs `true` in all workers at once, and prints the seconds
// until the last one ended.
func execAll(ctx context.Context, cfg *rest.Config, namespace string, workers map[string]string) error {
	began := time.Now()
	errs := make(chan error, len(workers))
	var all sync.WaitGroup
	for pod := range workers {
		all.Go(func() { errs <- execTrue(ctx, cfg, namespace, pod) })
	}
	all.Wait()
	took := time.Since(began)
	close(errs)
	var err error
	for one := range errs {
		err = errors.Join(err, one)
	}
	if err == nil {
		fmt.Println(took.Seconds())
	}
	return err
}

func execTrue(ctx context.Context, cfg *rest.Config, namespace, pod string) error {
	query := url.Values{"command": {"true"}, "container": {"worker"}, "stdout": {"true"}, "stderr": {"true"}}
	address := fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/exec?%s", strings.TrimSuffix(cfg.Host, "/"), namespace, pod, query.Encode())
	executor, err := remotecommand.NewWebSocketExecutor(cfg, "GET", address)
	if err != nil {
		return err
	}
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		return fmt.Errorf("exec into %s: %w", pod, err)
	}
	return nil
}
