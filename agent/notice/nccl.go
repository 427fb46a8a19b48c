package notice

import (
	"bytes"
	"strings"
	"sync"
)

// Network is the network of a process, as NCCL or RCCL printed it with NCCL_DEBUG=INFO. Any program
// may print the same text.
type Network struct {
	Host    string // as NCCL calls it: the host name up to the first dot
	Name    string // "NET/Socket", "NET/IB", "NET/OFI tcp"
	Sockets bool   // it is TCP, not RDMA
	Because string // what NCCL printed about RDMA before; "" if nothing
}

// ncclMark begins NCCL's own text in a line: "host:pid:tid [device] NCCL INFO text".
const ncclMark = " NCCL INFO "

// hostsMost is how many hosts of one stream are remembered.
const hostsMost = 4096

// NetworkReader finds NCCL's lines about the network in the output of a process, or of a command that
// mixes the output of several. It implements io.Writer and accepts every byte. A write without such a
// line costs one search for ncclMark.
type NetworkReader struct {
	tell func(Network)
	one  bool // the stream is that of one process: its first network is the answer

	mu   sync.Mutex
	line []byte            // the incomplete line
	told map[string]bool   // by host and network
	said map[string]string // by host: what NCCL printed about RDMA
	done bool
}

// NewNetworkReader returns a reader that calls tell for each host and network. one says that the
// stream is that of a single process. tell must not block.
func NewNetworkReader(one bool, tell func(Network)) *NetworkReader {
	return &NetworkReader{tell: tell, one: one, told: map[string]bool{}, said: map[string]string{}}
}

// Write implements io.Writer. It never fails.
func (r *NetworkReader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(p)
	if r.done {
		return size, nil
	}
	if len(r.line) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			r.keep(p)
			return size, nil
		}
		r.keep(p[:i])
		r.take(r.line)
		r.line, p = r.line[:0], p[i+1:]
	}
	last := bytes.LastIndexByte(p, '\n') + 1
	if bytes.Contains(p[:last], []byte(ncclMark)) {
		for line := range bytes.Lines(p[:last]) {
			r.take(line)
		}
	}
	r.keep(p[last:])
	return size, nil
}

// Close implements io.Closer. It reads a line whose newline is missing.
func (r *NetworkReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(r.line)
	r.line = nil
	return nil
}

// keep adds p to the incomplete line, up to the limit.
func (r *NetworkReader) keep(p []byte) {
	r.line = append(r.line, p[:min(len(p), lineMost-len(r.line))]...)
}

// take reads one line.
func (r *NetworkReader) take(line []byte) {
	i := bytes.Index(line, []byte(ncclMark))
	if i < 0 || r.done || len(r.told) >= hostsMost {
		return
	}
	host, ok := ncclHost(string(line[:i]))
	if !ok {
		return
	}
	text := plain(line[i+len(ncclMark):])
	if strings.HasPrefix(text, "NET/IB : ") || strings.HasPrefix(text, "Failed to initialize NET plugin ") {
		r.said[host] = text
	}
	n, ok := networkOf(text)
	if !ok {
		return
	}
	n.Host, n.Because = host, r.said[host]
	if key := host + " " + n.Name; !r.told[key] {
		r.told[key] = true
		r.done = r.one
		r.tell(n)
	}
}

// networkOf reads NCCL's sentence about the network that it uses. A plugin for libfabric is not yet an
// answer: the provider, which the plugin itself prints, may be TCP.
func networkOf(text string) (n Network, ok bool) {
	if name, found := strings.CutPrefix(text, "Using network "); found && !strings.HasSuffix(name, "Libfabric") && name != "" {
		return Network{Name: "NET/" + name, Sockets: name == "Socket"}, true
	}
	rest, found := strings.CutPrefix(text, "NET/OFI Selected ")
	if !found {
		return n, false
	}
	rest, found = strings.CutPrefix(rest[min(len(rest), 1):], "rovider is ") // both spellings exist
	name, _, _ := strings.Cut(rest, " ")
	name = strings.TrimSuffix(name, ",")
	return Network{Name: "NET/OFI " + name, Sockets: strings.HasPrefix(name, "tcp") || strings.HasPrefix(name, "sockets")}, found && name != ""
}

// ncclHost reads the host from the beginning of a line, "host:pid:tid [device]". A tag of mpirun or a
// time may come before it.
func ncclHost(begin string) (host string, ok bool) {
	words := strings.Fields(begin)
	if len(words) < 2 {
		return "", false
	}
	parts := strings.Split(words[len(words)-2], ":")
	if len(parts) < 3 {
		return "", false
	}
	host = parts[len(parts)-3]
	return host[strings.LastIndexAny(host, ">]")+1:], host != ""
}
