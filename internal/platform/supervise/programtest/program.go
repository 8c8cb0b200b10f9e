package programtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/handover"
)

const programMark = "RUNNERTEST_PROGRAM"

// Main runs the tests, or the program when the binary was started as one. Its flags:
//
//	-serve ADDR        answer GET /readyz on ADDR
//	-tls DIR           as https, with DIR/tls.crt and DIR/tls.key (below the cwd)
//	-delay D           readyz says 503 until D has passed
//	-grpc SOCKET       offer the method /test.Service/Ask on a unix socket, unless FILE of -without exists at the start
//	-without FILE
//	-unready FILE      readyz says 503 while FILE exists
//	-hang FILE         readyz does not answer while FILE exists
//	-toil              and keeps a processor busy meanwhile
//	-holds FILE=TEXT   readyz says 503 unless FILE holds TEXT; may be given several times
//	-differs FILE=TEXT readyz says 503 unless FILE is there and holds something else
//	-leave FILE        asked to leave it says so in the file "asked", answers nothing more, and ends once FILE exists
//	-ignore-term       SIGTERM does nothing
//	-print TEXT        written to the log at the start
//	-flood N           so many KiB more written to the log
//	-exit N            end with code N at once
//	-crash N           end with code 3 at once the first N times (counted in the file "crashes")
//	-touch FILE        each start adds one line to FILE
//	-child             start a child of its own and go on
//	-starts SOCKET     start what is asked for at SOCKET, in process namespaces of their own
//	-init              be process 1 of those
func Main(m *testing.M) int {
	if os.Getenv(programMark) == "" {
		return m.Run()
	}
	if err := program(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		return 1
	}
	return 0
}

// Env is what makes the test binary the program: entries for its environment.
func Env() []string {
	// The race detector's exit pause would make every stop take a second.
	return []string{programMark + "=1", "GORACE=atexit_sleep_ms=0"}
}

// Path is the path of the test binary.
func Path() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}

type behaviour struct {
	serve, tls, unready, hang, print, touch string
	grpc, without, starts, leave            string
	delay                                   time.Duration
	ignoreTerm, child, toil, init           bool
	exit, crash, flood                      int
	holds, differs                          []string
}

func program(args []string) error {
	var b behaviour
	fs := flag.NewFlagSet("program", flag.ContinueOnError)
	fs.StringVar(&b.serve, "serve", "", "")
	fs.StringVar(&b.tls, "tls", "", "")
	fs.StringVar(&b.grpc, "grpc", "", "")
	fs.StringVar(&b.without, "without", "", "")
	fs.StringVar(&b.unready, "unready", "", "")
	fs.StringVar(&b.hang, "hang", "", "")
	fs.BoolVar(&b.toil, "toil", false, "")
	fs.StringVar(&b.print, "print", "", "")
	fs.StringVar(&b.touch, "touch", "", "")
	fs.DurationVar(&b.delay, "delay", 0, "")
	fs.Func("holds", "", func(s string) error { b.holds = append(b.holds, s); return nil })
	fs.Func("differs", "", func(s string) error { b.differs = append(b.differs, s); return nil })
	fs.BoolVar(&b.ignoreTerm, "ignore-term", false, "")
	fs.StringVar(&b.leave, "leave", "", "")
	fs.BoolVar(&b.child, "child", false, "")
	fs.StringVar(&b.starts, "starts", "", "")
	fs.BoolVar(&b.init, "init", false, "")
	fs.IntVar(&b.exit, "exit", -1, "")
	fs.IntVar(&b.crash, "crash", 0, "")
	fs.IntVar(&b.flood, "flood", 0, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if b.init {
		return beInit()
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if b.ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	var asked <-chan struct{}
	if b.leave != "" {
		asked = handover.Asked()
	}
	if err := b.atStart(); err != nil {
		return err
	}
	var l net.Listener
	if b.serve != "" {
		var err error
		if l, err = b.listen(); err != nil {
			return err
		}
	}
	if b.leave != "" {
		go b.leaveWhenAsked(asked, l, term)
	}
	if b.grpc != "" {
		if err := b.offer(); err != nil {
			return err
		}
	}
	<-term
	return nil
}

// leaveWhenAsked ends the program some time after it was asked.
func (b behaviour) leaveWhenAsked(asked <-chan struct{}, l io.Closer, end chan<- os.Signal) {
	<-asked
	if err := l.Close(); err != nil {
		return
	}
	if _, err := addLine("asked"); err != nil {
		return
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(b.leave); err == nil {
			end <- syscall.SIGTERM
			return
		}
		<-tick.C
	}
}

func (b behaviour) atStart() error {
	if b.print != "" {
		fmt.Println(b.print)
	}
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	for range b.flood {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	if b.touch != "" {
		if _, err := addLine(b.touch); err != nil {
			return err
		}
	}
	if b.child {
		if err := startChild(); err != nil {
			return err
		}
	}
	if b.starts != "" {
		if err := startFor(b.starts); err != nil {
			return err
		}
	}
	if b.exit >= 0 {
		os.Exit(b.exit)
	}
	if b.crash > 0 {
		n, err := addLine("crashes")
		if err != nil {
			return err
		}
		if n <= b.crash {
			os.Exit(3)
		}
	}
	return nil
}

// startChild starts the program once more, in a process group of its own, and writes its pid to the file "child".
func startChild() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := os.StartProcess(path, []string{path, "-ignore-term"}, &os.ProcAttr{
		Env: os.Environ(), Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return err
	}
	return os.WriteFile("child", []byte(strconv.Itoa(p.Pid)), 0o600)
}

// addLine adds a line to a file and returns how many it has.
func addLine(file string) (int, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return 0, err
	}
	all, err := os.ReadFile(file)
	return strings.Count(string(all), "\n"), err
}

func (b behaviour) listen() (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", b.serve)
	if err != nil {
		return nil, err
	}
	if b.tls != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(b.tls, "tls.crt"), filepath.Join(b.tls, "tls.key"))
		if err != nil {
			return nil, err
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	from := time.Now()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.stall(r.Context())
		_, err := os.Stat(b.unready)
		if time.Since(from) < b.delay || b.unready != "" && err == nil || !b.asWanted() {
			http.Error(w, "[-]informer-sync failed", http.StatusServiceUnavailable)
		}
	})
	go func() { _ = (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(l) }()
	return l, nil
}

// stall returns when the program may answer.
func (b behaviour) stall(ctx context.Context) {
	if _, err := os.Stat(b.hang); b.hang == "" || err != nil {
		return
	}
	if !b.toil {
		<-make(chan struct{})
	}
	for ctx.Err() == nil { // until the caller has hung up
	}
}

// asWanted says whether the files have the content that the flags want.
func (b behaviour) asWanted() bool {
	read := func(wish string) (have, want string, err error) {
		file, want, _ := strings.Cut(wish, "=")
		data, err := os.ReadFile(file)
		return string(data), want, err
	}
	for _, wish := range b.holds {
		if have, want, err := read(wish); err != nil || have != want {
			return false
		}
	}
	for _, wish := range b.differs {
		if have, want, err := read(wish); err != nil || have == want {
			return false
		}
	}
	return true
}
