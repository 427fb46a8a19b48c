// Package stacks takes the stacks of live ranks: those of Python without ptrace(2) and without
// anything installed in the image, others with programs of the image.
//
// [Lay] writes a module that Python loads at startup (sitecustomize.py). The module opens an
// anonymous file, and makes Python's faulthandler write the stacks of all threads into it on
// [Signal]. Faulthandler is C code in a signal handler, so it answers while Python is busy, and
// while C code holds the GIL. [Take] sends the signal and reads the file through /proc/PID/fd.
//
// [MPICall] reports whether a rank waits in MPI, by the text of its current line. With
// [ReturnSignal], which [Nudge] sends, the rank reports when its first thread runs Python again. If
// the same call is there later without such a report, it is one long call and not many. This signal
// has a Python handler and no faulthandler, so it is sent only to ranks in such a call.
//
// # What is trusted
//
// A rank is not trusted. A signal ends a process that does not catch it. So a signal is sent only
// to a process that catches it (SigCgt), and that still has the file open under the number that is
// part of the file's name. The file must be a memfd: a regular file without a name that accepts
// seals. The process may be root's, and may have any file of the container open without the right
// to read it (O_PATH); this package may run as root too. At most [MostText] bytes of a stack are
// read, whatever the file contains.
//
// If a process calls execve(2) between the check and the signal, the signal ends it, because its
// new program does not catch it. Nothing can close that gap of microseconds without ptrace(2).
//
// The output of a program contains names that the process chose.
//
// # Programs of the image
//
// [Outside] makes py-spy, eu-stack or gdb print the stacks of processes that have not answered.
// These programs need the right to trace a process, which is checked first. A program is looked up
// in our PATH. It is also looked up in the PATH of the process, if the process's own programs would
// have all the rights of ours. Each program runs in its own session, without the variables that
// make debuggers download symbols. It is killed when it has printed [MostText] bytes, or when the
// time is over. A debugger that is killed between its SIGSTOP and its wait leaves the process
// stopped, so the process then gets SIGCONT, unless it was stopped before.
//
// py-spy reads memory and does not stop the process. A process that calls execve(2) while eu-stack
// attaches is ended by a SIGTRAP. So eu-stack is not used for shells, nor for a process that has
// just started. For others a gap of milliseconds is left. eu-stack stops one thread at a time, while it
// walks that thread's stack. gdb stops all threads while it reads the symbols of all libraries;
// [Outside.Slow] must allow it.
//
// # Flight recorders
//
// [Flights] makes ranks of PyTorch with NCCL dump what they know about their collectives. A rank
// that is started with TORCH_NCCL_DEBUG_INFO_PIPE_FILE creates a named pipe of that name, its rank
// and ".pipe" (DumpPipe in ProcessGroupNCCL) if it records at all. It dumps into a file when
// something is written to the pipe. The rank chooses the paths, so only a FIFO of its own user is
// opened, and of the dump only the size is read.
//
// # NCCL's RAS service
//
// [RAS] queries the service that NCCL 2.24 and later have in each process. The first process of a
// machine listens on a port for a client, which is usually a person. The protocol is that of NCCL's
// ncclras (src/ras/client.cc).
//
// # What it does not see
//
// The signal interrupts the current system call of the rank. Most calls are restarted (SA_RESTART),
// and Python repeats the others (PEP 475). C code gets EINTR from poll(2), epoll_wait(2) and
// nanosleep(2), as with any signal.
//
// The module is missing in Python with -I, -E or -S, before 3.8, or if the program that started it
// replaced PYTHONPATH. A stopped process runs no handler. Programs of the image are used for these.
package stacks
