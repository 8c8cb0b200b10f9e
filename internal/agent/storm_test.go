package agent

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// Agents of a benchmark are in a process of their own, which has these in its environment: the URL that they dial, and how many they are.
const stormServer, stormAgents = "KQUEEN_STORM_SERVER", "KQUEEN_STORM_AGENTS"

func TestMain(m *testing.M) {
	if os.Getenv(stormServer) != "" {
		os.Exit(beAgents())
	}
	os.Exit(m.Run())
}

// beAgents runs agents until its input, which has the authority of their server, ends.
func beAgents() int {
	number, err := strconv.Atoi(os.Getenv(stormAgents))
	if err != nil {
		return 2
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	block := make([]byte, 4096)
	n, err := os.Stdin.Read(block)
	if err != nil {
		return 2
	}
	shared, err := New(Config{
		Server: os.Getenv(stormServer), Authority: block[:n], Organization: "acme", Cluster: "far", API: &rest.Config{Host: "http://127.0.0.1:1"},
		Identity: known{}, Token: func() (string, error) { return "", nil }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var agents sync.WaitGroup
	for of := range number {
		a := &Agent{Config: shared.Config, client: shared.client, serve: shared.serve, instance: "instance"}
		a.Cluster = strconv.Itoa(of)
		agents.Go(func() { _ = a.Run(ctx) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark has ended
	end()
	agents.Wait()
	return 0
}

// known is an identity that KQueen knows.
type known struct{}

func (known) Load(context.Context) (Identity, error) {
	return Identity{Current: "a", Since: time.Now()}, nil
}

func (known) Save(context.Context, Identity) error { return nil }

// shore is KQueen as agents reach it: TLS, the tunnel and its sessions. Who an agent is it does not ask.
type shore struct {
	b        *testing.B
	number   int
	address  string
	secure   *tls.Config
	ca       []byte
	sessions *tunnel.Sessions

	server *http.Server
	life   context.Context
	end    context.CancelFunc

	tries, now, most, bytes atomic.Int64
}

// BenchmarkAgents says what connected agents cost KQueen while nothing calls their clusters, and how they come again after all have lost their
// connections at once: where KQueen takes their calls at once, and after half a minute in which it refuses them. Run it with -benchtime 1x.
func BenchmarkAgents(b *testing.B) {
	for _, number := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(number), func(b *testing.B) {
			for b.Loop() {
				s := newShore(b, number)
				before := inUse()
				s.open()
				s.agents()
				s.await(number)
				b.ReportMetric(float64(inUse()-before)/float64(number)/1024, "KiB/agent")
				s.idle()
				s.storm(0, "blip")
				s.storm(30*time.Second, "outage")
				s.close()
			}
		})
	}
}

// idle looks at agents that send heartbeats and nothing else.
func (s *shore) idle() {
	s.b.Helper()
	const minute = 3 * tunnel.Heartbeat
	spent, sent, quiet := processorTime(s.b), s.bytes.Load(), time.NewTimer(minute)
	<-quiet.C
	s.b.ReportMetric(100*(processorTime(s.b)-spent).Seconds()/minute.Seconds(), "%cpu")
	s.b.ReportMetric(float64(s.bytes.Load()-sent)/float64(s.number), "B/agent/min")
}

// storm ends all connections, and reports how the agents come again.
func (s *shore) storm(away time.Duration, what string) {
	s.b.Helper()
	s.close()
	s.tries.Store(0)
	s.most.Store(0)
	until := time.NewTimer(away)
	<-until.C
	spent, again := processorTime(s.b), time.Now()
	s.open()
	s.await(s.number * 9 / 10)
	s.b.ReportMetric(time.Since(again).Seconds(), what+"-s-to-90%")
	s.await(s.number)
	s.b.ReportMetric(time.Since(again).Seconds(), what+"-s-to-all")
	s.b.ReportMetric((processorTime(s.b) - spent).Seconds(), what+"-cpu-s")
	s.b.ReportMetric(float64(s.tries.Load())/float64(s.number), what+"-connections/agent")
	s.b.ReportMetric(float64(s.most.Load()), what+"-handshakes-at-once")
}

func newShore(b *testing.B, number int) *shore {
	b.Helper()
	pattern := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer pattern.Close()
	return &shore{
		b: b, number: number, address: "127.0.0.1:0", secure: pattern.TLS.Clone(), sessions: tunnel.NewSessions(number, time.Now, func(string) {}),
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pattern.Certificate().Raw}),
	}
}

// open takes calls, at the address of before.
func (s *shore) open() {
	s.b.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.b.Fatal(err)
	}
	s.address = l.Addr().String()
	s.life, s.end = context.WithCancel(s.b.Context())
	life := s.life
	s.server = &http.Server{
		TLSConfig: s.secure.Clone(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), ReadHeaderTimeout: 10 * time.Second,
		ConnState: s.count,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if session, err := tunnel.Accept(w, r, slog.New(slog.DiscardHandler)); err == nil {
				_ = s.sessions.Hold(life, r.URL.Path, session, func(context.Context) bool { return true })
			}
		}),
	}
	server := s.server
	go func() { _ = server.ServeTLS(&metered{l, &s.bytes}, "", "") }()
}

// metered counts the bytes of its connections, in both directions.
type metered struct {
	net.Listener
	bytes *atomic.Int64
}

func (m *metered) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	return &meteredConn{conn, m.bytes}, err
}

type meteredConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (m *meteredConn) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.bytes.Add(int64(n))
	return n, err
}

func (m *meteredConn) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.bytes.Add(int64(n))
	return n, err
}

// count counts the connections that are no sessions yet.
func (s *shore) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.tries.Add(1)
		if now := s.now.Add(1); now > s.most.Load() {
			s.most.Store(now)
		}
	case http.StateHijacked, http.StateClosed:
		s.now.Add(-1)
	}
}

// close ends all sessions, and refuses connections.
func (s *shore) close() {
	_ = s.server.Close()
	s.end()
	s.await(0)
}

// await waits for so many agents: none, or that many at least.
func (s *shore) await(number int) {
	s.b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); s.sessions.Count() != number && (number == 0 || s.sessions.Count() < number); <-tick.C {
		if time.Since(begin) > 10*time.Minute {
			s.b.Fatalf("%d agents are connected, want %d", s.sessions.Count(), number)
		}
	}
}

// agents starts them in a process of their own, which ends with the benchmark.
func (s *shore) agents() {
	b := s.b
	b.Helper()
	child := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0], "-test.run", "^$")
	child.Env = append(os.Environ(), stormServer+"=https://"+s.address, stormAgents+"="+strconv.Itoa(s.number))
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		if err := child.Wait(); err != nil {
			b.Log("the agents:", err)
		}
	})
	if _, err := in.Write(s.ca); err != nil {
		b.Fatal(err)
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
