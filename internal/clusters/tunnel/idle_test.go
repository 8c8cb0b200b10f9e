package tunnel

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkIdle has so many agents connected by TLS that send nothing but heartbeats, both ends in this process, and says what memory and
// processor time that takes. Run it with -benchtime 1x.
func BenchmarkIdle(b *testing.B) {
	for _, agents := range []int{100, 1000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			for b.Loop() {
				idle(b, agents)
			}
		})
	}
}

func idle(b *testing.B, agents int) {
	b.Helper()
	sessions := NewSessions(agents, time.Now, func(string) {})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := Accept(w, r, quietly)
		if err != nil {
			b.Errorf("accept: %v", err)
			return
		}
		_ = sessions.Hold(b.Context(), r.URL.Path, session, always)
	}))
	defer server.Close()
	before := inUse()
	begin := time.Now()
	for n := range agents {
		session, err := Dial(b.Context(), server.Client(), fmt.Sprintf("%s/%d", server.URL, n), nil, quietly)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		go func() { _ = session.Beat(b.Context(), Heartbeat) }()
	}
	b.ReportMetric(float64(agents)/time.Since(begin).Seconds(), "agents/s")
	b.ReportMetric(float64(inUse()-before)/float64(agents)/1024, "KiB/agent")
	spent := processorTime(b)
	quiet := time.NewTimer(2 * Heartbeat)
	<-quiet.C
	b.ReportMetric(100*(processorTime(b)-spent).Seconds()/(2*Heartbeat).Seconds(), "%cpu")
	if sessions.Count() != agents {
		b.Errorf("%d of %d agents are connected", sessions.Count(), agents)
	}
}

// inUse is the memory of the heap and of stacks after a collection, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
