package rendezvous

import "fmt"

// MaxStatic is how many addresses of 127.0.0.0/16 Static can use.
const MaxStatic = 65_000

// Static returns the n workers of --fake, without cluster and pods. Their names are the loopback
// addresses 127.0.0.2, 127.0.0.3, ..., which every mpirun treats as remote hosts.
func Static(n int) ([]Worker, error) {
	if n < 1 || n > MaxStatic {
		return nil, fmt.Errorf("cannot make %d fake workers: want 1 to %d", n, MaxStatic)
	}
	workers := make([]Worker, n)
	for i := range workers {
		host := i + 2
		address := fmt.Sprintf("127.0.%d.%d", host/256, host%256)
		workers[i] = Worker{
			Name: address, IP: address, Hostname: address, UID: fmt.Sprintf("fake-%d", i),
			Index: i, Labelled: true, Running: true,
		}
	}
	return workers, nil
}
