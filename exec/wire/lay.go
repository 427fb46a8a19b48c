package wire

// LayRequest is the standard input of `agent lay`, as one JSON object: files for a directory on the
// worker, and the names of variables whose values are requested.
type LayRequest struct {
	Files []LayFile `json:"files"`
	Ask   []string  `json:"ask,omitempty"`
}

// LayFile is one small file.
type LayFile struct {
	Name string `json:"name"` // no directory part
	Data []byte `json:"data"`
}

// LayAnswer is the standard output of `agent lay`: the directory of the files, and the requested
// variables that the worker's sessions have.
type LayAnswer struct {
	Dir string            `json:"dir"`
	Env map[string]string `json:"env,omitempty"`
}

// MaxLay is the maximum size of a LayRequest in bytes. The files are modules and configurations,
// never data.
const MaxLay = 4 << 20
