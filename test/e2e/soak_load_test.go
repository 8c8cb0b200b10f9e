//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// beat is the time between two reads, and between two writes, of each load.
const beat = 100 * time.Millisecond

// load is what clients do with one cluster on one way: a reader, a writer that compares and swaps, and a watcher.
type load struct {
	name   string
	client *kubernetes.Clientset
	maps   corev1client.ConfigMapInterface
	object string
	done   sync.WaitGroup

	mu           sync.Mutex
	fault        int             // under way
	outages      map[int]outages // by fault
	down         time.Time       // since when reads fail; zero while they do not
	reads        int
	acknowledged int  // the last value of which a write was acknowledged
	refused      int  // writes
	late         bool // the last write that failed had no answer in time
	whyRefused   error
	lost         []string
	seen         int // the last value that came by the watch
	missed       []string
	relists      int // watches that could not go on where they had been cut
}

// outages are those of one load during one fault.
type outages struct {
	longest time.Duration // from when the reader asked until it had an answer, at whatever try
	failed  int           // reads
	slow    int           // reads of those that had no answer in time
	cut     int           // watches
	why     error         // of the first read that failed
}

// load begins one. It goes on until ctx ends.
func (s *soak) load(ctx context.Context, name string, config *rest.Config) {
	s.t.Helper()
	// One try each: what client-go tries again is an outage all the same.
	config = rest.CopyConfig(config)
	config.Timeout = 0
	l := &load{name: name, client: clientset(s.t, config), outages: map[int]outages{}, fault: -1}
	l.maps = l.client.CoreV1().ConfigMaps(corev1.NamespaceDefault)
	l.object = "counter-" + strings.ReplaceAll(name, " ", "-")
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: l.object}, Data: map[string]string{"n": "0"}}
	made, err := l.maps.Create(ctx, first, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	l.done.Go(func() { l.every(ctx, l.read) })
	l.done.Go(func() { l.write(ctx, made) })
	l.done.Go(func() { l.watch(ctx, made.ResourceVersion) })
	s.loads = append(s.loads, l)
}

func (l *load) every(ctx context.Context, act func(context.Context)) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			act(ctx)
		}
	}
}

// begin says which fault comes now.
func (l *load) begin(fault int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// read gets the object. A user notices a request that takes two seconds as one that failed.
func (l *load) read(ctx context.Context) {
	begin := time.Now()
	bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := l.maps.Get(bounded, l.object, metav1.GetOptions{})
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	o := l.outages[l.fault]
	since := begin
	if !l.down.IsZero() {
		since = l.down
	}
	o.longest = max(o.longest, time.Since(since))
	l.down = time.Time{}
	if err != nil {
		o.failed++
		if o.why == nil {
			o.why = err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			o.slow++
		}
		l.down = since
	}
	l.outages[l.fault] = o
}

// write counts on in the object. An attempt of which the outcome is unknown may have counted; one that was acknowledged has.
func (l *load) write(ctx context.Context, at *corev1.ConfigMap) {
	tried := 0
	l.every(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if at == nil {
			got, err := l.maps.Get(ctx, l.object, metav1.GetOptions{})
			if err != nil {
				return
			}
			n := count(got)
			l.mu.Lock()
			if n < l.acknowledged || n > tried {
				l.lost = append(l.lost, fmt.Sprintf("%d were acknowledged, %d tried, there are %d", l.acknowledged, tried, n))
			}
			l.mu.Unlock()
			at = got
		}
		next := at.DeepCopy()
		tried = count(at) + 1
		next.Data["n"] = strconv.Itoa(tried)
		stored, err := l.maps.Update(ctx, next, metav1.UpdateOptions{})
		if at = stored; err != nil {
			at = nil
			l.refuse(ctx, err)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.acknowledged = tried
	})
}

// refuse takes note of a write that failed, but not of one that had no answer in time, and so may have been done after the object was read again.
func (l *load) refuse(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.late
	if l.late = ctx.Err() != nil; l.late || late && apierrors.IsConflict(err) {
		return
	}
	l.refused++
	l.whyRefused = err
}

// watch sees every value, one after the other, however often the watch is cut.
func (l *load) watch(ctx context.Context, version string) {
	for ctx.Err() == nil {
		w, err := l.maps.Watch(ctx, metav1.ListOptions{
			FieldSelector: "metadata.name=" + l.object, ResourceVersion: version, AllowWatchBookmarks: true,
		})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			version = l.relist(ctx, version)
			continue
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(beat):
			}
			continue
		}
		version = l.follow(ctx, w, version)
		w.Stop()
	}
}

// follow takes the events of one watch and returns the version to go on from.
func (l *load) follow(ctx context.Context, w apiwatch.Interface, version string) string {
	for {
		select {
		case <-ctx.Done():
			return version
		case event, open := <-w.ResultChan():
			if !open {
				l.cut()
				return version
			}
			m, ok := event.Object.(*corev1.ConfigMap)
			if !ok { // a status: the watch ends
				if apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
					return l.relist(ctx, version)
				}
				return version
			}
			version = m.ResourceVersion
			if event.Type != apiwatch.Bookmark {
				l.see(count(m))
			}
		}
	}
}

func (l *load) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.outages[l.fault]
	o.cut++
	l.outages[l.fault] = o
}

func (l *load) see(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n != l.seen && n != l.seen+1 {
		l.missed = append(l.missed, fmt.Sprintf("%d came after %d", n, l.seen))
	}
	l.seen = n
}

// relist begins anew, which is counted. Of the values in between none comes any more; what there is now is none of before.
func (l *load) relist(ctx context.Context, version string) string {
	got, err := l.maps.Get(ctx, l.object, metav1.GetOptions{})
	if err != nil {
		return version
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relists++
	if n := count(got); n < l.seen {
		l.missed = append(l.missed, fmt.Sprintf("a list has %d after %d", n, l.seen))
	}
	l.seen = count(got)
	return got.ResourceVersion
}

// well says why a client would not be content. The containers of ended run no more.
func (l *load) well(ctx context.Context, ended []string) error {
	if err := errors.Join(nodesReady(ctx, l.client), podsReady(ctx, l.client, ended)); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.down.IsZero() {
		return fmt.Errorf("%s: reads fail since %s", l.name, l.down.Format(time.TimeOnly))
	}
	if l.acknowledged-l.seen > 5 {
		return fmt.Errorf("%s: the watch is at %d of %d", l.name, l.seen, l.acknowledged)
	}
	return nil
}

func count(m *corev1.ConfigMap) int {
	n, err := strconv.Atoi(m.Data["n"])
	if err != nil {
		return -1
	}
	return n
}
