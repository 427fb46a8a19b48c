// Package stacks takes the stacks of ranks that live: of Python without ptrace(2)
// and without anything installed in the image, of others by programs of the image.
//
// [Lay] writes a module that Python loads at its start (sitecustomize.py). The
// module opens an anonymous file and has Python's faulthandler write the stacks of
// all threads into it when [Signal] comes. Faulthandler is C code in a signal
// handler: it answers while Python is busy, and while C code holds the GIL.
// [Take] sends the signal and reads the file by /proc/PID/fd.
//
// [MPICall] says whether a rank waits in MPI, by the text of its line. With [ReturnSignal],
// which [Nudge] sends, the rank tells when its first thread runs Python again: what is still
// there later is one call, and not many. For that a Python function is registered, which
// faulthandler is not: so it is sent only to ranks that are in such a call.
//
// # What is trusted
//
// A rank is not. A signal that a process does not catch ends it, so one is sent
// only to a process that catches it (SigCgt) and that still has the file open
// under the number that is part of the file's name. The file must be a memfd: a regular file
// without a name that takes seals. Its process may be root's and may have any file
// of the container open without the right to read it (O_PATH), and this package may
// run as root. At most [MostText] bytes of a stack are read, whatever the file holds.
//
// A process that calls execve(2) between the check and the signal is ended by the
// signal: its new program does not catch it. Nothing can close that window of
// microseconds without ptrace(2).
//
// The output of a program contains names that the process chose.
//
// # Programs of the image
//
// [Outside] has py-spy, eu-stack or gdb print the stacks of processes that have not
// answered. These programs need the right to trace a process, which is checked first. A
// program is looked up in our PATH. The PATH of the process counts as well if its own
// programs would have all the rights of ours. Each runs in a session of its own, without
// the variables that make debuggers ask servers for symbols. It is killed when it has
// printed [MostText] bytes or the time is over. A debugger that is killed between its
// SIGSTOP and its wait leaves the process stopped, so the process gets SIGCONT then,
// unless it was stopped before.
//
// py-spy reads memory and does not stop the process. eu-stack stops one thread at a time,
// while it walks that thread's stack. gdb stops all threads while it reads the symbols of
// all libraries; [Outside.Slow] must allow it.
//
// # Flight recorders
//
// [Flights] has ranks of PyTorch with NCCL dump what they know of their collectives. A
// rank that is started with TORCH_NCCL_DEBUG_INFO_PIPE_FILE makes a named pipe of that
// name, its rank and ".pipe" (DumpPipe in ProcessGroupNCCL) if it records at all, and
// dumps into a file when something is written to it. The paths are the rank's word: only
// a FIFO of its own user is opened, and of the dump only the size is read.
//
// # NCCL's RAS service
//
// [RAS] asks the service that NCCL 2.24 and later have in each process: the first one of a
// machine listens at a port for a client, which is a person as a rule. The protocol is
// that of NCCL's ncclras (src/ras/client.cc).
//
// # What it does not see
//
// The signal interrupts the system call that the rank sits in. Most calls are
// restarted (SA_RESTART), and Python repeats the others (PEP 475). C code gets EINTR
// from poll(2), epoll_wait(2) and nanosleep(2), as from any signal.
//
// Python that runs with -I, -E or -S, that is older than 3.8, or whose PYTHONPATH
// was replaced by the program that started it has not loaded the module. A
// stopped process runs no handler. Programs of the image are used for these.
package stacks
