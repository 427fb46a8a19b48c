package check

import "fmt"

func program(_ Job, w Worker) (Verdict, string) {
	switch f := w.Facts; {
	case f.ProgramError != "":
		return Fail, f.ProgramError
	case f.Program != "":
		return OK, f.Program
	}
	return "", ""
}

func interpreter(_ Job, w Worker) (Verdict, string) {
	switch f := w.Facts; {
	case f.InterpreterError != "":
		return Fail, fmt.Sprintf("%s is a script, and its interpreter is missing: %s", f.Program, f.InterpreterError)
	case f.Interpreter != "":
		return OK, f.Interpreter
	}
	return "", ""
}

// accelerators are the kinds of devices that count as GPUs.
var accelerators = []string{"nvidia", "amd", "neuron", "gaudi", "tpu", "ascend"}

func devices(_ Job, w Worker) (Verdict, string) {
	if w.GPUs == 0 || w.Fake {
		return "", ""
	}
	if w.Facts.Devices == nil {
		return Unknown, "/dev cannot be read"
	}
	n := 0
	for _, kind := range accelerators {
		n += w.Facts.Devices[kind]
	}
	text := fmt.Sprintf("the pod asks for %d %s, and /dev has %d", w.GPUs, plural(int64(w.GPUs), "accelerator"), n)
	if n < w.GPUs {
		return Fail, text
	}
	return OK, text
}

func rdma(_ Job, w Worker) (Verdict, string) {
	if w.RDMA == 0 || w.Fake {
		return "", ""
	}
	if w.Facts.Devices == nil {
		return Unknown, "/dev cannot be read"
	}
	n := w.Facts.Devices["rdma"]
	text := fmt.Sprintf("the pod asks for %d RDMA %s, and /dev/infiniband has %d", w.RDMA, plural(int64(w.RDMA), "device"), n)
	if n == 0 { // one shared device may serve several requests
		return Fail, text
	}
	return OK, text
}
