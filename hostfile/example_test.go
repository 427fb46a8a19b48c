package hostfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/hostfile"
)

func ExampleOpenMPI() {
	hosts := []hostfile.Host{{Name: "10.0.0.7", Slots: 8}, {Name: "10.0.0.9", Slots: 4}}
	fmt.Printf("%s", hostfile.OpenMPI(hosts))
	// Output:
	// 10.0.0.7 slots=8
	// 10.0.0.9 slots=4
}

func ExampleHydra() {
	hosts := []hostfile.Host{{Name: "10.0.0.7", Slots: 8}, {Name: "fd00::1", Slots: 4}}
	fmt.Printf("%s", hostfile.Hydra(hosts))
	// Output:
	// 10.0.0.7:8
	// [fd00::1]:4
}

func ExampleMarked() {
	list := hostfile.Mark([]byte("10.0.0.7 slots=8\n"))
	fmt.Println("as written:", hostfile.Marked(list))
	fmt.Println("edited:", hostfile.Marked(append(list, "10.0.0.8 slots=1\n"...)))
	// Output:
	// as written: true
	// edited: false
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "hostfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "hosts")
	for _, list := range []string{"10.0.0.7:8\n10.0.0.9:4\n", "10.0.0.7:8\n"} {
		if err := hostfile.Write(path, []byte(list), 0o644); err != nil {
			fmt.Println(err)
			return
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", text)
	// Output: 10.0.0.7:8
}
