//go:build linux

package launch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/launch/export"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/upload"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/shortage"
)

// kept is where a run keeps the output of its ranks.
type kept struct {
	dir    string // "": the output goes to our own descriptors
	bucket string // s3://BUCKET/PREFIX, to which the files are copied; "": none
	own    bool   // dir is a temporary directory of this run
	upload *upload.Upload
	name   string // of the run in the bucket
}

// findKept decides where the output of ranks goes. It makes a temporary directory if only a bucket is given, and
// checks that the bucket can be written, before anything is waited for.
func (r *runner) findKept(ctx context.Context) error {
	mode, err := r.cfg.OutputMode()
	if err != nil || mode.Kind != output.Dir {
		return err
	}
	r.kept = kept{dir: mode.Dir, bucket: mode.Bucket}
	if r.kept.bucket == "" {
		return nil
	}
	if r.kept.dir == "" {
		if r.kept.dir, err = os.MkdirTemp("", "muster-output-"); err != nil {
			return failure.New(names.ExitUsage, cmp.Or(shortage.Way(err), "name a directory for the files: --output="+r.kept.bucket+",dir=PATH"), "--output: %w", err)
		}
		r.kept.own = true
	}
	return upload.Check(ctx, r.uploadConfig())
}

func (r *runner) uploadConfig() upload.Config {
	return upload.Config{Reaper: r.reaper, Path: export.Path(r.agent), Env: os.Environ(), To: r.kept.bucket, Dir: r.kept.dir, Voice: r.voice, Log: r.log}
}

// beginUpload starts to copy the output that the run writes.
func (r *runner) beginUpload() {
	if r.kept.bucket != "" {
		r.kept.name = r.archive.Name()
		r.kept.upload = upload.Start(r.uploadConfig())
	}
}

// endUpload waits until the rest of the output is in the bucket. A temporary directory is removed only then. The
// workers have already ended.
func (r *runner) endUpload() {
	k := &r.kept
	place := strings.TrimRight(k.bucket, "/") + "/" + k.name
	if k.upload != nil {
		ctx, stop := r.untilSignal(context.Background())
		err := k.upload.Close(ctx)
		stop()
		if err != nil {
			r.spoiled.Note(err)
			r.voice.Warn("%v", err)
			var f *failure.Failure
			if errors.As(err, &f) {
				r.voice.Hint(f.Hint())
			}
			r.voice.Warn("the output of the ranks is kept in %s; only a part of it is in %s", k.dir, place)
			r.voice.Hint(r.keptHint())
			return
		}
		r.voice.Say("the output of the ranks is in %s", place)
	}
	if k.own {
		if err := os.RemoveAll(k.dir); err != nil {
			r.log.Warn("cannot remove a temporary directory", "error", err)
		}
	}
}

// keptHint says how to get the rest of the output into the bucket.
func (r *runner) keptHint() string {
	if r.kept.own && fleet.InPod() {
		return "the files end with this pod; --output=" + r.kept.bucket + ",dir=PATH keeps them on a volume"
	}
	return filepath.Join(filepath.Dir(export.Path(r.agent)), export.Program) + " upload " + r.kept.bucket + " " + r.kept.dir + " </dev/null copies the rest"
}
