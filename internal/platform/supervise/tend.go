package supervise

import (
	"context"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
)

// tend looks after a process that runs as ordered: is it ready?
func (k *keeper) tend(ctx context.Context, o order) (health.State, string) {
	probe := o.comp.Probe
	if probe == nil {
		k.ready(time.Now())
		return k.state, ""
	}
	if k.answer == nil && !time.Now().Before(k.nextProbe) {
		k.ask(ctx, probe)
	}
	if k.answer == nil {
		k.at(k.nextProbe)
	}
	return k.state, k.said
}

// ask starts one probe. Its answer comes over a channel, so that a program that does not answer delays nothing but its
// own probe.
func (k *keeper) ask(ctx context.Context, probe *Probe) {
	answer := make(chan error, 1)
	k.answer = answer
	if k.client == nil && probe.Socket != "" {
		k.client = newServiceClient(k.proc.pid, probe.Socket, k.s.conf.Timing.ProbeTimeout)
	}
	if k.client == nil {
		client, err := newProbeClient(k.wl.dir, probe, k.s.conf.Timing.ProbeTimeout)
		if err != nil {
			answer <- err
			return
		}
		k.client = client
	}
	ctx, k.stopProbe = context.WithCancel(ctx)
	client, url, call := k.client, probe.URL, ask
	if probe.Socket != "" {
		call = askService
	}
	go func() { answer <- call(ctx, client, url) }()
}

// forgetProbe cancels the probe under way; its answer will not be read.
func (k *keeper) forgetProbe() {
	if k.stopProbe != nil {
		k.stopProbe()
	}
	k.stopProbe, k.answer, k.client = nil, nil, nil
}

func (k *keeper) onProbe(err error) {
	if k.stopProbe != nil {
		k.stopProbe()
	}
	k.stopProbe, k.answer = nil, nil
	now, t := time.Now(), k.s.conf.Timing
	k.listen(now, err)
	if err == nil {
		k.ready(now)
		k.client = nil // for the next probe the files are read again
		k.nextProbe = now.Add(t.ProbeReady)
		return
	}
	k.said = "not ready: " + err.Error()
	if k.state == health.Starting {
		k.nextProbe = now.Add(t.ProbeStarting)
		if now.Sub(k.proc.startedAt) > t.FastStart {
			k.nextProbe = now.Add(t.ProbeSlow)
			k.client = nil
		}
		return
	}
	k.client = nil
	k.nextProbe = now.Add(t.ProbeReady)
	if k.misses++; k.misses >= probeFailures {
		k.state, k.readySince = health.NotReady, time.Time{}
	}
}

func (k *keeper) ready(now time.Time) {
	k.state, k.served, k.said, k.misses = health.Ready, true, "", 0
	if k.readySince.IsZero() {
		k.readySince = now
	}
}
