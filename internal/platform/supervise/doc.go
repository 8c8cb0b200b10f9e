// Package supervise keeps programs running as processes of this Linux host. The processes outlive KQueen: after kill
// -9, a restart or an upgrade the next supervisor on the same directory finds them and goes on with the same ones.
//
// It hides process handling: sessions, pidfds, marks in the environment, adoption, back-off, probing, logs, ports.
// Machines, the runner of control planes as processes and the standalone engine may import it; a control
// plane is described in the terms of hosting/runner instead.
//
// What is true is asked from the kernel, never from a file: each child carries four marks in its environment (instance,
// workload, component, identity), and New reads them back from /proc. There is no pid file that could be stale. A pid
// is only ever signalled through a pidfd, so never a recycled one. The marks of processes in other namespaces are believed
// only as far as the namespace is of the workload that they name: what runs in a machine is not trusted.
//
// A program that ends is started again, after a while that doubles. One that leaves its probe without an answer for too
// long hangs, and is ended; how long that is says Timing.
//
// A confined workload's programs run under a user of its own (package confine). Which one it is, the group of the
// workload's directory says.
//
// Layout below Config.Dir, all 0700, but for the directories of confined workloads, which their group may read (2750):
//
//	lock                      held (flock) by the one supervisor of this directory
//	workloads/<id>/           a workload's directory, cwd of its programs
//	workloads/<id>/ports.json reserved ports
//	workloads/<id>/logs/      <component>.log, .log.1 (newest) .. .log.3
//
// The directory's absolute path is part of the marks: a supervisor does not find processes that were started when the
// directory had another name.
//
// What starts KQueen must leave its children alone when it ends: under systemd that is KillMode=process, since the
// default kills the whole control group. Programs must not overwrite their environment (as setproctitle does); Go
// programs do not.
//
// Needs Linux 5.4 or newer (pidfd_open, waitid on a pidfd).
package supervise
