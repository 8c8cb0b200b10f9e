package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/stored"
)

// writers is how many objects are written at a time.
const writers = 4

// trial is the look of one version at all that is stored.
type trial struct {
	server  Server
	version string
	served  Served
	// before is what the cluster serves as it is.
	before Served
	// again reads what is stored once more.
	again func() (inventory, error)

	mu     sync.Mutex
	report report
	// stale are objects that were last written by an API that is gone in the version, by that and its client.
	stale map[writer]*example
}

// report is what came of a trial.
type report struct {
	kinds, objects, written int64
	findings                []v1alpha1.UpgradeFinding
}

// writer is a client that has written objects by an API.
type writer struct{ api, manager string }

// example is an object, and how many there are like it.
type example struct {
	object string
	count  int64
}

// internal are kinds that API servers store for themselves and serve nowhere.
// Source: k8s.io/kubernetes/pkg/registry/core/service/allocator/storage (RangeAllocation).
var internal = map[schema.GroupKind]bool{{Kind: "RangeAllocation"}: true}

// run reads and writes again what is stored, kind by kind. An error says that the API server could not be asked.
func (t *trial) run(ctx context.Context, have inventory, definitions []definition) error {
	for _, kind := range have.kinds() {
		if internal[kind] {
			continue
		}
		t.report.kinds++
		objects := have[kind]
		if kind == unread {
			t.damaged(objects)
			continue
		}
		d := definitionOf(definitions, kind)
		if d != nil {
			objects = t.inVersions(*d, objects)
		}
		resource, ok := t.served.Resources[kind]
		switch {
		case !ok:
			t.unserved(kind, objects)
		case d != nil && d.webhook:
			t.report.objects += int64(len(objects)) // see converted
		default:
			if err := t.kind(ctx, resource, objects, len(objects) < len(have[kind])); err != nil {
				return fmt.Errorf("look at %s in %s: %w", resource.Plural, t.version, err)
			}
		}
	}
	t.report.findings = append(t.report.findings, t.staleFindings()...)
	return nil
}

// kind reads and writes all objects of a kind. broken says that a list cannot succeed.
func (t *trial) kind(ctx context.Context, r Resource, objects []object, broken bool) error {
	seen, group := map[stored.Name]bool{}, errgroup.Group{}
	group.SetLimit(writers)
	err := error(nil)
	if !broken {
		err = t.server.List(ctx, r, func(raw []byte) error {
			fields, body, err := whole(r, raw)
			if err != nil {
				return err
			}
			n := nameIn(fields)
			seen[n] = true
			t.note(r, n, fields)
			if r.Written {
				group.Go(func() error { return t.put(ctx, r, n, body) })
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return err
	}
	t.report.objects += int64(len(seen))
	left := missing(objects, seen)
	if len(left) == 0 {
		return nil
	}
	return t.each(ctx, r, left, err)
}

// missing are stored objects that a list does not have.
func missing(objects []object, seen map[stored.Name]bool) []object {
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return seen[o.name] })
}

// each asks for objects one by one that a list did not have: one that cannot be read hides all others in it. because is why the list failed.
func (t *trial) each(ctx context.Context, r Resource, objects []object, because error) error {
	still, err := t.again()
	if err != nil {
		return err
	}
	for _, o := range objects {
		n := o.name
		err := t.server.Get(ctx, r, n.Namespace, n.Name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if unanswered(err) {
			return err
		}
		if err == nil {
			t.report.objects++
			continue
		}
		gone := !slices.ContainsFunc(still[r.GroupKind()], func(s object) bool { return s.name == o.name })
		if errors.Is(err, listing.ErrAbsent) && gone {
			continue
		}
		if errors.Is(err, listing.ErrAbsent) && because != nil {
			err = because
		}
		t.blocks(v1alpha1.CheckStoredObjects, r.Kind+" "+n.String(), fmt.Sprintf("%s cannot read it as it is stored: %s", t.version, listing.Reason(err)),
			"write it again, or delete it, while the cluster still runs the version that it has")
	}
	return nil
}

// unanswered says that a call failed and not what it was about.
func unanswered(err error) bool {
	_, broken := errors.AsType[*url.Error](err)
	return broken || errors.Is(err, context.DeadlineExceeded)
}

// put writes an object as it is. An answer of the API server about the object is a finding; that it has changed meanwhile is none.
func (t *trial) put(ctx context.Context, r Resource, n stored.Name, body []byte) error {
	err := t.server.Put(ctx, r, n.Namespace, n.Name, body)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && apierrors.ReasonForError(err) == "" {
		return err // no answer
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.report.written++
		return nil
	}
	t.warns(v1alpha1.CheckObjectUpdates, r.Kind+" "+n.String(), fmt.Sprintf("%s does not take it as it is: %s", t.version, listing.Clean(err.Error(), maxMessage)),
		"change it so that it can be written; until then whatever writes it fails")
	return nil
}

// maxMessage is how much of what an API server says is kept.
const maxMessage = 256

// nameIn is the name of an object that was listed. It is pure.
func nameIn(fields map[string]any) stored.Name {
	meta, _ := fields["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	called, _ := meta["name"].(string)
	return stored.Name{Namespace: listing.Clean(namespace, maxName), Name: listing.Clean(called, maxName)}
}

// note looks by which APIs the clients of an object have written it.
func (t *trial) note(r Resource, n stored.Name, fields map[string]any) {
	meta, _ := fields["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		api, _ := entry["apiVersion"].(string)
		version, err := schema.ParseGroupVersion(api)
		if err != nil || t.served.Versions[version] || !t.before.Versions[version] {
			continue
		}
		manager, _ := entry["manager"].(string)
		by := writer{listing.Clean(api, maxName), listing.Clean(manager, maxName)}
		if t.stale[by] == nil {
			t.stale[by] = &example{object: r.Kind + " " + n.String()}
		}
		t.stale[by].count++
	}
}

func (t *trial) staleFindings() []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for by, e := range t.stale {
		out = append(out, finding(v1alpha1.SeverityWarns, v1alpha1.CheckServedAPIs, e.object,
			fmt.Sprintf("%s wrote it%s by %s, which %s does not serve", quoted(by.manager), beside(e.count-1), by.api, t.version),
			"have that client use another version of the API before the upgrade"))
	}
	slices.SortFunc(out, func(a, b v1alpha1.UpgradeFinding) int { return strings.Compare(a.Object+a.Message, b.Object+b.Message) })
	return out
}

func quoted(manager string) string {
	if manager == "" {
		return "a client"
	}
	return fmt.Sprintf("client %q", manager)
}

// beside says how many others there are.
func beside(others int64) string {
	if others <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", others)
}

func finding(severity, check, object, message, fix string) v1alpha1.UpgradeFinding {
	return v1alpha1.UpgradeFinding{Check: check, Severity: severity, Object: object, Message: message, Fix: fix}
}

func (t *trial) blocks(check, object, message, fix string) {
	t.report.findings = append(t.report.findings, finding(v1alpha1.SeverityBlocks, check, object, message, fix))
}

func (t *trial) warns(check, object, message, fix string) {
	t.report.findings = append(t.report.findings, finding(v1alpha1.SeverityWarns, check, object, message, fix))
}
