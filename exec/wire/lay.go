package wire

// LayRequest is the standard input of `agent lay`, as one JSON object: files for
// a directory on the worker, and the names of variables to tell.
type LayRequest struct {
	Files []LayFile `json:"files"`
	Ask   []string  `json:"ask,omitempty"`
}

// LayFile is one small file.
type LayFile struct {
	Name string `json:"name"` // no directory part
	Data []byte `json:"data"`
}

// LayAnswer is its standard output: where the files are, and those of the
// variables that sessions of the worker have.
type LayAnswer struct {
	Dir string            `json:"dir"`
	Env map[string]string `json:"env,omitempty"`
}

// MaxLay bounds a LayRequest in bytes: such files are modules and
// configurations, never data.
const MaxLay = 4 << 20
