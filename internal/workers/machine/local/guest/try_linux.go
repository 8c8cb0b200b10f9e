package guest

import (
	"context"
	"time"
)

// Root is what the file system of every machine begins with: where process 1 mounts what is the machine's own, and the
// devices that every container has.
func Root() []Entry {
	all := []Entry{
		{Kind: KindFolder, Target: "/proc"},
		{Kind: KindFolder, Target: "/sys"},
		{Kind: KindFolder, Target: "/dev/pts"},
		{Kind: KindFolder, Target: "/dev/shm"},
		{Kind: KindFolder, Target: "/dev/mqueue"},
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		all = append(all, Entry{Kind: KindDevice, Target: "/dev/" + name, Source: "/dev/" + name})
	}
	return append(all,
		Entry{Kind: KindLink, Target: "/dev/ptmx", Source: "pts/ptmx"},
		Entry{Kind: KindLink, Target: "/dev/fd", Source: "/proc/self/fd"},
		Entry{Kind: KindLink, Target: "/dev/stdin", Source: "/proc/self/fd/0"},
		Entry{Kind: KindLink, Target: "/dev/stdout", Source: "/proc/self/fd/1"},
		Entry{Kind: KindLink, Target: "/dev/stderr", Source: "/proc/self/fd/2"},
	)
}

// tryTimeout bounds the making of a machine that is nothing but process 1.
const tryTimeout = 15 * time.Second

// Try makes process 1 of a machine as far as the host lets it, without network and cgroups, ends it again, and says what was
// refused.
func Try(ctx context.Context, c Config) error {
	in, err := c.launch()
	if err != nil {
		return err
	}
	defer in.end()
	until := time.Now().Add(tryTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	return in.live(c.Hostname, "", until)
}
