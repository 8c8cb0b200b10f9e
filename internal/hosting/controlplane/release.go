package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Releases are the programs on disk. *release.Store offers it.
type Releases interface {
	Lookup(v release.Version) (release.Binaries, bool, error)
	Ensure(ctx context.Context, v release.Version, src release.Source, report func(release.Step)) (release.Binaries, error)
}

// releaseReconciler gets the programs of a version. A download takes long and goes on beside the
// reconciler, one per version; notify is called when it has ended.
type releaseReconciler struct {
	client client.Client
	store  Releases
	retry  time.Duration
	notify func(name string)
	life   context.Context //nolint:containedctx // ends the downloads when the program ends, not when one reconcile does
	log    *slog.Logger

	mu       sync.Mutex
	attempts map[string]attempt
}

// ReleaseConfig is what the reconciler of Release is made of. All fields but Recorder are required.
type ReleaseConfig struct {
	Client   client.Client
	Store    Releases
	Recorder events.EventRecorder
	// Retry is the time between the end of a download that failed and the next.
	Retry time.Duration
	// Notify has the Release of that name reconciled again. It must not block.
	Notify func(name string)
	Log    *slog.Logger
}

// NewReleaseReconciler returns the reconciler of Release. Downloads end with life.
func NewReleaseReconciler(life context.Context, c ReleaseConfig) *operator.Reconciler[*v1alpha1.Release] {
	r := &releaseReconciler{client: c.Client, store: c.Store, retry: c.Retry, notify: c.Notify, life: life, log: c.Log, attempts: map[string]attempt{}}
	return operator.New(operator.Config[*v1alpha1.Release]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.Release { return &v1alpha1.Release{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/release",
		Ready:     "control planes can run it",
		Phases: []operator.Phase[*v1alpha1.Release]{
			{Condition: v1alpha1.ConditionBinariesReady, Ensure: r.fetch, Remove: r.release},
		},
	})
}

func (r *releaseReconciler) fetch(_ context.Context, rel *v1alpha1.Release) operator.Outcome {
	version, err := release.ParseVersion(rel.Name)
	if err != nil {
		return operator.Stalled(v1alpha1.ReasonFetchFailed, "metadata.name: %v", err)
	}
	rel.Status.UpgradeFrom = release.UpgradableFrom(version)
	binaries, ok, err := r.store.Lookup(version)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonFetchFailed, err)
	}
	if ok {
		rel.Status.Binaries = binariesOf(binaries)
		return operator.Done(v1alpha1.ReasonBinariesPresent, "the programs are on disk")
	}
	rel.Status.Binaries = nil
	if rel.Spec.Source.Download == nil {
		return operator.Stalled(v1alpha1.ReasonBinariesMissing, "the programs are not built on this machine; build them with: kqueen release build %s", rel.Name)
	}
	return r.download(version, rel.Spec.Source.Download.DeepCopy())
}

// attempt is what is known of a version's download.
type attempt struct {
	running bool
	err     error     // of the last one that ended
	next    time.Time // before it no other begins
}

// download begins a download, or says how the one that was begun goes. After a failure its cause stays
// to be read until the next one has ended.
func (r *releaseReconciler) download(version release.Version, from *v1alpha1.ReleaseDownload) operator.Outcome {
	name := version.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.attempts[name]
	wait := time.Until(a.next)
	if !a.running && wait <= 0 {
		a.running = true
		r.attempts[name] = a
		source := release.Source{Download: &release.Download{BaseURL: from.BaseURL, SHA256: from.SHA256}}
		go r.run(version, source)
	}
	if a.err != nil {
		return operator.RetryAfter(v1alpha1.ReasonFetchFailed, a.err, max(wait, time.Second))
	}
	return operator.Wait(v1alpha1.ReasonProgressing, "the programs are being downloaded from "+from.BaseURL, 0)
}

func (r *releaseReconciler) run(version release.Version, source release.Source) {
	name := version.String()
	_, err := r.store.Ensure(r.life, version, source, func(release.Step) {})
	if err != nil {
		r.log.Warn("download release", "version", name, "error", err)
	}
	r.mu.Lock()
	r.attempts[name] = attempt{err: err, next: time.Now().Add(r.retry)}
	r.mu.Unlock()
	r.notify(name)
}

// release lets a Release go only when nothing runs it. The programs stay on disk: they are a cache.
func (r *releaseReconciler) release(ctx context.Context, rel *v1alpha1.Release) operator.Outcome {
	list := &v1alpha1.ControlPlaneList{}
	if err := r.client.List(ctx, list); err != nil {
		return operator.Retry(v1alpha1.ReasonInUse, fmt.Errorf("list control planes: %w", err))
	}
	var users []string
	for i := range list.Items {
		if cp := &list.Items[i]; cp.Spec.Version == rel.Name || cp.Status.Version == rel.Name {
			users = append(users, cp.Namespace+"/"+cp.Name)
		}
	}
	if len(users) > 0 {
		slices.Sort(users)
		return operator.Wait(v1alpha1.ReasonInUse, "still run by "+strings.Join(users[:min(len(users), 5)], ", "), storeCheckInterval)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

func binariesOf(b release.Binaries) []v1alpha1.Binary {
	var out []v1alpha1.Binary
	for name, c := range b.Components {
		out = append(out, v1alpha1.Binary{Name: name, SHA256: c.SHA256})
	}
	slices.SortFunc(out, func(a, b v1alpha1.Binary) int { return strings.Compare(a.Name, b.Name) })
	return out
}
