package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/musterhq/muster/test/fakekube"
)

// Bridge runs `agent attach` in a pod and returns its exit code.
type Bridge func(stdin io.Reader, stdout, stderr io.Writer) int

// Pod is the target of an exec.
type Pod struct {
	Name    string
	Kubelet string // address at which the API server dials this pod's kubelet
	Bridge  Bridge
	// NoWebSocket and NoSPDY disable a protocol in the API server for this pod's exec.
	NoWebSocket, NoSPDY bool

	mu      sync.Mutex
	answers [2][]Answer
}

// The servers that can refuse requests.
const (
	APIServer = iota
	Kubelet
)

// Answer is an error that replaces the real answer.
type Answer struct {
	Code  int
	Plain bool   // plain text, as from a server that does not support this upgrade
	Given func() // called before the answer is written
}

// Refuse makes one of the servers answer the next requests with these answers.
func (p *Pod) Refuse(server int, answers ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[server] = answers
}

func (p *Pod) refusal(server int) (Answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers[server]) == 0 {
		return Answer{}, false
	}
	a := p.answers[server][0]
	p.answers[server] = p.answers[server][1:]
	return a, true
}

// Cluster is an API server and a kubelet.
type Cluster struct {
	servers [2]*http.Server
	addrs   [2]string
	wg      sync.WaitGroup

	mu   sync.Mutex
	pods map[string]*Pod
}

// Start opens both servers on free loopback ports.
func Start() (*Cluster, error) {
	c := &Cluster{pods: map[string]*Pod{}}
	api, kubelet := http.NewServeMux(), http.NewServeMux()
	api.HandleFunc("/api/v1/namespaces/{ns}/pods/{name}/exec", c.exec)
	api.HandleFunc("GET /api/v1/namespaces/{ns}/pods", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.FormValue("fieldSelector"), "metadata.name=")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":%q,"uid":"u"}}]}`, name)
	})
	kubelet.HandleFunc("POST /exec/{name}", c.run)
	for i, mux := range []*http.ServeMux{api, kubelet} {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("start server: %w", err)
		}
		c.addrs[i] = ln.Addr().String()
		c.servers[i] = &http.Server{Handler: mux}
		c.wg.Go(func() { _ = c.servers[i].Serve(ln) }) // Serve returns when Close is called
	}
	return c, nil
}

// Addr returns the address of APIServer or Kubelet.
func (c *Cluster) Addr(server int) string { return c.addrs[server] }

// Add registers a pod.
func (c *Cluster) Add(p *Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[p.Name] = p
}

// Close closes the servers. Upgraded connections end when their peers end.
func (c *Cluster) Close() {
	for _, s := range c.servers {
		if s != nil {
			_ = s.Close()
		}
	}
	c.wg.Wait()
}

func (c *Cluster) pod(r *http.Request) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[r.PathValue("name")]
}

// exec serves pods/exec of the API server.
func (c *Cluster) exec(w http.ResponseWriter, r *http.Request) {
	p := c.pod(r)
	if p == nil {
		refuse(w, Answer{Code: http.StatusNotFound})
		return
	}
	refused := p.NoSPDY
	if wsstream.IsWebSocketRequest(r) {
		refused = p.NoWebSocket
	}
	if refused {
		refuse(w, Answer{Code: http.StatusBadRequest, Plain: true})
		return
	}
	if a, refused := p.refusal(APIServer); refused {
		refuse(w, a)
		return
	}
	at := &url.URL{Scheme: "http", Host: p.Kubelet, Path: "/exec/" + p.Name, RawQuery: r.URL.RawQuery}
	direct := utilproxy.NewUpgradeAwareHandler(at, nil, false, true, responder{})
	translated := proxy.NewStreamTranslatorHandler(at, nil, 0, proxy.Options{Stdin: true, Stdout: true, Stderr: true})
	proxy.NewTranslatingHandler(direct, translated, wsstream.IsWebSocketRequestWithStreamCloseProtocol).ServeHTTP(w, r)
}

type responder struct{}

// Error answers as an API server does: a request that lost its Upgrade header on the way gets a 400.
func (responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		fakekube.WriteStatus(w, int(known.Status().Code), known.Status().Message)
		return
	}
	refuse(w, Answer{Code: http.StatusInternalServerError})
}

// run serves exec of the kubelet.
func (c *Cluster) run(w http.ResponseWriter, r *http.Request) {
	p := c.pod(r)
	if p == nil {
		refuse(w, Answer{Code: http.StatusNotFound, Plain: true})
		return
	}
	if a, refused := p.refusal(Kubelet); refused {
		refuse(w, a)
		return
	}
	fakekube.ServeSPDY(w, r, func(in io.Reader, out, errs io.Writer) (int, error) {
		if p.Bridge == nil {
			return 0, errors.New("container is not running")
		}
		return p.Bridge(in, out, errs), nil
	})
}

func refuse(w http.ResponseWriter, a Answer) {
	if a.Given != nil {
		a.Given()
	}
	if a.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if a.Plain {
		http.Error(w, "this upgrade is not supported", a.Code)
		return
	}
	fakekube.WriteStatus(w, a.Code, "")
}
