//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/status"
)

// longestReconcile is far more than one look at one object takes: every call that it makes has a deadline of its own.
const longestReconcile = 10 * time.Minute

// Alive says whether an installation works, and not only runs: the supervisor and the REST API answer, and no reconciler has
// been busy with one object for too long. Nil while all do. It is for what restarts KQueen when it hangs; what it needs and does
// not have, such as a database that takes no writes, is no hang.
func Alive(ctx context.Context, a *App) error {
	_, err := a.supervisor.Status(ctx, workloadGateway)
	if err != nil {
		err = fmt.Errorf("ask the supervisor: %w", err)
	}
	if a.problems.has(partStart) { // there is no API before its owner has acted
		return err
	}
	return errors.Join(err, askAPI(ctx, a.Dir), stuck(longestReconcile))
}

// askAPI calls the REST API on its socket, through everything that a request goes through. Any answer is one.
func askAPI(ctx context.Context, dir string) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return status.OnSocket(dir, apirest.LocalSocket, func(path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		})
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+apirest.Prefix+"/me", nil)
	if err != nil {
		return err
	}
	answer, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("ask the REST API: %w", err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// longestWork is the metric of how long each controller has been busy with the object that it began with first.
const longestWork = "workqueue_longest_running_processor_seconds"

// stuck names the controllers that have been busy with one object for longer than a time.
func stuck(after time.Duration) error {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return fmt.Errorf("ask the reconcilers: %w", err)
	}
	var problems []error
	for _, family := range families {
		if family.GetName() != longestWork {
			continue
		}
		for _, m := range family.GetMetric() {
			busy := time.Duration(m.GetGauge().GetValue() * float64(time.Second))
			if busy <= after || len(m.GetLabel()) == 0 {
				continue
			}
			problems = append(problems, fmt.Errorf("the reconciler %s has been busy with one object for %s", m.GetLabel()[0].GetValue(), busy.Round(time.Second)))
		}
	}
	return errors.Join(problems...)
}
