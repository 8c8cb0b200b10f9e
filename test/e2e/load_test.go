//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

const (
	floodClients = 200
	// floodTotal is how many requests a flood has; KQUEEN_E2E_FLOOD says another number, as "make soak" does.
	floodTotal = 3_000
	// warmTotal is a flood after which everything is allocated that is allocated once.
	warmTotal = 2_000
	// maxLive is how much more may be in use after the other floods than after the first one, in bytes: half a kilobyte
	// for each request.
	maxLive = 6 << 20
	// maxWarm is how much may be in use after the first flood, in bytes: too little for the 64 MiB of a password that was
	// checked, so that what comes after is compared with what stays.
	maxWarm = 40 << 20
	// maxMemory is how much more the process may hold than before the first one, in bytes. Checking a password takes
	// 64 MiB, of which two may be garbage that is not collected yet.
	maxMemory = 160 << 20
	// maxMoreFiles and maxMoreThreads are what may be open or sleep for a while longer.
	maxMoreFiles, maxMoreThreads = 32, 16
)

// bearsLoad sends bad requests of many kinds while good clients go on: nothing goes wrong inside, the good ones are
// served all the time, and nothing of it stays.
func bearsLoad(t *testing.T, i *installation, good, bad *api, clusters, name string) {
	t.Helper()
	before := i.use(t)
	warm, served := before, 0
	for n, total := range []int{warmTotal, int(number(t, "KQUEEN_E2E_FLOOD", floodTotal)), warmTotal} {
		f := &flood{api: bad, member: bad.token, clients: floodClients, total: total}
		if n == 0 {
			f.slow = 40
		}
		served += serveGood(t, good, clusters, name, f.run)
		f.report(t)
		bounds := use{memory: before.memory + maxMemory, live: warm.live + maxLive, files: before.files + maxMoreFiles, threads: before.threads + maxMoreThreads}
		if n == 0 {
			bounds.live = maxWarm
		}
		after := i.settled(t, good, bounds)
		if n == 0 {
			warm = after
		}
		t.Logf("after %d bad requests: %s", total, after)
	}
	t.Logf("%d good calls; before all: %s", served, before)
	data, err := os.ReadFile(filepath.Join(i.dir, "logs", "kqueen.log"))
	if err != nil || bytes.Contains(data, []byte("panic")) || bytes.Contains(data, []byte("status=5")) {
		t.Errorf("the log tells of a panic or of an error of the server (%v)", err)
	}
}

func (f *flood) report(t *testing.T) {
	t.Helper()
	answered := 0
	for _, n := range f.statuses {
		answered += n
	}
	t.Logf("%d bad requests were answered with %v, %d were broken off", answered, f.statuses, f.broken)
	if len(f.wrong) > 0 {
		t.Errorf("%d bad requests were answered with success or an error of the server: %.20q", len(f.wrong), f.wrong)
	}
	if answered+f.broken != f.total || answered < f.total*8/10 {
		t.Errorf("of %d bad requests %d were answered, %d broken off", f.total, answered, f.broken)
	}
}

// serveGood goes on with good calls while something happens, and returns how many there were. Each has to succeed at
// the first try. One client comes from where the bad ones come from.
func serveGood(t *testing.T, good *api, clusters, name string, while func(context.Context)) (calls int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	label := fmt.Sprint("n", time.Now().UnixNano())
	seen := good.watchFor(ctx, clusters, label)
	var clients sync.WaitGroup
	var mu sync.Mutex
	over := make(chan struct{})
	for _, from := range []string{"127.0.0.1", "127.0.0.1", floodSource} {
		c := good.from(t, from)
		clients.Go(func() {
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			for n := 0; ; n++ {
				path := []string{clusters, clusters + "/" + name, clusters + "?sort=-createdAt&limit=1", "/me"}[n%4]
				status, err := c.get(ctx, path)
				mu.Lock()
				calls++
				mu.Unlock()
				if err != nil || status != http.StatusOK {
					t.Errorf("GET %s from %s among bad clients: %d %v", path, from, status, err)
				}
				select {
				case <-again.C:
				case <-over:
					return
				}
			}
		})
	}
	while(ctx)
	good.want(http.StatusOK, "PATCH", clusters+"/"+name, rest.Input{Labels: map[string]string{"load": label}}, &rest.Object{},
		"If-Match", "*", "Content-Type", "application/merge-patch+json")
	if err := <-seen; err != nil {
		t.Errorf("a stream that was open all the time: %v", err)
	}
	close(over)
	clients.Wait()
	return calls
}

// from is the same caller from another address, with connections of their own.
func (d *api) from(t *testing.T, address string) *api {
	t.Helper()
	transport := d.client.Transport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext
	t.Cleanup(transport.CloseIdleConnections)
	caller := *d
	caller.client = &http.Client{Transport: transport, Timeout: patience}
	return &caller
}

// get is call for those who may not end the test.
func (d *api) get(ctx context.Context, path string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var any json.RawMessage
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(&any)
}

// watchFor opens a stream and says when an object with the label comes on it.
func (d *api) watchFor(ctx context.Context, path, label string) <-chan error {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path+"?watch=true", http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	resp, err := d.from(d.t, "127.0.0.1").client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("watch %s: %v", path, err)
	}
	seen := make(chan error, 1)
	go func() {
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), label) {
				seen <- nil
				return
			}
		}
		seen <- fmt.Errorf("it ended: %w", lines.Err())
	}()
	return seen
}

// use is what a process has.
type use struct {
	memory, live   uint64 // held and in use, in bytes
	files, threads int
}

func (u use) String() string {
	return fmt.Sprintf("%d KiB of which %d KiB in use, %d files, %d threads", u.memory>>10, u.live>>10, u.files, u.threads)
}

// use is what the program has now.
func (i *installation) use(t *testing.T) use {
	t.Helper()
	var s struct {
		PID                    int
		MemoryBytes, LiveBytes uint64
	}
	if err := json.Unmarshal([]byte(i.ok("status", "-o", "json")), &s); err != nil || s.LiveBytes == 0 {
		t.Fatalf("the status does not tell how much memory is in use: %v", err)
	}
	u := use{memory: s.MemoryBytes, live: s.LiveBytes}
	for name, count := range map[string]*int{"fd": &u.files, "task": &u.threads} {
		entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.PID), name))
		if err != nil {
			t.Fatal(err)
		}
		*count = len(entries)
	}
	return u
}

// settled goes on with good calls, so that garbage is collected, until no more is in use than the bounds.
func (i *installation) settled(t *testing.T, good *api, bounds use) use {
	t.Helper()
	var now use
	eventually(t, "what the bad requests took is given back", func(ctx context.Context) error {
		for range 50 {
			if status, err := good.get(ctx, "/organizations"); err != nil || status != http.StatusOK {
				return fmt.Errorf("list organizations: %d: %w", status, err)
			}
		}
		now = i.use(t)
		if now.memory > bounds.memory || now.live > bounds.live || now.files > bounds.files || now.threads > bounds.threads {
			return fmt.Errorf("it has %s; want at most %s", now, bounds)
		}
		return nil
	})
	return now
}
