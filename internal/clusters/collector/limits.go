package collector

import "time"

// Limits are what one cluster can cost at most, and how long is waited for it. The zero value of a field is the default.
type Limits struct {
	// Call bounds a call but a watch, from its first byte out to its last byte in: 30 s.
	Call time.Duration
	// Idle is how long a watch may bring nothing, not even a bookmark, before it is made again: 90 s.
	Idle time.Duration
	// Watch is for how long the API server is asked to keep a watch open: 5 to 10 minutes for 5 minutes.
	Watch time.Duration
	// Gather is for how long changes are gathered: 1 s.
	Gather time.Duration
	// Probe is the time between two looks at whether the API server answers: 10 s.
	Probe time.Duration
	// Metrics is the time between two looks at the API server's metrics, which are some 3 MB: 30 minutes.
	Metrics time.Duration
	// Again is when a kind is tried again that may not be read, or that the cluster does not have: 5 minutes.
	Again time.Duration
	// Pause is between the first two tries; it doubles up to a minute: 1 s.
	Pause time.Duration
	// Store bounds a call of the store but Apply, which bounds its steps: 30 s.
	Store time.Duration

	// PageItems is how many objects a page of a list has: 500. It is made smaller where a page is too large.
	PageItems int
	// PageBytes is how large a page may be: 32 MiB.
	PageBytes int64
	// ObjectBytes is how large an object in a watch may be: 4 MiB. API servers store no more than 1.5 MiB.
	ObjectBytes int64
	// MetricsBytes is how much of the metrics is read: 64 MiB.
	MetricsBytes int64
	// Objects is how many objects of a resource are looked at: 200,000. Of a resource with more, none is.
	Objects int
	// Bytes is how much is kept of what is in a cluster now, in JSON: 256 MiB. Of a resource with which there is more, the rest is left out.
	Bytes int64
	// Changes is how many changes a second are taken from a cluster: 500, and ten seconds' worth at once.
	Changes int
	// Batch is how many changes are handed to the store before the time to gather has passed: 2,000. While the store does not take
	// them, four times as many are held, and then the watches wait.
	Batch int
	// Connections is how many connections a cluster has: 24.
	Connections int
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&l.Call, 30*time.Second)
	set(&l.Idle, 90*time.Second)
	set(&l.Watch, 5*time.Minute)
	set(&l.Gather, time.Second)
	set(&l.Probe, 10*time.Second)
	set(&l.Metrics, 30*time.Minute)
	set(&l.Again, 5*time.Minute)
	set(&l.Pause, time.Second)
	set(&l.Store, 30*time.Second)
	count(&l.PageItems, 500)
	count(&l.PageBytes, 32<<20)
	count(&l.ObjectBytes, 4<<20)
	count(&l.MetricsBytes, 64<<20)
	count(&l.Objects, 200_000)
	count(&l.Bytes, 256<<20)
	count(&l.Changes, 500)
	count(&l.Batch, 2_000)
	count(&l.Connections, 24)
	return l
}

func count[N int | int64](n *N, to N) {
	if *n == 0 {
		*n = to
	}
}
