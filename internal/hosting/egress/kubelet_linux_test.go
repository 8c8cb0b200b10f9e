package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// port is one of a kubelet: closed until a time, and then it answers with err, nil for a connection.
type port struct {
	opens time.Time
	err   error
	dials atomic.Int32
}

func (p *port) dial(context.Context, netip.AddrPort) (net.Conn, error) {
	p.dials.Add(1)
	if time.Now().Before(p.opens) {
		return nil, fmt.Errorf("dial: %w", unix.ECONNREFUSED)
	}
	if p.err != nil {
		return nil, p.err
	}
	near, far := net.Pipe()
	_ = far.Close()
	return near, nil
}

// asked is what the machine of a kubelet says.
type asked func(context.Context, kubelet) error

func notAsked(context.Context, kubelet) error { return errors.New("it is no machine of this host") }

// knowsAfter is the answer of a machine whose kubelet knows its pods some time after the first question.
func knowsAfter(d time.Duration) asked {
	var first time.Time
	return func(context.Context, kubelet) error {
		if first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) < d {
			return errNotYet
		}
		return nil
	}
}

var kubeletOfA = kubelet{"a", netip.MustParseAddrPort("240.0.0.1:10250")}

// A call waits until a kubelet is back and knows its pods, and no longer than is said. When that is longer than the call has, it fails.
func TestRestartsWait(t *testing.T) {
	const back = 1500 * time.Millisecond
	for name, c := range map[string]struct {
		closed   time.Duration
		err      error
		asked    asked
		deadline time.Duration
		want     time.Duration
	}{
		"Back":        {back, nil, knowsAfter(3 * time.Second), time.Minute, back + 3*time.Second + kubeletTry},
		"NeverKnows":  {back, nil, knowsAfter(time.Hour), time.Hour, back + kubeletKnows},
		"KnowsLate":   {back, nil, knowsAfter(time.Hour), answerTimeout, answerTimeout},
		"NotAsked":    {back, nil, notAsked, time.Minute, back + kubeletLearns},
		"Away":        {time.Hour, nil, notAsked, time.Minute, kubeletAway},
		"OtherwiseOn": {time.Second, errors.New("no route to host"), notAsked, time.Minute, time.Second},
		"Deadline":    {time.Hour, nil, notAsked, 700 * time.Millisecond, 700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &port{opens: time.Now().Add(c.closed), err: c.err}
				r := newRestarts(t.Context(), p.dial, c.asked)
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				began := time.Now()
				if err := r.wait(ctx, kubeletOfA); (err != nil) != (c.want == c.deadline) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("waited for %v, want %v", took, c.want)
				}
				r.looks.Wait()
				if r.isAway(kubeletOfA) || r.waiting.Taken() != 0 {
					t.Error("it is still waited for")
				}
			})
		})
	}
}

// However many calls wait, one look serves all; and who has too many of them waits no more, while others do.
func TestRestartsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &port{opens: time.Now().Add(time.Hour)}
		r := newRestarts(t.Context(), p.dial, notAsked)
		var calls sync.WaitGroup
		for range maxWaitingOfOne {
			calls.Go(func() {
				if err := r.wait(t.Context(), kubeletOfA); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := r.wait(t.Context(), kubeletOfA); err != nil || time.Since(began) != 0 {
			t.Errorf("one call more than may wait has waited for %v: %v", time.Since(began), err)
		}
		if err := r.wait(t.Context(), kubelet{"b", kubeletOfA.target}); err != nil || time.Since(began) != kubeletAway {
			t.Errorf("a call of another cluster has waited for %v, want %v: %v", time.Since(began), kubeletAway, err)
		}
		calls.Wait()
		if most := int32(2 * kubeletAway / kubeletTry); p.dials.Load() > most {
			t.Errorf("its port was looked at %d times, want %d at most", p.dials.Load(), most)
		}
	})
}

// The end of the server ends what waits.
func TestRestartsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		r := newRestarts(life, (&port{opens: time.Now().Add(time.Hour)}).dial, notAsked)
		time.AfterFunc(time.Second, end)
		began := time.Now()
		if err := r.wait(t.Context(), kubeletOfA); err != nil || time.Since(began) != time.Second {
			t.Errorf("waited for %v: %v", time.Since(began), err)
		}
	})
}

// A call that comes while a kubelet starts again is carried when that is back. One that fails otherwise fails at once, and one to an
// address that is the cluster's no more when it is back is refused.
func TestServerWaitsForKubelets(t *testing.T) {
	const back, hung, lost = "240.0.0.1:10250", "240.0.0.2:10250", "240.0.0.3:10250"
	h := &host{t, t.TempDir()}
	mark := Mark{Cluster: "a", Ranges: pods}
	for _, target := range []string{back, hung, lost} {
		mark.Kubelets = append(mark.Kubelets, netip.MustParseAddrPort(target).Addr())
	}
	h.mark("plane-a", mark)
	var open atomic.Bool
	refused := map[string]chan bool{back: make(chan bool, 1000), lost: make(chan bool, 1000)}
	s := h.server(nil)
	s.direct = func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		if target.String() == hung {
			return nil, errors.New("no route to host")
		}
		if !open.Load() {
			refused[target.String()] <- true
			return nil, unix.ECONNREFUSED
		}
		return echo("kubelet")(ctx, target)
	}
	run(t, s.Run)
	h.eventually("plane-a", hung, "no route to host")

	type answer struct {
		got string
		err error
	}
	answers := map[string]chan answer{back: make(chan answer, 1), lost: make(chan answer, 1)}
	for target, to := range answers {
		go func() {
			got, err := h.call("plane-a", target)
			to <- answer{got, err}
		}()
		<-refused[target]
	}
	mark.Kubelets = mark.Kubelets[:2]
	h.mark("plane-a", mark)
	open.Store(true)
	if a := <-answers[back]; a.err != nil || a.got != "kubelet "+back+"\nhello" {
		t.Errorf("a kubelet that starts again: %q, %v", a.got, a.err)
	}
	if a := <-answers[lost]; a.err == nil || !strings.Contains(a.err.Error(), "it is not the recorded address of a machine of the cluster") {
		t.Errorf("an address that was taken away meanwhile: %q, %v", a.got, a.err)
	}
}
