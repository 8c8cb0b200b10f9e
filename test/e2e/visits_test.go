//go:build linux

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// visits are requests to the Service shop, one at every beat, by way of the API server: by the Service's address in the API, the egress
// and a machine of the cluster to one of its pods that are ready.
type visits struct {
	done sync.WaitGroup

	made, failed, late int
	longest            time.Duration
	why                error // of the first that failed
}

// visit makes requests until ctx ends. Each is made once.
func visit(ctx context.Context, t *testing.T, config *rest.Config) *visits {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Timeout = 0
	services, v := clientset(t, config).CoreV1().Services(metav1.NamespaceDefault), &visits{}
	v.done.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			limited, cancel := context.WithTimeout(ctx, lateCall)
			began := time.Now()
			body, err := services.ProxyGet("http", "shop", "80", "/", nil).DoRaw(limited)
			late := limited.Err() != nil
			cancel()
			if ctx.Err() == nil {
				v.note(began, string(body), err, late)
			}
		}
	})
	return v
}

func (v *visits) note(began time.Time, body string, err error, late bool) {
	took := time.Since(began)
	v.made++
	v.longest = max(v.longest, took)
	if err == nil && body != "open\n" {
		err = fmt.Errorf("the answer is %q", body)
	}
	if err == nil {
		return
	}
	v.failed++
	if late {
		v.late++
	}
	if v.why == nil {
		v.why = fmt.Errorf("at %s, after %s: %w: %s", began.Format(time.TimeOnly), took, err, body)
	}
}

// flawless: none has failed. On a host that is busy with other tests an answer may be too late.
func (v *visits) flawless(t *testing.T) {
	t.Helper()
	t.Logf("%d requests to the application, the longest %s", v.made, v.longest)
	if v.made < 100 || v.failed > v.late {
		t.Errorf("%d of %d requests to the application failed, %d of them too late: %v", v.failed, v.made, v.late, v.why)
	}
}
