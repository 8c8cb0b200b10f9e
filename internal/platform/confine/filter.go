package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the system calls that no program of a control plane makes: most need capabilities that it does not have,
// and each is a way into the kernel that need not be open. Those that are not listed are allowed, so that a new version
// of Go or of Kubernetes, which makes new harmless ones, goes on working.
var refused = append([]uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_FANOTIFY_INIT, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
}, refusedHere...)

// families are the kinds of sockets that there may be: this host's, the network's, and the kernel's, of which Go asks for
// the host's addresses.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// namespaces are the flags with which a new process would get a world of its own, in which it is root.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Where a filter finds what it looks at: struct seccomp_data of linux/seccomp.h. Of arguments it is the lower half, on
// processors that have that first, as all of ours do.
const (
	atNumber       = 0
	atArchitecture = 4
	atFirst        = 16
	word           = 4
)

// rules are the filter as instructions. It is pure.
func rules() []bpf.Instruction {
	allow, deny := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, answer(unix.EPERM)
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArchitecture, Size: word},
		// A program that is none of this processor's own would mean other calls by the same numbers.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: atNumber, Size: word},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: foreign, SkipTrue: 1},
		answer(unix.ENOSYS),
		// Its flags lie where no filter can look. Who gets this answer goes on with clone.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		answer(unix.ENOSYS),
	}
	for _, number := range refused {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, deny)
	}
	out = append(out,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: atFirst, Size: word},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaces, SkipFalse: 1},
		deny,
		allow,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: uint8(len(families) + 2)},
		bpf.LoadAbsolute{Off: atFirst, Size: word},
	)
	for i, family := range families {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: uint8(len(families) - i)})
	}
	return append(out, answer(unix.EAFNOSUPPORT), allow)
}

// answer refuses a call with an error.
func answer(e unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

// filter has the kernel judge every system call of the calling thread, and of what it starts, by the rules.
func filter() error {
	if architecture == 0 {
		return fmt.Errorf("there is no filter for %s", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(rules())
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	handed := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, failed := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&handed))) //nolint:gosec // the kernel takes its address
	runtime.KeepAlive(program)
	if failed != 0 {
		return failed
	}
	return nil
}
