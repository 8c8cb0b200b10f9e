package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/platform/confine"
)

// neighbourResult is what calls of a tenant take, in seconds, alone and beside one that does what it can, each so many times in turn.
type neighbourResult struct {
	Rounds []neighbourRound `json:"rounds"`
}

type neighbourRound struct {
	Alone  apiTimes `json:"alone"`
	Beside apiTimes `json:"beside"`
	// Failed are the bystander's calls that failed.
	Failed int `json:"failed"`
}

const (
	neighbourGet, neighbourUpdate = "get", "update"
	// neighbourBeat is the time between two calls of the bystander.
	neighbourBeat = 50 * time.Millisecond
	// neighbourRounds are so many that the p99 of all calls says something: that of one round is its sixth longest call.
	neighbourRounds = 4
)

// neighbour measures a tenant, alone and beside another one, for a time each and in turn. The other one is new each time, so that it has its quota
// to fill. Its clients are elsewhere, were they real: here they are a process that gets what is left of the processors.
func neighbour(ctx context.Context, inst *installation, long time.Duration) (r neighbourResult, err error) {
	bystander, err := tenantCluster(ctx, inst, "bystander")
	if err != nil {
		return r, err
	}
	maps, err := configMaps(bystander)
	if err != nil {
		return r, err
	}
	object, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, metav1.CreateOptions{})
	if err != nil {
		return r, err
	}
	for range neighbourRounds {
		round, err := besideHostile(ctx, inst, maps, object, long)
		if err != nil {
			return r, err
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r, inst.deleteAll(ctx, []string{"bystander"})
}

// tenantCluster creates a cluster and returns the file of its kubeconfig.
func tenantCluster(ctx context.Context, inst *installation, name string) (kubeconfig string, err error) {
	if _, err := clusterStart(ctx, inst, name); err != nil {
		return "", err
	}
	text, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
	if err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(inst.dir, name+".kubeconfig")
	return kubeconfig, os.WriteFile(kubeconfig, text, 0o600)
}

// besideHostile is one round.
func besideHostile(ctx context.Context, inst *installation, maps corev1client.ConfigMapInterface, object *corev1.ConfigMap, long time.Duration) (r neighbourRound, err error) {
	const name = "hostile"
	hostile, err := tenantCluster(ctx, inst, name)
	if err != nil {
		return r, err
	}
	if _, err := settled(ctx, inst, managerSettles); err != nil {
		return r, err
	}
	r.Alone, r.Beside = apiTimes{}, apiTimes{}
	failed, err := bystand(ctx, maps, object, long, r.Alone.note)
	if err != nil {
		return r, err
	}
	if failed > 0 {
		return r, fmt.Errorf("%d calls failed of a tenant that was alone", failed)
	}
	stop, err := attack(ctx, hostile)
	if err != nil {
		return r, err
	}
	r.Failed, err = bystand(ctx, maps, object, long, r.Beside.note)
	return r, errors.Join(err, stop(ctx), inst.deleteAll(ctx, []string{name}))
}

func configMaps(kubeconfig string) (corev1client.ConfigMapInterface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return c.CoreV1().ConfigMaps(corev1.NamespaceDefault), nil
}

// bystand makes calls one after the other, and tells of each when it began. It returns how many failed.
func bystand(ctx context.Context, maps corev1client.ConfigMapInterface, object *corev1.ConfigMap, long time.Duration, tell func(call string, begin time.Time)) (failed int, err error) {
	beat := time.NewTicker(neighbourBeat)
	defer beat.Stop()
	for end := time.Now().Add(long); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return failed, ctx.Err()
		case <-beat.C:
		}
		begin := time.Now()
		got, err := maps.Get(ctx, object.Name, metav1.GetOptions{})
		tell(neighbourGet, begin)
		if err != nil {
			failed++
			continue
		}
		got.Data = map[string]string{"at": begin.String()}
		begin = time.Now()
		if _, err = maps.Update(ctx, got, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			failed++
		}
		tell(neighbourUpdate, begin)
	}
	return failed, nil
}

// attack starts this program once more, to do what a tenant can.
func attack(ctx context.Context, kubeconfig string) (stop func(context.Context) error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-attack", kubeconfig)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	group := confine.NewGroup(fmt.Sprintf("bench-%d", cmd.Process.Pid))
	stop = func(ctx context.Context) error {
		killed := cmd.Process.Kill()
		_ = cmd.Wait()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return errors.Join(killed, group.Release(ctx))
	}
	// A nice value counts only beside processes of the same session.
	if err := group.Hold(cmd.Process.Pid, confine.Limits{Idle: true}); err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	return stop, nil
}

// What the hostile tenant does at once.
const (
	attackWriters = 16
	attackListers = 8
	attackWatches = 200
	attackObject  = 256 << 10 // bytes
	attackHuge    = 1 << 20   // of each tenth object
)

// attackNow writes until its quota refuses it and goes on, lists everything and watches, until ctx ends. What is refused does not matter,
// and nothing is read of an answer: the less its clients take of the processors here, the more like clients elsewhere they are.
func attackNow(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	a := attacker{client: c, maps: config.Host + "/api/v1/namespaces/default/configmaps"}
	object, huge := attackBody(attackObject), attackBody(attackHuge-1<<10)
	var all sync.WaitGroup
	repeat := func(clients int, call func(n int)) {
		for range clients {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					call(n)
				}
			})
		}
	}
	repeat(attackWriters, func(n int) {
		body := object
		if n%10 == 0 {
			body = huge
		}
		a.call(ctx, http.MethodPost, "", body)
	})
	repeat(attackListers, func(int) { a.call(ctx, http.MethodGet, "", nil) })
	repeat(attackWatches, func(int) { a.call(ctx, http.MethodGet, "?watch=true", nil) })
	all.Wait()
	return nil
}

func attackBody(size int) []byte {
	return fmt.Appendf(nil, `{"metadata":{"generateName":"full-"},"data":{"x":%q}}`, strings.Repeat("x", size))
}

type attacker struct {
	client *http.Client
	maps   string // URL
}

// call makes one call and takes its answer, compressed as it comes, to its end.
func (a attacker) call(ctx context.Context, method, query string, body []byte) {
	req, err := http.NewRequestWithContext(ctx, method, a.maps+query, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := a.client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

func (r neighbourResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "\nBESIDE A HOSTILE TENANT\tcalls\tBESIDE p50\tp99\tALONE p50\tp99\tRATIO p50\tp99\tROUND BY ROUND, p99\n")
	failed := 0
	for _, round := range r.Rounds {
		failed += round.Failed
	}
	for _, call := range []string{neighbourGet, neighbourUpdate} {
		var beside, alone []float64
		var each strings.Builder
		for _, round := range r.Rounds {
			beside, alone = append(beside, round.Beside[call]...), append(alone, round.Alone[call]...)
			fmt.Fprintf(&each, "%.2f ", p99(round.Beside[call])/p99(round.Alone[call]))
		}
		fmt.Fprintf(w, "%s\t%d\t%.1fms\t%.1fms\t%.1fms\t%.1fms\t%.2f\t%.2f\t%s\n", call, len(beside), 1000*median(beside), 1000*p99(beside),
			1000*median(alone), 1000*p99(alone), median(beside)/median(alone), p99(beside)/p99(alone), strings.TrimSpace(each.String()))
	}
	fmt.Fprintf(w, "calls that failed\t%d\n", failed)
	_ = w.Flush()
}
