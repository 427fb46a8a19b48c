//go:build mpi

package fake

import "testing"

// The following tests are scripts in testdata/scripts.

func TestArgumentsAreChecked(t *testing.T)          { play(t, "bad-input") }
func TestEverySlotHasARank(t *testing.T)            { playEach(t, "ranks") }
func TestArgumentsAndBytesArrive(t *testing.T)      { playEach(t, "arrives") }
func TestRawSessionsUnderFaults(t *testing.T)       { play(t, "cuts") }
func TestStops(t *testing.T)                        { play(t, "stopped") }
func TestStopsOfMpirun(t *testing.T)                { playEach(t, "stops") }
func TestKilledWorker(t *testing.T)                 { playEach(t, "lost") }
func TestKilledWorkerOfAnyLauncher(t *testing.T)    { play(t, "lost-otherwise") }
func TestRestarts(t *testing.T)                     { play(t, "restart") }
func TestMPIRestarts(t *testing.T)                  { playEach(t, "restart-mpi") }
func TestShims(t *testing.T)                        { play(t, "shims") }
func TestShimsUnderCuts(t *testing.T)               { play(t, "shims-copy") }
func TestShimsAcceptTheOptionsOfSSH(t *testing.T)   { play(t, "ssh-words") }
func TestExitCodes(t *testing.T)                    { playEach(t, "exit-codes") }
func TestExitCodeZeroThatWasNotEarned(t *testing.T) { play(t, "zero-unearned") }
func TestLaunchersThatSwallowFailures(t *testing.T) { play(t, "zero") }
func TestDaemonThatCrashesAtItsEnd(t *testing.T)    { play(t, "daemon-crashes") }
func TestScriptsThatStayInTheLauncher(t *testing.T) { play(t, "launcher-only") }
func TestUnknownHost(t *testing.T)                  { playEach(t, "unknown-host") }
func TestHangs(t *testing.T)                        { playStarters(t, "hangs") }
func TestProgress(t *testing.T)                     { playStarters(t, "progress") }
func TestNoRankOfAnMPIRunIsBlamed(t *testing.T)     { playEach(t, "no-blame") }
