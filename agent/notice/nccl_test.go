package notice

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines of NCCL 2.4 to 2.30 and of aws-ofi-nccl, as users have published them.
const (
	fellBack = `w-3:1482:1482 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>
w-3:1482:1482 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so
w-3:1482:1482 [0] NCCL INFO NET/IB : No device found.
w-3:1482:1482 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.3<0>
w-3:1482:1482 [0] NCCL INFO Using network Socket
w-3:1482:1482 [0] NCCL INFO Using network Socket
`
	infiniband = `w-1:7:19 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>
w-1:7:19 [0] NCCL INFO Using network IB
`
	efa = `w-2:172:172 [0] NCCL INFO Using network Libfabric
w-2:172:172 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 3 nics)
`
	ofiTCP = `w-2:21:21 [0] NCCL INFO NET/OFI Selected Provider is tcp (found 1 nics)
w-2:21:21 [0] NCCL INFO Using network AWS Libfabric
`
)

func networks(t *testing.T, one bool, text string, piece int) (all []Network) {
	t.Helper()
	r := NewNetworkReader(one, func(n Network) { all = append(all, n) })
	for len(text) > 0 {
		n := min(piece, len(text))
		written, err := r.Write([]byte(text[:n]))
		require.NoError(t, err)
		require.Equal(t, n, written)
		text = text[n:]
	}
	require.NoError(t, r.Close())
	return all
}

func TestNetworks(t *testing.T) {
	socket := Network{Host: "w-3", Name: "NET/Socket", Sockets: true, Because: "NET/IB : No device found."}
	ib := Network{Host: "w-1", Name: "NET/IB", Because: "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"}
	for name, tc := range map[string]struct {
		text string
		want []Network
	}{
		"sockets":             {fellBack, []Network{socket}},
		"no newline":          {strings.TrimSpace(fellBack), []Network{socket}},
		"InfiniBand":          {infiniband, []Network{ib}},
		"EFA":                 {efa, []Network{{Host: "w-2", Name: "NET/OFI efa"}}},
		"libfabric over TCP":  {ofiTCP, []Network{{Host: "w-2", Name: "NET/OFI tcp", Sockets: true}}},
		"tags of Open MPI":    {"[1,0]<stdout>:w-2:21:21 [0] NCCL INFO Using network Socket\n", []Network{{Host: "w-2", Name: "NET/Socket", Sockets: true}}},
		"tags of MPICH":       {"[3] w-2:21:21 [0] NCCL INFO Using network Socket\n", []Network{{Host: "w-2", Name: "NET/Socket", Sockets: true}}},
		"a time":              {"[2026-11-01 12:00:00] w-2:21:21 [0] NCCL INFO Using network Socket\n", []Network{{Host: "w-2", Name: "NET/Socket", Sockets: true}}},
		"another plugin":      {"w-2:1:1 [0] NCCL INFO Using network SPCX\n", []Network{{Host: "w-2", Name: "NET/SPCX"}}},
		"a failed plugin":     {"w-2:1:1 [0] NCCL INFO Failed to initialize NET plugin IB\nw-2:1:1 [0] NCCL INFO Using network Socket\n", []Network{{Host: "w-2", Name: "NET/Socket", Sockets: true, Because: "Failed to initialize NET plugin IB"}}},
		"a program's own":     {"Using network Socket\nNCCL INFO Using network Socket\nx NCCL INFO Using network Socket\n", nil},
		"a long line":         {strings.Repeat("x", 2000) + "w-2:1:1 [0] NCCL INFO Using network Socket\n", nil},
		"after a long line":   {strings.Repeat("x", 2000) + "\n" + infiniband, []Network{ib}},
		"nothing":             {"", nil},
		"only the mark":       {ncclMark + "\n" + ncclMark, nil},
		"an empty provider":   {"w:1:1 [0] NCCL INFO NET/OFI Selected \nw:1:1 [0] NCCL INFO NET/OFI Selected Provider is \n", nil},
		"other lines of NCCL": {"w-1:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n", nil},
	} {
		for _, piece := range []int{1, 7, 64, 1 << 16} {
			if name == "a long line" && piece > 1000 {
				continue // a line that comes at once is read completely
			}
			require.Equal(t, tc.want, networks(t, true, tc.text, piece), "%s, by %d", name, piece)
		}
	}
	require.Equal(t, []Network{socket, ib}, networks(t, false, fellBack+infiniband+fellBack, 50), "several processes in one stream")
	require.Equal(t, []Network{socket}, networks(t, true, fellBack+infiniband, 50), "one process")
}

func FuzzNetworkReader(f *testing.F) {
	f.Add(fellBack+ofiTCP, 3)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		if piece < 1 || piece > 1<<16 {
			return
		}
		for _, n := range networks(t, false, text, piece) {
			require.NotContains(t, n.Host+n.Name+n.Because, "\n")
		}
	})
}

// BenchmarkNetworkReader reads output without NCCL's lines, as programs print it.
func BenchmarkNetworkReader(b *testing.B) {
	var text bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&text, "step %d loss 0.%d time 0.31 s tokens/s 10240\n", i, i)
	}
	r := NewNetworkReader(true, func(Network) { b.Fatal("no line of NCCL") })
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = r.Write(text.Bytes())
	}
}
