package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// errTimedOut is why a wait ends when its time is up.
var errTimedOut = errors.New("timed out")

const (
	// defaultPatience is how long commands wait unless they are told otherwise.
	defaultPatience = 5 * time.Minute
	// goalDeleted is the word for waiting until a cluster is gone.
	goalDeleted = "deleted"
	// redrawEvery is how often the seconds on a terminal move on.
	redrawEvery = 100 * time.Millisecond
)

// waiting is one wait for one cluster.
type waiting struct {
	name string
	// goal is a condition that has to be true, or goalDeleted.
	goal string
	// uid, when set, is the cluster that is meant: another one of the same name is as good as none.
	uid     types.UID
	timeout time.Duration
	// since is when the work began that is waited for; zero when nobody knows.
	since time.Time
}

// newWaitCommand returns `cluster wait`.
func newWaitCommand(e *env) *cobra.Command {
	w := waiting{}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a cluster is ready, gone, or something else is true of it",
		Long: `Wait until a condition of a cluster is true, showing the steps on the way.

The wait ends at once with exit code 1 when the cluster is stalled, which is
when only a change of its spec helps, and with exit code 5 when its time is up.`,
		Example: `  kqueen cluster wait demo
  kqueen cluster wait demo --for KubeconfigReady --timeout 1m
  kqueen cluster wait demo --for deleted`,
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(clusterNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.name = args[0]
			c, err := e.connect()
			if err != nil {
				return err
			}
			return e.await(cmd.Context(), c, w)
		},
	}
	cmd.Flags().StringVar(&w.goal, "for", v1alpha1.ConditionReady, "condition that has to be true, or \"deleted\"")
	registerTimeout(cmd, &w.timeout)
	goals := []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned,
		v1alpha1.ConditionKubeconfigReady, v1alpha1.ConditionStalled, goalDeleted,
	}
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(goals, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// registerTimeout adds the flag --timeout.
func registerTimeout(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", defaultPatience, "how long to wait at most")
	_ = cmd.RegisterFlagCompletionFunc("timeout", noCompletion)
}

// await waits, showing the steps, and tells at the end how long it took.
func (e *env) await(parent context.Context, c client.WithWatch, w waiting) error {
	ctx, cancel := context.WithTimeoutCause(parent, w.timeout, errTimedOut)
	defer cancel()
	looks, outages := make(chan *v1alpha1.Cluster), make(chan error)
	ended := make(chan error, 1)
	f := &follower{client: c, source: e.clusterNamed(w.name)}
	f.see = func(changes []change) (bool, error) {
		err := hand(ctx, looks, latest(changes, w.uid))
		return err != nil, err
	}
	// The context says itself why an outage could not be told.
	f.lost = func(err error) { _ = hand(ctx, outages, err) }
	go func() { ended <- f.run(ctx) }()

	shown := e.newProgress(w.since)
	redraw := time.NewTicker(redrawEvery)
	defer redraw.Stop()
	var last *v1alpha1.Cluster
	for first := true; ; {
		select {
		case err := <-ended:
			return w.givenUp(e, last, err)
		case err := <-outages:
			e.sayLost(err)
			shown.drawn = 0
		case now := <-redraw.C:
			shown.redraw(last, now)
		case cluster := <-looks:
			last = cmp.Or(cluster, last)
			shown.redraw(last, time.Now())
			met, err := w.met(cluster)
			if err != nil {
				return err
			}
			if met {
				e.sayMet(w, first && w.since.IsZero(), time.Since(shown.start))
				return nil
			}
			first = false
		}
	}
}

// hand sends a value, or returns why the context ended before somebody took it.
func hand[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clusterNamed is the source of one cluster.
func (e *env) clusterNamed(name string) source {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace(), Name: name}}
	return only(clusterNoun, []client.Object{cluster})[0]
}

// latest returns the cluster that changes leave, or nil when they leave none.
func latest(changes []change, uid types.UID) *v1alpha1.Cluster {
	for _, change := range slices.Backward(changes) {
		cluster, ok := change.object.(*v1alpha1.Cluster)
		if ok && !change.gone && (uid == "" || cluster.UID == uid) {
			return cluster
		}
	}
	return nil
}

// met says whether a wait is over with this cluster, which is nil when there is none. The error says that
// it never will be.
func (w waiting) met(cluster *v1alpha1.Cluster) (bool, error) {
	if w.goal == goalDeleted {
		return cluster == nil, nil
	}
	if cluster == nil {
		return false, fail(codeNotFound, "there is no cluster %q", w.name)
	}
	if found := condition(cluster, w.goal); found != nil && found.Status == metav1.ConditionTrue {
		return true, nil
	}
	if cluster.DeletionTimestamp != nil {
		return false, fail(codeError, "cluster %s is being deleted", w.name)
	}
	if stalled := condition(cluster, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return false, fail(codeError, "cluster %s is stalled: %s", w.name, cleanLine(stalled.Message))
	}
	return false, nil
}

// givenUp returns the error for a wait that ended before its goal.
func (w waiting) givenUp(e *env, last *v1alpha1.Cluster, err error) error {
	if !errors.Is(err, errTimedOut) {
		return err
	}
	goal := "to be " + w.goal
	if w.goal != v1alpha1.ConditionReady && w.goal != goalDeleted {
		goal = "for " + w.goal
	}
	text := fmt.Sprintf("timed out after %s waiting for cluster %s %s", duration.HumanDuration(w.timeout), w.name, goal)
	if last != nil {
		if message := cleanLine(readyMessage(last)); message != "" {
			text += ": " + message
		}
	}
	return fail(codeTimedOut, "%s\nsee: %s", text, e.command("cluster describe "+w.name))
}

// sayMet tells that a wait is over and, for a ready cluster, how to use it.
func (e *env) sayMet(w waiting, atOnce bool, took time.Duration) {
	what := map[string]string{v1alpha1.ConditionReady: "is ready", goalDeleted: "is gone"}[w.goal]
	if what == "" {
		what = "has " + w.goal
	}
	after := " after " + seconds(took)
	if atOnce {
		after = ""
	}
	e.say("cluster %s %s%s", w.name, what, after)
	if w.goal == v1alpha1.ConditionReady {
		e.say("next: kubectl --kubeconfig <(%s) get namespaces", e.command("cluster kubeconfig "+w.name))
	}
}

// newProgress returns what shows steps on standard error, with times since a moment; zero means now.
func (e *env) newProgress(since time.Time) *progress {
	p := &progress{out: e.stderr, start: cmp.Or(since, time.Now()), color: canColor(e.stderr)}
	if file, ok := e.stderr.(*os.File); ok && canRedraw(file) {
		p.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80
			}
			return width
		}
	}
	return p
}

// list returns words as people list them.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
