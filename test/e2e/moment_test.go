//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// momentsEnv is how many moments are restored, for a long form of the test; its writes are then spread over a minute.
const momentsEnv = "KQUEEN_MOMENTS"

// truth is what a client has written, and when.
type truth struct {
	client kubernetes.Interface
	random *rand.Rand
	pace   time.Duration
	state  map[string]string
	writes []write
}

// write is one write, with the state after it.
type write struct {
	begun, answered time.Time
	state           map[string]string
}

const truthNamespace = "truth"

// run makes so many random writes.
func (w *truth) run(ctx context.Context, writes int) error {
	objects := w.client.CoreV1().ConfigMaps(truthNamespace)
	pace := time.NewTicker(w.pace)
	defer pace.Stop()
	for range writes {
		<-pace.C
		name := fmt.Sprintf("n%d", w.random.IntN(60))
		_, has := w.state[name]
		value := strconv.FormatUint(w.random.Uint64(), 36)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
		begun := time.Now()
		var err error
		switch {
		case !has:
			_, err = objects.Create(ctx, object, metav1.CreateOptions{})
		case w.random.IntN(4) == 0:
			value, err = "", objects.Delete(ctx, name, metav1.DeleteOptions{})
		default:
			_, err = objects.Update(ctx, object, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
		w.note(begun, name, value)
	}
	return nil
}

func (w *truth) note(begun time.Time, name, value string) {
	w.state = maps.Clone(w.state)
	if w.state[name] = value; value == "" {
		delete(w.state, name)
	}
	w.writes = append(w.writes, write{begun, time.Now(), w.state})
}

// lag is how long before a moment a write may have been answered that is not in it: KQueen is told of it after the client is.
const lag = time.Second

// had says whether a state is the one at a moment: that after one write which had begun by then, and no write that was answered well before is
// missing.
func (w *truth) had(at time.Time, state map[string]string) string {
	closest := ""
	for i, x := range w.writes {
		last := i == len(w.writes)-1 || w.writes[i+1].answered.After(at.Add(-lag))
		if x.begun.After(at) || !last {
			continue
		}
		diff := cmp.Diff(x.state, state)
		if diff == "" {
			return ""
		}
		closest = diff
	}
	return "it is none of the states that it can be; the last of them differs by:\n" + closest
}

// now is what is in the cluster.
func (w *truth) now(ctx context.Context) (map[string]string, error) {
	all, err := w.client.CoreV1().ConfigMaps(truthNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	state := map[string]string{}
	for i := range all.Items {
		if name := all.Items[i].Name; name != "kube-root-ca.crt" {
			state[name] = all.Items[i].Data["value"]
		}
	}
	return state, nil
}

// TestAnyMoment restores a cluster to moments between a thousand random writes, before and after KQueen was killed in their midst. What was
// written while it did not run is refused, with the moments that are known.
func TestAnyMoment(t *testing.T) {
	parallel(t, 90*time.Second)
	moments, pace := 2, 10*time.Millisecond
	if n, err := strconv.Atoi(os.Getenv(momentsEnv)); err == nil {
		moments, pace = n, 60*time.Millisecond
	}
	i := started(t)
	i.ok("cluster", "create", "moments", "--wait", "--timeout", patience.String())
	i.ok("backupschedule", "create", "daily", "--cluster", "moments", "--schedule", "@daily", "--recovery-window", "24h")
	i.ok("backupschedule", "wait", "daily", "--for", "condition=ChangesRecorded", "--timeout", patience.String())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &truth{client: clientset(t, i.tenant("default", "moments")), random: rand.New(rand.NewPCG(seed, 1)), pace: pace, state: map[string]string{}}
	if _, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: truthNamespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	write := func(n int) (from, to time.Time) {
		from = time.Now()
		if err := w.run(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		return from.Truncate(time.Second).Add(time.Second), time.Now().Truncate(time.Second)
	}
	from, to := write(500)
	i.ok("backup", "create", "written", "--cluster", "moments", "--at", time.Now().UTC().Format(time.RFC3339), "--wait", "--timeout", "60s")
	for _, pid := range i.servers() {
		kill(t, pid)
	}
	killed := time.Now()
	lost, _ := write(1)
	pause := time.NewTimer(2 * time.Second)
	<-pause.C
	i.up()
	tries := 0
	eventually(t, "changes are recorded again", func(context.Context) error {
		tries++
		r := i.kqueen("backup", "create", fmt.Sprintf("again-%d", tries), "--cluster", "moments", "--at", time.Now().UTC().Format(time.RFC3339), "--wait", "--timeout", "30s")
		if r.code != 0 {
			return errors.New(r.stderr)
		}
		return nil
	})
	from2, to2 := write(499)
	gone := i.kqueen("backup", "create", "gone", "--cluster", "moments", "--at", lost.Add(time.Second).UTC().Format(time.RFC3339), "--wait", "--timeout", "10s")
	if gone.code == 0 || !strings.Contains(gone.stderr+i.ok("backup", "describe", "gone"), "changes were made while KQueen did not record them") {
		t.Errorf("a moment after %s, when KQueen was killed: %s", killed, gone.stderr)
	}
	for n := range moments {
		a, b := from, to
		if n%2 == 1 {
			a, b = from2, to2
		}
		at := a.Add(time.Duration(w.random.IntN(int(b.Sub(a).Seconds())+1)) * time.Second)
		i.ok("restore", "create", fmt.Sprintf("m%d", n), "--cluster", "moments", "--at", at.UTC().Format(time.RFC3339), "--include", "Namespace/"+truthNamespace,
			"--yes", "--wait", "--timeout", patience.String())
		state, err := w.now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if problem := w.had(at, state); problem != "" {
			t.Errorf("%s: %s", at, problem)
		}
	}
	i.ok("backupschedule", "delete", "daily", "--yes")
	i.ok("cluster", "delete", "moments", "--yes")
}
