package hostfile

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// dialects lists the two dialects in a fixed order.
var dialects = []struct {
	name   string
	render func([]Host) []byte
}{{"openmpi", OpenMPI}, {"hydra", Hydra}}

// thousand returns the hosts of a large job, by address.
func thousand() (hosts []Host) {
	for i := range 1000 {
		hosts = append(hosts, Host{Name: fmt.Sprintf("10.244.%d.%d", i/250, i%250+2), Slots: 8})
	}
	return hosts
}

func BenchmarkRender(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.name, func(b *testing.B) {
			hosts := thousand()
			b.ReportAllocs()
			for b.Loop() {
				d.render(hosts)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.name, func(b *testing.B) {
			text := d.render(thousand())
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				hosts, err := Parse(bytes.NewReader(text))
				require.NoError(b, err)
				require.Len(b, hosts, 1000)
			}
		})
	}
}
